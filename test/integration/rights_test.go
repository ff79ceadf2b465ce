package integration

import (
	"fmt"
	"strings"
	"testing"
	texttemplate "text/template"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	registration "open-cluster-management.io/ocm/pkg/registration/hub/manifests"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rejection"
)

const (
	workGroup    = workv1alpha1.GroupName
	clusterGroup = "cluster.open-cluster-management.io"
)

// anyWrite are the verbs of a user who may write a resource.
var anyWrite = []string{"get", "list", "create", "update", "patch", "delete"}

// role is a fleet from the perspective of a user of the hub.
type role struct {
	*fleet
	user string
}

// as returns the fleet for a user with permissions on resources in the fleet's namespace, which are already in effect.
func (f *fleet) as(user, group string, resources ...string) *role {
	f.t.Helper()
	f.w.grant(f.t, f.namespace, user, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: anyWrite})
	return f.asGranted(user)
}

// asGranted returns the fleet for a user who already has permissions.
func (f *fleet) asGranted(user string, groups ...string) *role {
	f.t.Helper()
	config, err := f.w.plane.UserConfig(user, groups...)
	require.NoError(f.t, err)
	theirs := *f
	theirs.w = &world{plane: f.w.plane, config: unlimited(config)}
	require.NoError(f.t, theirs.w.connect())
	return &role{fleet: &theirs, user: user}
}

// grant gives a user permissions in a namespace.
func (w *world) grant(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	rights := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: namespace}, Rules: rules}
	_, err := w.kube.RbacV1().Roles(namespace).Create(t.Context(), rights, metav1.CreateOptions{})
	require.NoError(t, err)
	w.bind(t, namespace, user, "Role", user)
}

// bind gives a user a role in a namespace.
func (w *world) bind(t *testing.T, namespace, user, kind, name string) {
	t.Helper()
	_, err := w.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "role-", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// can waits until the API server lets the user do something. New permissions take effect after a short delay.
func (r *role) can(what string, do func() error) {
	r.t.Helper()
	eventually(r.t, r.user+" may "+what, do)
}

// cannot tries each verb on a resource, and is refused by RBAC.
func (r *role) cannot(namespace string, resource schema.GroupVersionResource, verbs ...string) {
	r.t.Helper()
	for _, verb := range verbs {
		err := r.try(namespace, resource, verb)
		require.True(r.t, rejection.IsMissingPermission(err), "%s may %s %s in %s: %v", r.user, verb, resource.Resource, namespace, err)
	}
}

func (r *role) try(namespace string, resource schema.GroupVersionResource, verb string) (err error) {
	name, sub, found := strings.Cut(resource.Resource, "/")
	var subs []string
	if found {
		subs = []string{sub}
	}
	resource.Resource = name
	ctx, api := r.t.Context(), r.w.dynamic.Resource(resource).Namespace(namespace)
	body := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": r.name}}}
	switch verb {
	case "get":
		_, err = api.Get(ctx, r.name, metav1.GetOptions{}, subs...)
	case "list":
		_, err = api.List(ctx, metav1.ListOptions{})
	case "create":
		_, err = api.Create(ctx, body, metav1.CreateOptions{}, subs...)
	case "update":
		_, err = api.Update(ctx, body, metav1.UpdateOptions{}, subs...)
	case "patch":
		_, err = api.Patch(ctx, r.name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, subs...)
	case "delete":
		err = api.Delete(ctx, r.name, metav1.DeleteOptions{}, subs...)
	case "deletecollection":
		err = api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	default:
		err = fmt.Errorf("no such verb: %s", verb)
	}
	return err
}

// The resources that the trust model is about.
var (
	replicaSets   = schema.GroupVersionResource{Group: workGroup, Version: "v1alpha1", Resource: "manifestworkreplicasets"}
	replicaStatus = schema.GroupVersionResource{Group: workGroup, Version: "v1alpha1", Resource: "manifestworkreplicasets/status"}
	manifestWorks = schema.GroupVersionResource{Group: workGroup, Version: "v1", Resource: "manifestworks"}
	workStatus    = schema.GroupVersionResource{Group: workGroup, Version: "v1", Resource: "manifestworks/status"}
	decisions     = schema.GroupVersionResource{Group: clusterGroup, Version: "v1beta1", Resource: "placementdecisions"}
	placements    = schema.GroupVersionResource{Group: clusterGroup, Version: "v1beta1", Resource: "placements"}
	revisions     = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	deployments   = appsv1.SchemeGroupVersion.WithResource("deployments")
	definitions   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	managers      = schema.GroupVersionResource{Group: "operator.open-cluster-management.io", Version: "v1", Resource: "clustermanagers"}
	secrets       = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	bindings      = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
)

// ownsNoHub proves that a role has none of the permissions of the hub's administrators.
func (r *role) ownsNoHub() {
	r.t.Helper()
	r.cannot("", definitions, "get", "create", "update", "patch", "delete")
	r.cannot("", managers, "create", "update", "patch", "delete")
	r.cannot("", bindings, "create", "update", "patch", "delete")
	r.cannot(sandbox.HubNamespace, deployments, "create", "update", "patch", "delete")
	r.cannot(sandbox.HubNamespace, secrets, "get", "list")
}

// registrationManifest renders a manifest that OCM's registration controller creates for the agent of an accepted cluster.
func registrationManifest(t *testing.T, name, cluster string) string {
	t.Helper()
	content, err := registration.RBACManifests.ReadFile("rbac/" + name)
	require.NoError(t, err)
	parsed, err := texttemplate.New(name).Parse(string(content))
	require.NoError(t, err)
	var rendered strings.Builder
	require.NoError(t, parsed.Execute(&rendered, map[string]any{"ManagedClusterName": cluster, "Labels": map[string]string{}}))
	return rendered.String()
}
