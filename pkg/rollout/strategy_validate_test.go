package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

var strategyPath = field.NewPath("spec", "placementRefs").Index(0).Child("rolloutStrategy")

func TestValidateStrategyNamesEveryField(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive("3"), rt.Deadline("0s"), rt.Soak(-time.Second), rt.MaxFailures(-2))
	var fields []string
	for _, err := range placement.ValidateStrategy(strategyPath, &ref.Strategy) {
		fields = append(fields, strings.TrimPrefix(err.Field, strategyPath.String()+"."))
	}
	require.Equal(t, []string{
		"progressive.progressDeadline", "progressive.minSuccessTime", "progressive.maxFailures", "progressive.maxConcurrency",
	}, fields)
	ref = rt.Ref("p1", func(r *placement.Ref) { r.Strategy.Type = "Slowly" })
	require.EqualError(t, placement.ValidateStrategy(strategyPath, &ref.Strategy).ToAggregate(), strategyPath.String()+
		`.type: Invalid value: "Slowly" is not a rollout type: use All, Progressive or ProgressivePerGroup`)
}

func TestValidateStrategyOfTheCRDsDefaults(t *testing.T) {
	for name, ref := range map[string]placement.Ref{
		"All":                 rt.Ref("p1", rt.All(), rt.Deadline("None"), rt.Soak(0), rt.MaxFailures(0)),
		"Progressive":         rt.Ref("p1", rt.Progressive(0), rt.Deadline("None"), rt.Soak(0), rt.MaxFailures(0)),
		"ProgressivePerGroup": rt.Ref("p1", rt.PerGroup(), rt.Deadline("None"), rt.Soak(0), rt.MaxFailures(0)),
		"no type":             {},
		"no part":             rt.Ref("p1", func(r *placement.Ref) { r.Strategy.All = nil }),
	} {
		require.Empty(t, placement.ValidateStrategy(strategyPath, &ref.Strategy), name)
	}
}

// Decide can follow each strategy that validation accepts. Validation rejects each strategy that Decide rejects, with the same message.
func TestValidateStrategyAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) any {
			return rapid.SampledFrom([]any{0, 1, 7, -1, "0%", "10%", "100%", "3", "-1%", "", "many"}).Draw(t, name)
		}
		kind := rapid.SampledFrom([]rt.RefOption{rt.All(), rt.PerGroup(), rt.Progressive(size("maxConcurrency"))}).Draw(t, "type")
		ref := rt.Ref("p1", kind, rt.Clusters("c1"), rt.MaxFailures(size("maxFailures")),
			rt.Deadline(rapid.SampledFrom([]string{"", "None", "5m", "0s", "-1s", "5 minutes", "1h30m", "s5"}).Draw(t, "progressDeadline")))
		errs := placement.ValidateStrategy(strategyPath, &ref.Strategy)
		outcome := decide(rt.Now(hour), rt.Refs(ref)).Refs[0]
		require.Equal(t, len(errs) == 0, outcome.Err == nil, "validation: %v, Decide: %v", errs, outcome.Err)
		if outcome.Err != nil {
			require.Equal(t, fmt.Sprint(outcome.Err), strings.Replace(errs[0].Error(), "Invalid value: ", "", 1))
		}
	})
}

func TestStrategyOf(t *testing.T) {
	abortAll := func(r *placement.Ref) { r.Strategy.FailureStrategy = workv1alpha1.AbortAll }
	for name, tc := range map[string]struct {
		ref  placement.Ref
		want []bool // DecidesAbort, no deadline, ToleratesAll, an ignored soak.
	}{
		"plain":                 {rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures("99%")), []bool{false, false, false, false}},
		"AbortAll":              {rt.Ref("p1", rt.Deadline("5m"), abortAll), []bool{true, false, false, false}},
		"no deadline":           {rt.Ref("p1", rt.PerGroup(), rt.Deadline("None")), []bool{false, true, false, false}},
		"everyone may fail":     {rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures("100%")), []bool{false, false, true, false}},
		"a number says nothing": {rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures(1000000)), []bool{false, false, false, false}},
		"a mandatory group": {
			rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.MaxFailures("100%"), rt.Mandatory("a")), []bool{false, false, false, false},
		},
		"a soak of All": {rt.Ref("p1", rt.Deadline("5m"), rt.Soak(minute)), []bool{false, false, false, true}},
		"a soak":        {rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.Soak(minute)), []bool{false, false, false, false}},
		"not readable":  {rt.Ref("p1", rt.Deadline("soon"), abortAll), []bool{false, false, false, false}},
	} {
		s := placement.StrategyOf(&tc.ref.Strategy)
		require.Equal(t, tc.want, []bool{s.DecidesAbort(), s.Deadline == placement.NoDeadline, s.ToleratesAll(), s.SoakIgnored > 0}, name)
	}
}
