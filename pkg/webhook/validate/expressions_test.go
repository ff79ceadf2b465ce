package validate

import (
	"testing"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestBrokenExpressions: an expression that no agent can evaluate is named. An expression that fails only on an empty object is not.
func TestBrokenExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		"object.status.(":              "1:15: Syntax error: no viable alternative at input '.('",
		"nosuchvar == 1":               "1:1: undeclared reference to 'nosuchvar' (in container '')",
		`"abc"`:                        "expected bool result, got string",
		"object.status.ready":          "",
		"object.spec.replicas == 3":    "",
		"hasConditions(object.status)": "",
		"true":                         "",
		"":                             "1:0: Syntax error: mismatched input '<EOF>'",
	} {
		template := &workv1.ManifestWorkSpec{ManifestConfigs: []workv1.ManifestConfigOption{{}, {ConditionRules: []workv1.ConditionRule{
			{Condition: "Progressing", Type: workv1.CelConditionExpressionsType, CelExpressions: []string{"true", expression}},
		}}}}
		found := brokenExpressions(template)
		if want == "" {
			require.Empty(t, found, expression)
			continue
		}
		require.Len(t, found, 1, expression)
		require.Contains(t, found[0], "spec.manifestWorkTemplate.manifestConfigs[1].conditionRules[0].celExpressions[1]: agents can't evaluate "+
			"this expression, so they report Progressing as False on every cluster: correct it: "+want, expression)
	}
}
