package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestBadGates: a gate that the CRD of this project rejects is an error in the strategy if another CRD accepts it.
func TestBadGates(t *testing.T) {
	gate := func(conditionType string) workv1alpha1.SuccessGate {
		return workv1alpha1.SuccessGate{ConditionType: conditionType}
	}
	many := make([]workv1alpha1.SuccessGate, 9)
	for i := range many {
		many[i] = gate(fmt.Sprintf("T%d", i))
	}
	for name, tc := range map[string]struct {
		gates []workv1alpha1.SuccessGate
		bad   string
	}{
		"none":         {},
		"fine":         {gates: []workv1alpha1.SuccessGate{gate("Tested"), gate("example.com/Tested"), {ConditionType: "Told", Mode: workv1alpha1.ReportGate}}},
		"no type":      {gates: []workv1alpha1.SuccessGate{gate("")}, bad: "successGates[0].conditionType: it is not a valid condition type"},
		"spaces":       {gates: []workv1alpha1.SuccessGate{gate("a b")}, bad: "successGates[0].conditionType: it is not a valid condition type"},
		"too long":     {gates: []workv1alpha1.SuccessGate{gate(strings.Repeat("a", 64))}, bad: "successGates[0].conditionType: it is not a valid condition type"},
		"judged":       {gates: []workv1alpha1.SuccessGate{gate("Tested"), gate("Available")}, bad: "successGates[1].conditionType: the hub judges the condition Available itself"},
		"twice":        {gates: []workv1alpha1.SuccessGate{gate("Tested"), gate("Tested")}, bad: "successGates[1].conditionType: Tested is listed twice"},
		"a wrong mode": {gates: []workv1alpha1.SuccessGate{{ConditionType: "Tested", Mode: "Warn"}}, bad: "successGates[0].mode: use Enforce or Report"},
		"too many":     {gates: many, bad: "successGates: it has 9 entries: use at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			strategy := &workv1alpha1.RolloutStrategy{SuccessGates: tc.gates}
			_, err := ParseStrategy("spec.placementRefs[0]", strategy)
			errs := ValidateStrategy(field.NewPath("spec", "placementRefs").Index(0).Child("rolloutStrategy"), strategy)
			if tc.bad == "" {
				require.NoError(t, err)
				require.Empty(t, errs)
				return
			}
			require.ErrorContains(t, err, "spec.placementRefs[0].rolloutStrategy."+tc.bad)
			require.Len(t, errs, 1)
			path, _, _ := strings.Cut(tc.bad, ":")
			require.Equal(t, "spec.placementRefs[0].rolloutStrategy."+path, errs[0].Field)
		})
	}
}
