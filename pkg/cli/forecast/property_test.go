package forecast_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestProperties: each run ends, and its numbers are consistent with each other and with its outcome. test/simulation checks the decisions.
func TestProperties(t *testing.T) {
	outcomes := map[forecast.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(t, "clusters")
		in := progressive(n, fmt.Sprint(rapid.IntRange(1, 10).Draw(t, "maxConcurrency")), fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "maxFailures")), "None")
		strategy := &in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy
		if seconds := rapid.IntRange(0, 300).Draw(t, "deadline"); seconds >= 20 {
			strategy.Progressive.ProgressDeadline = fmt.Sprintf("%ds", seconds)
		}
		strategy.Progressive.MinSuccessTime.Duration = time.Duration(rapid.IntRange(0, 60).Draw(t, "soak")) * time.Second
		if rapid.Bool().Draw(t, "no abort") {
			strategy.FailureStrategy = ""
		}
		if first := rapid.IntRange(0, n-1).Draw(t, "mandatory"); first > 0 {
			in.Placements = map[string]*placement.Placement{"production": forecast.Clusters("production",
				forecast.Group{Name: "canary", Size: first}, forecast.Group{Name: "rest", Size: n - first})}
			strategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
		}
		share := func(name string) float64 { return float64(rapid.IntRange(0, 20).Draw(t, name)) / 100 }
		healthy := rapid.IntRange(0, 3).Draw(t, "healthy") == 0
		if !healthy {
			in.Agents.Slow, in.Agents.Fail, in.Agents.Hang, in.Agents.Offline = share("slow"), share("fail"), share("hang"), share("offline")
		}
		in.Rules = forecast.Rules{Progressing: rapid.Bool().Draw(t, "progressing"), Degraded: rapid.Bool().Draw(t, "degraded")}
		in.First, in.Seed = rapid.IntRange(0, 4).Draw(t, "first") == 0, rapid.Uint64().Draw(t, "seed")
		require.NoError(t, in.Validate())
		results, err := forecast.Runs(in, 1, 1, nil, func() bool { return true })
		require.NoError(t, err)
		r := results[0]
		outcomes[r.Outcome]++
		require.LessOrEqual(t, r.Exposed+r.NeverReached, n)
		require.LessOrEqual(t, r.Unnoticed, r.Exposed)
		require.Equal(t, r.Outcome == forecast.Aborted && r.Exposed > 0, r.Restore > 0)
		switch r.Outcome {
		case forecast.Complete:
			require.Zero(t, r.NeverReached)
		case forecast.Aborted:
			require.True(t, strategy.FailureStrategy == workv1alpha1.AbortAll && !in.First)
		case forecast.Waiting:
			require.Equal(t, "None", strategy.Progressive.ProgressDeadline)
		}
		if healthy && strategy.Progressive.ProgressDeadline == "None" {
			require.Equal(t, forecast.Complete, r.Outcome)
			require.Equal(t, n, r.Exposed)
		}
	})
	for _, wanted := range []forecast.Outcome{forecast.Complete, forecast.Aborted, forecast.Stalled, forecast.Waiting} {
		require.NotZero(t, outcomes[wanted], "%s: %v", wanted, outcomes)
	}
}
