package webhook

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	approves = `{"status":{"summary":{},"placementSummary":[],"approvals":[{"group":"canary","revision":"abc","by":%q,"at":"2030-01-01T12:00:00Z"}]}}`
	forges   = `{"status":{"summary":{},"placementSummary":[],"ledger":%q}}`
	aborts   = `{"status":{"summary":{},"placementSummary":[],"abortedTime":%q}}`

	onlyApprovers = "this requires the verb approve on this ManifestWorkReplicaSet"
)

// patchStatus patches the status of web as a user, with a field manager.
func patchStatus(t *testing.T, namespace string, config *rest.Config, manager, patch string) error {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.Resource(replicaSetResource).Namespace(namespace).Patch(
		t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

// bindRole gives a user a role in a namespace.
func bindRole(t *testing.T, namespace, role, user string) {
	t.Helper()
	_, err := hub.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: role + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func denied(t *testing.T, err error, why string) {
	t.Helper()
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, why)
}

// Users with the verb approve can change status.approvals, and so can the hub. A user with permission to write everything else of an object
// can't.
func TestOnlyApproversApprove(t *testing.T) {
	t.Parallel()
	namespace := checkedNamespace(t, nobody)
	admin := as(t, hub.config, namespace)
	_, err := admin.create(replicaSetResource, replicaSet(t))
	require.NoError(t, err)
	bindRole(t, namespace, "mwrs-admin", "editor")
	bindRole(t, namespace, "mwrs-approver", "approver")
	user := func(name string, groups ...string) *rest.Config {
		config, err := hub.plane.UserConfig(name, append(groups, "system:authenticated")...)
		require.NoError(t, err)
		return config
	}
	editor, approver := user("editor"), user("approver")
	theHub, hubGroups := serviceAccount(hubNamespace, "work-controller-sa")
	tenant, tenantGroups := serviceAccount(namespace, "work-controller-sa")
	bindRole(t, namespace, "mwrs-admin", tenant)
	bindRole(t, namespace, "mwrs-admin", theHub)
	probe := 0
	eventually(t, "the policy answers", func() error {
		probe++ // A patch that changes nothing is admitted.
		if err := patchStatus(t, namespace, editor, "ui", fmt.Sprintf(approves, fmt.Sprint("editor", probe))); !apierrors.IsForbidden(err) {
			return fmt.Errorf("an editor may approve: %w", err)
		}
		return nil
	})
	denied(t, patchStatus(t, namespace, editor, "ui", fmt.Sprintf(approves, "editor")), onlyApprovers)
	denied(t, patchStatus(t, namespace, editor, "ui", fmt.Sprintf(forges, "a")), onlyApprovers)
	require.NoError(t, patchStatus(t, namespace, editor, "ui", fmt.Sprintf(aborts, "2030-01-01T12:00:00Z")), "an editor can change everything else")
	denied(t, patchStatus(t, namespace, user(tenant, tenantGroups...), "ui", fmt.Sprintf(approves, "tenant")), onlyApprovers)

	require.NoError(t, patchStatus(t, namespace, approver, "ui", fmt.Sprintf(approves, "approver")))
	denied(t, patchStatus(t, namespace, editor, "ui", `{"status":{"approvals":[]}}`), onlyApprovers)
	require.NoError(t, patchStatus(t, namespace, editor, "ui", fmt.Sprintf(aborts, "2030-01-01T13:00:00Z")), "the approvals stay as they are")
	require.NoError(t, patchStatus(t, namespace, user(theHub, hubGroups...), "work", fmt.Sprintf(forges, "b")), "the hub writes its ledger")
	require.NoError(t, patchStatus(t, namespace, user(theHub, hubGroups...), "work", `{"status":{"approvals":null}}`), "the hub removes approvals")
	require.NoError(t, patchStatus(t, namespace, hub.config, "kubectl", fmt.Sprintf(approves, "admin")), "an administrator has every verb")

	_, err = hub.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(
		t.Context(), "manifestworkreplicaset-four-eyes.work.open-cluster-management.io", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the policy is opt-in")
}

// bindOptIn binds a policy without a default binding in a namespace.
func bindOptIn(t *testing.T, policy, namespace string) {
	t.Helper()
	_, err := hub.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy + "-" + namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// With the binding of docs/concepts/gates.md, only approvers can remove "approval: Required" from the spec.
func TestRequiredApprovals(t *testing.T) {
	t.Parallel()
	namespace := checkedNamespace(t, nobody)
	_, err := as(t, hub.config, namespace).create(replicaSetResource, replicaSet(t))
	require.NoError(t, err)
	bindRole(t, namespace, "mwrs-admin", "writer")
	writes := func(config *rest.Config, groups string, rest ...string) error {
		client, err := dynamic.NewForConfig(config)
		require.NoError(t, err)
		patch := fmt.Sprintf(`{"spec":{"placementRefs":[{"name":"p1","rolloutStrategy":{"type":"Progressive","progressive":{"maxConcurrency":1},"groups":[%s]}}%s]}}`,
			groups, strings.Join(rest, ""))
		_, err = client.Resource(replicaSetResource).Namespace(namespace).Patch(
			t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "ui"})
		return err
	}
	writer, err := hub.plane.UserConfig("writer", "system:authenticated")
	require.NoError(t, err)
	const canary, first = `{"groupName":"canary","approval":"Required"}`, `{"groupIndex":1,"approval":"Required"}`
	require.NoError(t, writes(writer, canary))
	require.NoError(t, writes(writer, ""), "the policy is not bound")
	require.NoError(t, writes(writer, canary))
	bindOptIn(t, "manifestworkreplicaset-required-approvals.work.open-cluster-management.io", namespace)
	const why = "writer may not remove approval: Required"
	eventually(t, "the policy answers", func() error {
		if err := writes(writer, ""); !apierrors.IsForbidden(err) {
			return errors.Join(fmt.Errorf("a writer may remove it: %w", err), writes(hub.config, canary))
		}
		return nil
	})
	require.NoError(t, writes(writer, canary+","+first), "a writer can require more")
	denied(t, writes(writer, canary), why)
	denied(t, writes(writer, `{"groupName":"canary"},`+first), why)
	denied(t, writes(writer, `{"groupName":"other","approval":"Required"},`+first), why)
	require.NoError(t, writes(writer, first+","+canary, `,{"name":"p2"}`), "a writer can change everything else")
	require.NoError(t, writes(hub.config, ""), "an administrator has every verb")
}

// With the binding of docs/concepts/gates.md, a field manager that wrote the template can't add an approval.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	const name = "manifestworkreplicaset-four-eyes.work.open-cluster-management.io"
	namespace := checkedNamespace(t, nobody)
	_, err := as(t, hub.config, namespace).create(replicaSetResource, replicaSet(t))
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(hub.config)
	require.NoError(t, err)
	sets := client.Resource(replicaSetResource).Namespace(namespace)
	label := `{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"default"}}]}}}}`
	_, err = sets.Patch(t.Context(), "web", types.MergePatchType, []byte(label), metav1.PatchOptions{FieldManager: "argocd"})
	require.NoError(t, err)
	_, err = sets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{FieldManager: "pauser"})
	require.NoError(t, err)
	require.NoError(t, patchStatus(t, namespace, hub.config, "argocd", fmt.Sprintf(approves, "before")), "the policy is not bound")

	bindOptIn(t, name, namespace)
	probe := 0
	eventually(t, "the policy answers", func() error {
		probe++ // A patch that changes nothing is admitted.
		if err := patchStatus(t, namespace, hub.config, "argocd", fmt.Sprintf(approves, fmt.Sprint("author", probe))); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the author may approve: %w", err)
		}
		return nil
	})
	denied(t, patchStatus(t, namespace, hub.config, "argocd", fmt.Sprintf(approves, "author")), "the field manager argocd wrote the template, so it may not approve it")
	denied(t, patchStatus(t, namespace, hub.config, "", fmt.Sprintf(approves, "nobody")), "the request names no field manager")
	require.NoError(t, patchStatus(t, namespace, hub.config, "argocd", `{"status":{"approvals":[]}}`), "the author can withdraw an approval")
	require.NoError(t, patchStatus(t, namespace, hub.config, "pauser", fmt.Sprintf(approves, "a")), "this field manager did not write the template")
	require.NoError(t, patchStatus(t, namespace, hub.config, "argocd", fmt.Sprintf(aborts, "2030-01-01T13:00:00Z")), "the author can abort")
}
