package revision

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

// TestUnmatched: a manifestConfig is unmatched only if no agent could find a manifest for it.
func TestUnmatched(t *testing.T) {
	var manifests []workv1.Manifest
	for _, raw := range []string{
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"}}`,
		`{"apiVersion":"v1","kind":"Endpoints","metadata":{"namespace":"shop","name":"web"}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"namespace":"shop","name":"web"}}`,
		`{"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{"namespace":"shop","name":"net"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"odd":7}}}`,
	} {
		manifests = append(manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	targets, readable := Targets(manifests)
	require.True(t, readable)
	for id, matches := range map[workv1.ResourceIdentifier]bool{
		{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}:                                  true,
		{Group: "apps", Resource: "deployments", Namespace: "*", Name: "w*b"}:                                     true,
		{Group: "apps", Resource: "deployment", Namespace: "shop", Name: "web"}:                                   false,
		{Group: "apps", Resource: "deployments", Namespace: "default", Name: "web"}:                               false,
		{Group: "apps", Resource: "deployments", Name: "web"}:                                                     false,
		{Group: "", Resource: "deployments", Namespace: "shop", Name: "web"}:                                      false,
		{Group: "apps", Resource: "*", Namespace: "shop", Name: "*"}:                                              false,
		{Resource: "endpoints", Namespace: "shop", Name: "web"}:                                                   true,
		{Resource: "namespaces", Name: "shop"}:                                                                    true,
		{Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: "shop", Name: "*"}:                   true,
		{Group: "networking.k8s.io", Resource: "networkpolicys", Namespace: "shop", Name: "*"}:                    false,
		{Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Namespace: "shop", Name: "net"}:    true,
		{Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Namespace: "shop", Name: "n*t"}:    true,
		{Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Namespace: "shop", Name: "other*"}: false,
	} {
		found := Unmatched([]workv1.ManifestConfigOption{{ResourceIdentifier: id}}, targets)
		require.Equal(t, matches, len(found) == 0, "%+v", id)
	}
	_, readable = Targets(append(manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{"metadata":"x"}`)}}))
	require.False(t, readable)
}

// TestUnmatchedHasABudget: if there are too many patterns to compare, the rest count as matched.
func TestUnmatchedHasABudget(t *testing.T) {
	template := crowded(500, 500, strings.Repeat("b", 500), strings.Repeat("*b", 250)+"*z")
	targets, _ := Targets(template.Workload.Manifests)
	budget.Within(t, 30*time.Second, 100<<20, func() {
		require.Less(t, len(Unmatched(template.ManifestConfigs, targets)), 500)
	})
}
