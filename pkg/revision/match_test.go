package revision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

// crowded returns a template with the given numbers of Deployments and of manifestConfigs with a rule for Degraded. The manifestConfigs
// match none of the Deployments.
func crowded(manifests, configs int, name, pattern string) *workv1.ManifestWorkSpec {
	template := &workv1.ManifestWorkSpec{}
	for i := range manifests {
		var manifest workv1.Manifest
		manifest.Raw = fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"a","name":"%s%d"}}`, name, i)
		template.Workload.Manifests = append(template.Workload.Manifests, manifest)
	}
	degraded := []workv1.ConditionRule{{Type: workv1.CelConditionExpressionsType, Condition: workv1.ManifestDegraded}}
	for range configs {
		template.ManifestConfigs = append(template.ManifestConfigs, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: "apps", Resource: "deployments", Namespace: "a", Name: pattern}, ConditionRules: degraded,
		})
	}
	return template
}

// TestMatchingHasABudget: for any number and shape of patterns, decoding a template costs little more than reading it.
func TestMatchingHasABudget(t *testing.T) {
	for name, template := range map[string]*workv1.ManifestWorkSpec{
		"many of both":     crowded(4000, 3500, strings.Repeat("b", 60), strings.Repeat("*b", 60)+"*z"),
		"at the bound":     crowded(500, 500, strings.Repeat("b", 500), strings.Repeat("*b", 250)+"*z"),
		"a long pattern":   crowded(4000, 60, "b", strings.Repeat("*", 20_000)+"z"),
		"literals":         crowded(4000, 60, "b", strings.Repeat("*b", 10_000)+"z"),
		"a long name":      crowded(1, 10_000, strings.Repeat("b", 500_000), "*bz"),
		"exact names":      crowded(4000, 3500, "b", "b"),
		"one that matches": crowded(4000, 3500, "b", "*"),
	} {
		t.Run(name, func(t *testing.T) {
			object, err := New(owner(), template, "abc", 1)
			require.NoError(t, err)
			budget.Within(t, 30*time.Second, 500<<20, func() { require.NoError(t, Decode(object).Err) })
		})
	}
}

// TestConfigProblem: manifests times manifestConfigs is limited.
func TestConfigProblem(t *testing.T) {
	require.Empty(t, ConfigProblem(crowded(500, 500, "b", "b")))
	require.Empty(t, ConfigProblem(crowded(1, 2000, "b", "b")))
	require.Contains(t, ConfigProblem(crowded(501, 500, "b", "b")), "500 manifestConfigs for 501 manifests are more than are compared: their product is limited to 250000")
}

// TestMatchesName: a star matches any text, including the empty text.
func TestMatchesName(t *testing.T) {
	for pattern, names := range map[string][]string{
		"": {""}, "*": {"", "a", "a-b"}, "**": {"", "ab"}, "a*": {"a", "ab"}, "*a": {"a", "ba"}, "a*a": {"aa", "aba"}, "a**b": {"ab", "axb"}, "*a*b*": {"ab", "xaxbx"}, "a": {"a"},
	} {
		for _, name := range names {
			require.True(t, MatchesName(pattern, name), "%s %s", pattern, name)
			p := NewPattern("*", pattern)
			require.True(t, p.Matches("ns", name, NewComparisons()), "%s %s", pattern, name)
		}
	}
	for pattern, names := range map[string][]string{"": {"a"}, "a*": {"", "ba"}, "*a": {"ab"}, "a*a": {"a", "ab"}, "*a*b": {"ba", "abc"}, "a": {"ab", "*"}} {
		for _, name := range names {
			require.False(t, MatchesName(pattern, name), "%s %s", pattern, name)
			p := NewPattern(pattern, "*")
			require.False(t, p.Matches(name, "a", NewComparisons()), "%s %s", pattern, name)
		}
	}
}
