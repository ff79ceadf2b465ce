package webhook

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const onlyTheHub = "only the work hub writes the revisions of a ManifestWorkReplicaSet"

// revisionsAs returns a client for the ControllerRevisions of a namespace, for a user with these groups.
func revisionsAs(t *testing.T, namespace, user string, groups ...string) appsclient.ControllerRevisionInterface {
	t.Helper()
	config, err := hub.plane.UserConfig(user, groups...)
	require.NoError(t, err)
	return revisionsBy(t, namespace, config)
}

func revisionsBy(t *testing.T, namespace string, config *rest.Config) appsclient.ControllerRevisionInterface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client.AppsV1().ControllerRevisions(namespace)
}

func serviceAccount(namespace, name string) (user string, groups []string) {
	return "system:serviceaccount:" + namespace + ":" + name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

func newRevision(name string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{workv1alpha1.LabelReplicaSet: "default.web"}},
		Revision:   1, Data: runtime.RawExtension{Raw: []byte(`{}`)},
	}
}

// writes tries every kind of write to a revision.
func writes(t *testing.T, revisions appsclient.ControllerRevisionInterface, name string) error {
	t.Helper()
	ctx := t.Context()
	if _, err := revisions.Create(ctx, newRevision(name), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if _, err := revisions.Patch(ctx, name, types.MergePatchType, []byte(`{"revision":2}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := revisions.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

func TestOnlyTheHubWritesRevisions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	namespace := checkedNamespace(t, nobody)
	admin := revisionsBy(t, namespace, hub.config)
	eventually(t, "the policy answers", func() error {
		if _, err := admin.Create(ctx, newRevision("probe"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return fmt.Errorf("an administrator can create a revision")
		}
		return nil
	})

	// In Hosted mode, the namespace has the ClusterManager's name, and clusterrolebinding.yaml names this namespace.
	hosted, hostedGroups := serviceAccount("my-hosted-hub", "work-controller-sa")
	_, err := hub.kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "hosted"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "open-cluster-management:cluster-manager-work:revisions"},
		Subjects: []rbacv1.Subject{
			{Kind: "ServiceAccount", Namespace: "my-hosted-hub", Name: "work-controller-sa"},
			{Kind: "ServiceAccount", Namespace: "my-hosted-hub", Name: "work-rollback"},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	// A tenant has all permissions in a namespace, and a ServiceAccount there with the hub's name.
	_, err = hub.kube.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{Kind: "ServiceAccount", Namespace: namespace, Name: "work-controller-sa"}, {Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"},
			{Kind: "ServiceAccount", Namespace: namespace, Name: "work-rollback"},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	hostedBeside, _ := serviceAccount("my-hosted-hub", "work-rollback")
	theHub, hubGroups := serviceAccount(hubNamespace, "work-controller-sa")
	// deploy/chart binds permissions to this ServiceAccount. Here, it has only the name.
	beside, _ := serviceAccount(hubNamespace, "work-rollback")
	for name, revisions := range map[string]appsclient.ControllerRevisionInterface{
		"the-hub":                revisionsAs(t, namespace, theHub, hubGroups...),
		"a-hosted-hub":           revisionsAs(t, namespace, hosted, hostedGroups...),
		"a-hosted-hub-beside":    revisionsAs(t, namespace, hostedBeside, hostedGroups...),
		"the-hub-beside-ocm":     revisionsAs(t, namespace, beside, "system:masters"),
		"garbage-collector":      revisionsAs(t, namespace, "system:serviceaccount:kube-system:generic-garbage-collector", "system:masters"),
		"namespace-controller":   revisionsAs(t, namespace, "system:serviceaccount:kube-system:namespace-controller", "system:masters"),
		"controller-manager":     revisionsAs(t, namespace, "system:kube-controller-manager", "system:masters"),
		"who-repairs-and-may-it": revisionsBy(t, namespace, impersonating("work.open-cluster-management.io:repair")),
	} {
		eventually(t, name+" can write revisions", func() error { return writes(t, revisions, name) })
	}

	existing, err := revisionsAs(t, namespace, theHub, hubGroups...).Create(ctx, newRevision("existing"), metav1.CreateOptions{})
	require.NoError(t, err)
	tenant, tenantGroups := serviceAccount(namespace, "work-controller-sa")
	tenantBeside, _ := serviceAccount(namespace, "work-rollback")
	for name, revisions := range map[string]appsclient.ControllerRevisionInterface{
		"an administrator":                      admin,
		"a tenant":                              revisionsAs(t, namespace, "jane", "system:authenticated"),
		"a tenant with the hub's name":          revisionsAs(t, namespace, tenant, tenantGroups...),
		"a tenant with the chart's name":        revisionsAs(t, namespace, tenantBeside, tenantGroups...),
		"a webhook":                             revisionsAs(t, namespace, "system:serviceaccount:"+hubNamespace+":work-webhook-sa", "system:masters"),
		"a user with the group of another name": revisionsBy(t, namespace, impersonating("work.open-cluster-management.io")),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := revisions.Create(ctx, newRevision("forged"), metav1.CreateOptions{})
			refused(t, err)
			_, err = revisions.Patch(ctx, existing.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
			refused(t, err)
			_, err = revisions.Patch(ctx, existing.Name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
			refused(t, err)
			refused(t, revisions.Delete(ctx, existing.Name, metav1.DeleteOptions{}))
			refused(t, revisions.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		})
	}
	// A write that changes nothing is a migration of the storage version.
	_, err = admin.Update(ctx, existing, metav1.UpdateOptions{})
	require.NoError(t, err)
	// The revisions of other owners are not restricted.
	other := newRevision("other")
	other.Labels = nil
	_, err = admin.Create(ctx, other, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.Patch(ctx, "other", types.MergePatchType, []byte(`{"metadata":{"labels":{"work.open-cluster-management.io/manifestworkreplicaset":"default.web"}}}`), metav1.PatchOptions{})
	refused(t, err)
	require.NoError(t, admin.Delete(ctx, "other", metav1.DeleteOptions{}))
}

func refused(t *testing.T, err error) {
	t.Helper()
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, onlyTheHub)
}

// impersonating returns a configuration for the administrator with another group.
func impersonating(group string) *rest.Config {
	config := rest.CopyConfig(hub.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "admin", Groups: []string{"system:masters", group}}
	return config
}

// Real controllers delete a revision with its owner, and with its namespace.
func TestRevisionsAreCollected(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	namespace := checkedNamespace(t, nobody)
	theHub, hubGroups := serviceAccount(hubNamespace, "work-controller-sa")
	revisions := revisionsAs(t, namespace, theHub, hubGroups...)
	owner, err := hub.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	owned := newRevision("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	for _, revision := range []*appsv1.ControllerRevision{owned, newRevision("free")} {
		_, err := revisions.Create(ctx, revision, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	gone := func(name string) func() error {
		return func() error {
			if _, err := revisions.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}
	require.NoError(t, hub.kube.CoreV1().ConfigMaps(namespace).Delete(ctx, owner.Name, metav1.DeleteOptions{}))
	eventually(t, "the garbage collector deletes it", gone("owned"))
	require.NoError(t, hub.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	eventually(t, "the namespace controller deletes it", gone("free"))
}
