package deploy

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/policy"
)

// hubRole is the role of the hub, in addition to the user roles.
const hubRole = "open-cluster-management:cluster-manager-work:revisions"

// rendered returns the only object of a kind, or of a kind and a name.
func rendered(t *testing.T, kind string, into any, name ...string) {
	t.Helper()
	objects, err := Render()
	require.NoError(t, err)
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind && (len(name) == 0 || object.GetName() == name[0]) {
			found = append(found, object)
		}
	}
	require.Len(t, found, 1, kind)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(found[0].Object, into))
}

func TestRender(t *testing.T) {
	base, err := RenderBase()
	require.NoError(t, err)
	var kinds []string
	for _, object := range base {
		kinds = append(kinds, object.GetKind())
	}
	require.Equal(t, []string{
		"CustomResourceDefinition", "Role", "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding",
	}, kinds)

	hub, err := RenderHub()
	require.NoError(t, err)
	require.Len(t, hub, 1)
	require.Equal(t, "ClusterManager", hub[0].GetKind(), "another owner of the ClusterManager applies the rest of deploy/ without it")

	both, err := Render()
	require.NoError(t, err)
	require.Equal(t, append(base, hub...), both, "the image comes last")
}

// The operator compares the annotation with its own version, and writes its own CRD unless the annotation has a higher version.
func TestNoOperatorIsLater(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	rendered(t, "CustomResourceDefinition", crd)
	for _, operator := range []string{"0.0.0", "v1.2.0", "v1.3.0-12-g0123abc", "v2.0.0", "v99.99.99"} {
		version, err := versionutil.ParseGeneric(operator)
		require.NoError(t, err)
		compared, err := version.Compare(crd.Annotations["operator.open-cluster-management.io/version"])
		require.NoError(t, err)
		require.Negative(t, compared, operator)
	}
}

// Except for the annotation, this is the generated CRD.
func TestTheCRDIsTheGeneratedOne(t *testing.T) {
	crd, generated := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	rendered(t, "CustomResourceDefinition", crd)
	require.NoError(t, yaml.UnmarshalStrict(crds.ManifestWorkReplicaSet, generated))
	require.Equal(t, generated.Name, crd.Name)
	require.Equal(t, generated.Spec, crd.Spec)
}

// The operator would silently drop a field that its API doesn't know.
func TestClusterManager(t *testing.T) {
	raw, err := files.ReadFile("hub/clustermanager.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, &operatorv1.ClusterManager{}))

	manager := &operatorv1.ClusterManager{}
	rendered(t, "ClusterManager", manager)
	require.Equal(t, []operatorv1.FeatureGate{{Feature: "ManifestWorkReplicaSet", Mode: operatorv1.FeatureGateModeTypeEnable}},
		manager.Spec.WorkConfiguration.FeatureGates)
	kustomization, err := files.ReadFile("hub/kustomization.yaml")
	require.NoError(t, err)
	require.True(t, bytes.Contains(kustomization, []byte("newName: registry.example.com/work\n")))
	require.Equal(t, "registry.example.com/work:v1.0.0", manager.Spec.WorkImagePullSpec, "the image in hub/kustomization.yaml")
}

// TestRoleForTheVersion: the hub can read and patch only one ConfigMap. It can create any ConfigMap, because RBAC can't restrict a create
// to a name. It can also see which hubs are installed.
func TestRoleForTheVersion(t *testing.T) {
	role, binding, all := &rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{}
	rendered(t, "Role", role)
	rendered(t, "RoleBinding", binding)
	rendered(t, "ClusterRoleBinding", all)
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{plan.ConfigMap}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"work-controller-sa", "work-rollback"}, Verbs: []string{"get"}},
	}, role.Rules)
	require.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, binding.RoleRef)
	require.Equal(t, all.Subjects, binding.Subjects)
	require.Equal(t, binding.Subjects[0].Namespace, role.Namespace)
	require.Equal(t, binding.Subjects[0].Namespace, binding.Namespace)
}

// docs/flags.md describes which validation to remove for --owner-key-hash.
func TestFirstValidationLimitsTheName(t *testing.T) {
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	rendered(t, "ValidatingAdmissionPolicy", policy, "manifestworkreplicasets.work.open-cluster-management.io")
	require.Contains(t, policy.Spec.Validations[0].Expression, "size(variables.ownerLabel)")
	for _, other := range policy.Spec.Validations[1:] {
		require.NotContains(t, other.Expression, "ownerLabel")
	}
}

// The patch for OCM's tree grants the permissions of deploy/ to the work controller, and to the operator that grants them.
func TestPatchGrantsTheSameRights(t *testing.T) {
	role := &rbacv1.ClusterRole{}
	rendered(t, "ClusterRole", role, hubRole)
	patch, err := os.ReadFile("../hack/ocm/v1.3.1.patch")
	require.NoError(t, err)
	granted := map[string][]rbacv1.PolicyRule{}
	for _, file := range strings.Split(string(patch), "\n+++ b/")[1:] {
		name, hunks, _ := strings.Cut(file, "\n")
		if name = path.Base(name); !strings.Contains(name, "role") && !strings.Contains(name, "clusterserviceversion") {
			continue
		}
		var added strings.Builder
		for line := range strings.Lines(hunks) {
			if line, ok := strings.CutPrefix(line, "+"); ok {
				added.WriteString(line)
			}
		}
		var rules []rbacv1.PolicyRule
		require.NoError(t, yaml.UnmarshalStrict([]byte(added.String()), &rules), name)
		granted[name] = append(granted[name], rules...)
	}
	// OCM's operator already has permission to read ManagedClusters, so it may grant this permission.
	lacks := slices.DeleteFunc(slices.Clone(role.Rules), func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "managedclusters") })
	require.Equal(t, map[string][]rbacv1.PolicyRule{
		"clusterrole.yaml":                           role.Rules,
		"cluster_role.yaml":                          slices.Repeat(lacks, 2), // In the operator's kustomization, and in its chart.
		"cluster-manager.clusterserviceversion.yaml": lacks,
	}, granted)
}

// The policies of ManifestWorkReplicaSets are those that `make generate` generates.
func TestThePoliciesAreTheGeneratedOnes(t *testing.T) {
	want, err := policy.YAML()
	require.NoError(t, err)
	got, err := files.ReadFile("base/policy-manifestworkreplicasets.yaml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run make generate")
}

// The policies for revisions and approvals identify the hub by the name in its ClusterRoleBinding or in the chart, and by the permission
// itself.
func TestTheGuardKnowsTheHub(t *testing.T) {
	binding, role := &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRole{}
	rendered(t, "ClusterRoleBinding", binding)
	rendered(t, "ClusterRole", role, hubRole)
	guard, err := files.ReadFile("base/policy-revisions.yaml")
	require.NoError(t, err)
	approvals, err := files.ReadFile("base/policy-approvals.yaml")
	require.NoError(t, err)
	_, hub, _ := strings.Cut(string(guard), "- name: hub")
	hub, _, _ = strings.Cut(hub, "allowed())")
	require.Contains(t, string(approvals), hub)
	subject := binding.Subjects[0]
	for _, name := range []string{subject.Name, "work-rollback"} {
		require.Contains(t, string(guard), "'system:serviceaccount:"+subject.Namespace+":"+name+"'")
	}
	require.Contains(t, string(guard), ":("+subject.Name+"|work-rollback)$'")
	require.Contains(t, string(guard), "authorizer.group('apps').resource('controllerrevisions').check('create')")
	require.Contains(t, role.Rules[0].Verbs, "create")
	require.Contains(t, string(guard), workv1alpha1.LabelReplicaSet)
}
