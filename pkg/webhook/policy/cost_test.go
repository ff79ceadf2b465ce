package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/open-cluster-management-io/work-rollback/internal/ruletest"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// filled sets a template of n manifests with this many bytes in total.
func filled(n, bytes int, manifest func(i int, filling string) map[string]any) func(t testing.TB, object map[string]any) {
	return func(t testing.TB, object map[string]any) {
		t.Helper()
		manifests := make([]any, n)
		for i := range manifests {
			manifests[i] = manifest(i, strings.Repeat("x", max(0, bytes/n-90)))
		}
		require.NoError(t, unstructured.SetNestedSlice(object, manifests, "spec", "manifestWorkTemplate", "workload", "manifests"))
	}
}

func configMap(i int, filling string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("c%d", i)}, "data": map[string]any{"a": filling}}
}

// longNamed returns a manifest with the longest names that Kubernetes allows.
func longNamed(i int, _ string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": fmt.Sprintf("%0253d", i), "namespace": strings.Repeat("n", 63),
	}}
}

func secret(i int, filling string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": fmt.Sprintf("c%d", i)}, "stringData": map[string]any{"a": filling}}
}

func unnamed(i int, filling string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{}, "data": map[string]any{"a": filling, "i": fmt.Sprint(i)}}
}

// manyConfigs sets n manifestConfigs.
func manyConfigs(n int, resource, name string) func(t testing.TB, object map[string]any) {
	return func(t testing.TB, object map[string]any) {
		t.Helper()
		configs := make([]any, n)
		for i := range configs {
			configs[i] = map[string]any{"resourceIdentifier": map[string]any{"resource": resource, "namespace": "*", "name": fmt.Sprint(name, i)}}
		}
		require.NoError(t, unstructured.SetNestedSlice(object, configs, "spec", "manifestWorkTemplate", "manifestConfigs"))
	}
}

// full sets the maximum number of placementRefs, each with all fields.
func full(t testing.TB, object map[string]any) {
	t.Helper()
	refs := make([]any, 64)
	for i := range refs {
		part := map[string]any{"maxConcurrency": "10%", "maxFailures": "10%", "progressDeadline": "1h30m15s", "minSuccessTime": "1h30m15s"}
		refs[i] = map[string]any{"name": strings.Repeat("p", 250) + fmt.Sprint(i), "rolloutStrategy": map[string]any{
			"type": "Progressive", "failureStrategy": "AbortAll", "all": part, "progressive": part, "progressivePerGroup": part,
		}}
	}
	require.NoError(t, unstructured.SetNestedSlice(object, refs, "spec", "placementRefs"))
}

// The expressions stay within the budget of an API server for every object that the webhook admits, and for every object whose problems it
// names in full. An API server would ignore an expression that exceeds the budget.
func TestLargestObjectsAreWithinTheBudget(t *testing.T) {
	refusals, warnings := compile(t, Refusals(), oldest), compile(t, Warnings(), oldest)
	const limit = 500 * 1024 // The default of --manifestLimit.
	for name, tc := range map[string]struct {
		edits  []ruletest.Edit
		denied int
	}{
		"300 KB in 300 manifests":                      {[]ruletest.Edit{filled(300, 300*1024, configMap), full}, 0},
		"as many manifests as are compared":            {[]ruletest.Edit{filled(rule.MaxCompared, limit, configMap), full}, 0},
		"the same, with the longest names":             {[]ruletest.Edit{filled(rule.MaxCompared, limit, longNamed), full}, 0},
		"as many manifests as fit into the limit":      {[]ruletest.Edit{filled(limit/90, limit, configMap), full}, 0},
		"one large manifest":                           {[]ruletest.Edit{filled(1, limit, configMap), full}, 0},
		"only Secrets":                                 {[]ruletest.Edit{filled(limit/90, limit, secret), ruletest.Set("spec.manifestWorkTemplate.manifestConfigs", ""), full}, 0},
		"as many pairs as are compared, no match":      {[]ruletest.Edit{filled(50, limit, longNamed), manyConfigs(rule.MaxPairs/50, "pods", "*a*b*"), full}, 1},
		"the same with patterns":                       {[]ruletest.Edit{filled(50, limit, longNamed), manyConfigs(rule.MaxPairs/50, "configmaps", "*0*0*0*0*z"), full}, 1},
		"as many manifests as fit, all without a name": {[]ruletest.Edit{filled(limit/90, limit, unnamed), full}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			object := ruletest.Build(t, tc.edits...)
			small := ruletest.Build(t)
			got := refusals.judge(t.Context(), nil, object)
			require.Empty(t, got.failed)
			require.Len(t, got.denied, tc.denied)
			require.Empty(t, warnings.judge(t.Context(), nil, object).failed)
			require.Empty(t, refusals.judge(t.Context(), small, object).failed)
			before := ruletest.Build(t, append(tc.edits, ruletest.Set("spec.paused", "true"))...)
			require.Empty(t, refusals.judge(t.Context(), before, object), "an update")
			require.Empty(t, warnings.judge(t.Context(), before, object).failed)
		})
	}
}

// Above the number of manifests that CEL can compare, only the webhook finds duplicates.
func TestManyManifestsAreNotCompared(t *testing.T) {
	refusals := compile(t, Refusals(), oldest)
	for n, denied := range map[int]int{rule.MaxCompared: 1, rule.MaxCompared + 1: 0} {
		object := ruletest.Build(t, filled(n, 0, func(i int, _ string) map[string]any { return configMap(i/2*2, "") }))
		got := refusals.judge(t.Context(), nil, object)
		require.Empty(t, got.failed)
		require.Len(t, got.denied, denied)
	}
}
