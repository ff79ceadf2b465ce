package forecast_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/window"
)

// TestWavesOfRings: the waves follow the list of groups, as if each group is approved and has baked. No wave begins now if the first group
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

// TestWavesOfGates: a wave does not begin now if a success gate holds back the clusters before it.
func TestWavesOfGates(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(4), rt.Deadline("5m"), rt.Group("a", "c1"), rt.Group("b", "c2"), rt.Listed(rt.Ring("a")), rt.Gate("SmokePassed"))
	works := rt.Works(rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(time.Hour), rt.Succeeded(time.Hour)), rt.Work("c2", rt.AtRevision("aaa")))
	waves := forecast.Waves(rt.Snapshot(rt.Now(time.Hour+time.Minute), rt.Refs(ref), works, rt.Gated()))
	require.Equal(t, [][]string{{"c2"}}, clustersOf(waves))
	require.False(t, waves[0].Now)
}

// TestWavesOfWindows: the waves wait for the next windows, and omit the clusters on hold.
func TestWavesOfWindows(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(4), rt.Deadline("5m"), rt.Group("a", "c1"), rt.Group("b", "c2", "c3", "c4"), rt.Listed(rt.Ring("a")))
	waves := forecast.Waves(rt.Snapshot(rt.Now(time.Hour), rt.Refs(ref), func(s *rollout.Snapshot) {
		s.Holds = map[string]placement.Hold{"c1": {Opens: rt.At(2 * time.Hour)}, "c2": {Opens: rt.At(4 * time.Hour)}, "c3": {Reason: "maintenance"}}
	}))
	require.Equal(t, [][]string{{"c1"}, {"c4"}, {"c2"}}, clustersOf(waves))
	require.False(t, waves[0].Now)
}

// TestSimulatedRings: a simulated rollout waits for each bakeTime, but not for approvals, and each listed group must exist.
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

// TestSimulatedGroupFails: a simulated rollout ends at a group whose clusters all fail, even if maxFailures tolerates that.
func TestSimulatedGroupFails(t *testing.T) {
	in := progressive(10, "100%", "5", "5m")
	in.Placements["production"] = forecast.Clusters("production", forecast.Group{Name: "canary", Size: 2}, forecast.Group{Name: "rest", Size: 8})
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{rt.Ring("canary")}
	in.Agents.Fail = 1
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Stalled, result.Outcome)
	require.Equal(t, 2, result.Exposed)
}

// TestSimulatedSkip: offline clusters fail, or are skipped.
func TestSimulatedSkip(t *testing.T) {
	in := progressive(10, "100%", "0", "5m")
	in.Agents.Fates = map[string]forecast.Fate{"production-00003": forecast.Offline}
	require.Equal(t, forecast.Aborted, play(t, in, 1)[0].Outcome)
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Complete, result.Outcome)
	require.Equal(t, 1, result.NeverReached)
}

// TestSimulatedHolds: a rollout completes without the clusters on hold. If all are on hold, it waits.
func TestSimulatedHolds(t *testing.T) {
	in := progressive(100, "100%", "0", "5m")
	in.Agents.Held = 0.3
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Complete, result.Outcome)
	require.InDelta(t, 30, result.NeverReached, 15)
	require.Equal(t, 100-result.NeverReached, result.Exposed)
	in.Agents.Held = 1
	require.Equal(t, forecast.Waiting, play(t, in, 1)[0].Outcome)
}

// TestSimulatedWindows: a rollout starts clusters only while the windows of their Placement are open.
func TestSimulatedWindows(t *testing.T) {
	in := progressive(10, "5", "0", "5m")
	in.Agents.Spread = 0
	free := play(t, in, 1)[0].Duration
	in.Begin = time.Date(2026, 7, 3, 9, 0, 0, 0, time.UTC)
	windows := func(text string) time.Duration {
		t.Helper()
		parsed, err := window.Parse(text)
		require.NoError(t, err)
		in.Windows = map[string]window.Windows{"production": parsed}
		result := play(t, in, 2)[1]
		require.Equal(t, forecast.Complete, result.Outcome)
		return result.Duration
	}
	require.Equal(t, free, windows("UTC 08:00-10:00"))
	require.Equal(t, time.Hour+free, windows("Europe/Berlin Fri 12:00-13:00"))
	require.Equal(t, 24*time.Hour+free/2, windows("UTC 09:00-09:01"), "the second half waits for the next day")
}

// TestSimulatedGates: with a success gate, a cluster on which the revision does not work fails even if no rule reports that.
func TestSimulatedGates(t *testing.T) {
	in := progressive(10, "1", "0", "5m")
	in.Rules.Progressing = false
	in.Placements["production"] = forecast.Clusters("production", forecast.Group{Name: "canary", Size: 2}, forecast.Group{Name: "rest", Size: 8})
	in.Agents.Hang = 1
	require.Equal(t, forecast.Complete, play(t, in, 1)[0].Outcome)
	require.False(t, in.AllGated())
	gates := &in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.SuccessGates
	*gates = []workv1alpha1.SuccessGate{{ConditionType: "SmokePassed", Mode: workv1alpha1.ReportGate}}
	require.Equal(t, forecast.Complete, play(t, in, 1)[0].Outcome)
	*gates = append(*gates, workv1alpha1.SuccessGate{ConditionType: "CanaryPassed", Groups: []string{"canary"}})
	require.Equal(t, forecast.Aborted, play(t, in, 1)[0].Outcome)
	require.False(t, in.AllGated())
	(*gates)[0].Mode = ""
	require.True(t, in.AllGated())
	in.Agents.Hang = 0
	require.Equal(t, forecast.Complete, play(t, in, 1)[0].Outcome)
}
