package forecast_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
)

// TestWavesOfRings: the waves follow the list of groups, as if each group is approved and has baked. None begins now if the first group
// waits for its approval.
func TestWavesOfRings(t *testing.T) {
	required := workv1alpha1.ApprovalRequired
	ref := rt.Ref("p1", rt.Progressive(4), rt.Deadline("5m"), rt.Group("a", "c1", "c2"), rt.Group("b", "c3"), rt.Group("c", "c4"),
		rt.Listed(rt.Ring("c", 720*time.Hour, required), rt.Ring("a", required, rt.RingConcurrency(1))))
	waves := forecast.Waves(rt.Snapshot(rt.Now(time.Hour), rt.Refs(ref)))
	require.Equal(t, [][]string{{"c4"}, {"c1"}, {"c2"}, {"c3"}}, clustersOf(waves))
	require.False(t, waves[0].Now)
	waves = forecast.Waves(rt.Snapshot(rt.Now(time.Hour), rt.Refs(ref), rt.Approved("c")))
	require.True(t, waves[0].Now)
}

// TestSimulatedRings: a simulated rollout waits for each bakeTime and for no approval, and a group has to exist.
func TestSimulatedRings(t *testing.T) {
	in := progressive(10, "100%", "0", "5m")
	in.Agents.Spread = 0
	in.Placements["production"] = forecast.Clusters("production", forecast.Group{Name: "canary", Size: 2}, forecast.Group{Name: "rest", Size: 8})
	short := play(t, in, 1)[0].Duration
	groups := &in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Groups
	*groups = []workv1alpha1.RolloutGroup{rt.Ring("canary", time.Hour, workv1alpha1.ApprovalRequired)}
	require.InDelta(t, (2*short + time.Hour).Minutes(), play(t, in, 1)[0].Duration.Minutes(), 0.1)

	*groups = append(*groups, rt.Ring("canari"))
	require.ErrorContains(t, in.Validate(), `the fleet has no decision group "canari", which rolloutStrategy.groups lists`)
	*groups = []workv1alpha1.RolloutGroup{rt.RingAt(2)}
	require.ErrorContains(t, in.Validate(), "no decision group with index 2")
	*groups = []workv1alpha1.RolloutGroup{rt.RingAt(1)}
	require.NoError(t, in.Validate())
}
