package deploy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Each user role includes the permissions of the previous role. None can read Secrets or the ManifestWorks of all clusters, and none can
// write objects that only the hub writes.
func TestRolesForPeople(t *testing.T) {
	before := map[string]bool{}
	for _, test := range []struct {
		name string
		more []string
	}{
		{"mwrs-viewer", []string{
			"get manifestworkreplicasets", "list manifestworkreplicasets", "watch manifestworkreplicasets",
			"get controllerrevisions", "list controllerrevisions", "watch controllerrevisions",
			"get placements", "list placements", "watch placements",
			"get placementdecisions", "list placementdecisions", "watch placementdecisions",
			"get events", "list events", "watch events",
		}},
		{"mwrs-operator", []string{"patch manifestworkreplicasets", "patch manifestworkreplicasets/status"}},
		{"mwrs-admin", []string{
			"create manifestworkreplicasets", "update manifestworkreplicasets", "delete manifestworkreplicasets",
			"deletecollection manifestworkreplicasets", "update manifestworkreplicasets/status",
		}},
	} {
		role := &rbacv1.ClusterRole{}
		rendered(t, "ClusterRole", role, test.name)
		may := map[string]bool{}
		for _, rule := range role.Rules {
			require.Empty(t, rule.ResourceNames)
			require.Empty(t, rule.NonResourceURLs)
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					may[verb+" "+resource] = true
				}
			}
		}
		var more []string
		for right := range may {
			if !before[right] {
				more = append(more, right)
			}
		}
		require.ElementsMatch(t, test.more, more, test.name)
		for right := range before {
			require.True(t, may[right], "%s has no permission to %s", test.name, right)
		}
		before = may
	}
}

// Approvers can't write the spec.
func TestRoleOfApprovers(t *testing.T) {
	role := &rbacv1.ClusterRole{}
	rendered(t, "ClusterRole", role, "mwrs-approver")
	group := []string{"work.open-cluster-management.io"}
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: group, Resources: []string{"manifestworkreplicasets"}, Verbs: []string{"get", "list", "watch", "approve"}},
		{APIGroups: group, Resources: []string{"manifestworkreplicasets/status"}, Verbs: []string{"patch"}},
	}, role.Rules)
}

// No user role is bound: an administrator binds it.
func TestRolesForPeopleAreUnbound(t *testing.T) {
	objects, err := Render()
	require.NoError(t, err)
	for _, object := range objects {
		if !slices.Contains([]string{"ClusterRoleBinding", "RoleBinding"}, object.GetKind()) {
			continue
		}
		reference, _ := object.Object["roleRef"].(map[string]any)
		require.NotContains(t, reference["name"], "mwrs-", object.GetName())
	}
}
