package webhook

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	group        = "work.open-cluster-management.io"
	asAdmin      = "spec: {executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: default, name: admin}}}}"
	asGuest      = "spec: {executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: default, name: guest}}}}"
	asAgent      = "spec: {executor: null}"
	adminAccount = "system:serviceaccount:default:admin"
	agentAccount = "system:serviceaccount::klusterlet-work-sa"
)

// allow gives a user permissions on the works of a namespace, or only on the works with the given names.
func allow(t *testing.T, namespace, user string, verbs []string, names ...string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "works-", Namespace: namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{"manifestworks"}, Verbs: verbs, ResourceNames: names}},
	}
	role, err := hub.kube.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err = hub.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
}

// author returns a user who may write the works of a namespace. The permission is already in effect.
func author(t *testing.T, namespace, user string) *client {
	t.Helper()
	allow(t, namespace, user, []string{"get", "create", "update", "patch", "delete"})
	config, err := hub.plane.UserConfig(user)
	require.NoError(t, err)
	c := as(t, config, namespace)
	eventually(t, user+" can write works", func() error {
		if err := c.patch(workResource, "no-such-work", "metadata: {}"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
	return c
}

func mayNot(t *testing.T, err error, account string) {
	t.Helper()
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.ErrorContains(t, err, "is not allowed to use the executor "+account)
}

// TestExecutor: a user who sets an executor must have permission for that account. A user who does not change the executor needs none.
func TestExecutor(t *testing.T) {
	t.Parallel()
	namespace := namespace(t, usual)
	ann, bob := author(t, namespace, "ann"), author(t, namespace, "bob")
	work := parse(t, workText)
	edit(work, parse(t, "{kind: x, apiVersion: v1, "+asAdmin+"}").Object["spec"].(map[string]any)["executor"], "spec", "executor")
	_, err := ann.create(workResource, work)
	mayNot(t, err, adminAccount)

	allow(t, namespace, "ann", []string{"execute-as"}, adminAccount)
	eventually(t, "ann can use the account", func() error {
		_, err := ann.create(workResource, work)
		return err
	})
	// Another account requires another permission.
	mayNot(t, ann.patch(workResource, "web", asGuest), "system:serviceaccount:default:guest")

	// Bob may write works, and leaves the executor as it is.
	require.NoError(t, bob.patch(workResource, "web", "metadata: {labels: {a: b}}"))
	require.NoError(t, bob.patch(workResource, "web", "spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}}"))
	mayNot(t, bob.patch(workResource, "web", asGuest), "system:serviceaccount:default:guest")
	require.NoError(t, bob.patch(workResource, "web", asAgent), "as upstream: no permission is required without an executor")
	mayNot(t, bob.patch(workResource, "web", asAdmin), adminAccount)
	require.NoError(t, ann.patch(workResource, "web", asAdmin))

	other := parse(t, workText)
	other.SetName("other")
	_, err = bob.create(workResource, other)
	require.NoError(t, err)
}

// TestNilExecutor: with the feature gate, a work without an executor counts as executed by the agent's account.
func TestNilExecutor(t *testing.T) {
	t.Parallel()
	namespace := namespace(t, strict)
	ann := author(t, namespace, "ann")
	_, err := ann.create(workResource, parse(t, workText))
	mayNot(t, err, agentAccount)
	allow(t, namespace, "ann", []string{"execute-as"}, agentAccount)
	eventually(t, "ann can use the account of the agent", func() error {
		_, err := ann.create(workResource, parse(t, workText))
		return err
	})
	bob := author(t, namespace, "bob")
	require.NoError(t, bob.patch(workResource, "web", "metadata: {labels: {a: b}}"))
}
