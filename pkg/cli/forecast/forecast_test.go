package forecast_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func play(t *testing.T, in *forecast.Input, runs int) []forecast.Result {
	t.Helper()
	require.NoError(t, in.Validate())
	results, err := forecast.Runs(in, runs, 2, func() bool { return true }, func() bool { return true })
	require.NoError(t, err)
	require.Len(t, results, runs)
	return results
}

// The same seed gives the same results, regardless of the number of workers. Another seed gives different results.
func TestSameSeedSameAnswer(t *testing.T) {
	in := progressive(100, "10%", "2%", "5m")
	in.Agents.Fail, in.Agents.Slow, in.Agents.Offline = 0.02, 0.05, 0.01
	first := play(t, in, 12)
	again, err := forecast.Runs(in, 12, 5, func() bool { return true }, func() bool { return true })
	require.NoError(t, err)
	require.Equal(t, first, again)
	in.Seed++
	require.NotEqual(t, first, play(t, in, 12))
}

// When the budget is spent, the results of the first runs remain, without a gap. At least one result remains.
func TestBudget(t *testing.T) {
	in := progressive(20, "5", "0", "5m")
	all := play(t, in, 8)
	few, err := forecast.Runs(in, 8, 3, func() bool { return false }, func() bool { return true })
	require.NoError(t, err)
	require.Equal(t, all[:1], few)
}

// TestRunsCanBeStopped: a run calls alive before each pass, including the first.
func TestRunsCanBeStopped(t *testing.T) {
	in := progressive(20, "5", "0", "5m")
	always := func() bool { return true }
	for _, passes := range []int{0, 1, 3} {
		asked := 0
		_, err := forecast.Runs(in, 8, 1, always, func() bool { asked++; return asked <= passes })
		require.ErrorContains(t, err, "give it more time")
		require.Equal(t, passes+1, asked)
	}
}

// TestPlacementCountsOnce: the clusters of a Placement in several placementRefs count once, as in the hub.
func TestPlacementCountsOnce(t *testing.T) {
	in := progressive(12, "3", "0", "5m")
	in.Agents.Spread = 0
	want := play(t, in, 1)
	ref := in.ReplicaSet.Spec.PlacementRefs[0]
	for range 63 {
		in.ReplicaSet.Spec.PlacementRefs = append(in.ReplicaSet.Spec.PlacementRefs, ref)
	}
	require.Equal(t, want, play(t, in, 1))
}

// TestSoakOfAges: a soak that is longer than the longest simulated rollout is an error.
func TestSoakOfAges(t *testing.T) {
	in := progressive(12, "3", "0", "5m")
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MinSuccessTime.Duration = math.MaxInt64
	require.ErrorContains(t, in.Validate(), "minSuccessTime is 2562047h47m16.854775807s")
}

// The default settle time is the hub's default.
func TestSettleIsTheHubs(t *testing.T) {
	require.Equal(t, controller.DefaultSuccessSettle, forecast.Settle)
}

// A fleet without randomness: 12 clusters, 3 at a time, each of which takes 1 minute and the settle time.
func TestHealthyRollout(t *testing.T) {
	in := progressive(12, "3", "0", "5m")
	in.Agents.Spread = 0
	for _, result := range play(t, in, 2) {
		require.Equal(t, forecast.Result{Outcome: forecast.Complete, Duration: 4*time.Minute + 4*forecast.Settle, Exposed: 12, Passes: 5}, result)
	}
}

// One cluster hangs: the other clusters continue until its deadline has passed, and the rollout is then aborted.
func TestHangingClusterAborts(t *testing.T) {
	in := progressive(12, "3", "0", "150s")
	in.Agents.Spread, in.Agents.Fates = 0, map[string]forecast.Fate{"production-00002": forecast.Hangs}
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Aborted, result.Outcome)
	require.Equal(t, 150*time.Second, result.Duration)
	require.Equal(t, 7, result.Exposed, "3 at once, then 2 and 2 beside the cluster that hangs")
	require.Equal(t, 5, result.NeverReached)
	require.Equal(t, time.Minute, result.Restore)
}

// Degraded halts the placement at once, if a rule reports it. The abort comes with the deadline.
func TestDegradedRuleLimitsExposure(t *testing.T) {
	in := progressive(12, "3", "0", "150s")
	in.Agents.Spread, in.Agents.Fates = 0, map[string]forecast.Fate{"production-00002": forecast.Fails}
	without := play(t, in, 1)[0]
	in.Rules.Degraded = true
	with := play(t, in, 1)[0]
	require.Equal(t, 7, without.Exposed)
	require.Equal(t, 3, with.Exposed)
	require.Equal(t, forecast.Aborted, with.Outcome)
}

// Without rules, a broken workload counts as a success.
func TestWithoutRulesNothingIsNoticed(t *testing.T) {
	in := progressive(12, "3", "0", "150s")
	in.Rules, in.Agents.Fail = forecast.Rules{}, 1
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Complete, result.Outcome)
	require.Equal(t, 12, result.Unnoticed)
}

func TestOutcomesWithoutAbort(t *testing.T) {
	in := progressive(6, "2", "0", "2m")
	in.Agents.Fates = map[string]forecast.Fate{"production-00001": forecast.Hangs}
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	require.Equal(t, forecast.Stalled, play(t, in, 1)[0].Outcome)
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive.ProgressDeadline = "None"
	require.Equal(t, forecast.Waiting, play(t, in, 1)[0].Outcome)
	in.Agents.Fates = map[string]forecast.Fate{"production-00001": forecast.Offline}
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive.ProgressDeadline = "2m"
	result := play(t, in, 1)[0]
	require.Equal(t, forecast.Stalled, result.Outcome)
	require.Less(t, result.Exposed+result.NeverReached, 6, "the offline cluster was written and did not apply it")
}

// The first rollout has no revision to return to.
func TestFirstRolloutDoesNotAbort(t *testing.T) {
	in := progressive(6, "2", "0", "2m")
	in.First, in.Agents.Fail = true, 1
	require.Equal(t, forecast.Stalled, play(t, in, 1)[0].Outcome)
	in.Agents.Fail = 0
	require.Equal(t, forecast.Complete, play(t, in, 1)[0].Outcome)
}

// Fewer reads of the hub change the results by at most a few percent.
func TestResolution(t *testing.T) {
	in := progressive(100, "10%", "2%", "5m")
	in.Agents.Fail, in.Agents.Slow = 0.01, 0.02
	coarse := forecast.Summarize(play(t, in, 30))
	in.Resolution = time.Second
	fine := forecast.Summarize(play(t, in, 30))
	require.InEpsilon(t, fine.Duration.P50.Value, coarse.Duration.P50.Value, 0.05)
	require.InEpsilon(t, fine.Exposed.P50.Value, coarse.Exposed.P50.Value, 0.05)
}

// The draws match the shares of the model, and the draws of a cluster do not depend on the strategy.
func TestShares(t *testing.T) {
	in := progressive(2000, "100%", "100%", "5m")
	in.Rules, in.Agents.Fail, in.Agents.Hang = forecast.Rules{}, 0.1, 0.05
	result := play(t, in, 1)[0]
	require.InDelta(t, 300, result.Unnoticed, 60)
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Type = clusterv1alpha1.All
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.All = &clusterv1alpha1.RolloutAll{}
	require.Equal(t, result.Unnoticed, play(t, in, 1)[0].Unnoticed)
}

// The confidence interval contains the true quantile in at least 95% of all samples, if there are enough values.
func TestQuantileInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, q := range []float64{0.5, 0.95} {
		hits := 0
		for range 500 {
			values := make([]float64, 100)
			for i := range values {
				values[i] = random.Float64()
			}
			got := forecast.QuantileOf(values, q)
			require.False(t, got.Open)
			require.LessOrEqual(t, got.Low, got.Value)
			require.LessOrEqual(t, got.Value, got.High)
			if got.Low <= q && q <= got.High {
				hits++
			}
		}
		require.GreaterOrEqual(t, hits, 470, "of 500, q %v", q)
		require.Less(t, hits, 500, "the interval is not all there is")
	}
	few := forecast.QuantileOf([]float64{3, 1, 2}, 0.95)
	require.Equal(t, forecast.Quantile{Value: 3, Low: few.Low, High: 3, Open: true}, few)
	require.False(t, math.IsNaN(few.Low))
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*forecast.Input)
		want   string
	}{
		"apply":    {func(in *forecast.Input) { in.Agents.Apply = 0 }, "--apply is 0s: use a duration above zero"},
		"spread":   {func(in *forecast.Input) { in.Agents.Spread = math.NaN() }, "--spread is NaN"},
		"factor":   {func(in *forecast.Input) { in.Agents.SlowFactor = 0.5 }, "--slow-factor is 0.5"},
		"share":    {func(in *forecast.Input) { in.Agents.Fail = -0.1 }, "--fail is -10%"},
		"sum":      {func(in *forecast.Input) { in.Agents.Fail, in.Agents.Slow = 0.6, 0.6 }, "add up to 120%"},
		"strategy": {func(in *forecast.Input) { progressiveOf(in).ProgressDeadline = "soon" }, "spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline"},
		"no refs":  {func(in *forecast.Input) { in.ReplicaSet.Spec.PlacementRefs = nil }, "spec.placementRefs is empty"},
		"clusters": {func(in *forecast.Input) { in.Placements = nil }, `no clusters are given for Placement "production"`},
		"group name": {func(in *forecast.Input) {
			progressiveOf(in).MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
		}, `no decision group "canary", which is mandatory: add it to --groups as canary:NUMBER`},
		"group index": {func(in *forecast.Input) {
			progressiveOf(in).MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupIndex: 2}}
		}, "name at least 3 groups in --groups"},
	} {
		in := progressive(3, "1", "0", "1m")
		c.change(in)
		require.ErrorContains(t, in.Validate(), c.want, name)
	}
}

func progressiveOf(in *forecast.Input) *clusterv1alpha1.RolloutProgressive {
	return in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive
}

// Each variant has one change, and does not modify the input.
func TestVariants(t *testing.T) {
	in := progressive(300, "10%", "2%", "10m")
	before := in.ReplicaSet.DeepCopy()
	changes := func() (found []string) {
		for _, v := range forecast.Variants(in) {
			found = append(found, v.Change)
			require.NoError(t, v.Input.Validate())
		}
		return found
	}
	require.Equal(t, []string{
		"a condition rule for Degraded", "a mandatory canary group of 3 of 300 clusters in placement production",
		"half the concurrency (maxConcurrency 15)", "half the progressDeadline (5m0s)",
	}, changes())
	require.Equal(t, before, in.ReplicaSet)
	require.Len(t, in.Placements["production"].Groups, 1)

	in.Rules = forecast.Rules{}
	progressiveOf(in).ProgressDeadline = "None"
	in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	require.Subset(t, changes(), []string{"a condition rule for Progressing", "failureStrategy: AbortAll", "progressDeadline 10m"})
}

// If a mandatory canary group fails, no other group gets the revision.
func TestCanaryVariant(t *testing.T) {
	in := progressive(300, "10%", "2%", "10m")
	in.Agents.Fates = map[string]forecast.Fate{"production-00002": forecast.Hangs}
	for _, v := range forecast.Variants(in) {
		if v.Input.Placements["production"].Groups[0].Name == "canary" {
			result := play(t, v.Input, 1)[0]
			require.Equal(t, forecast.Aborted, result.Outcome)
			require.Equal(t, 3, result.Exposed)
			return
		}
	}
	t.Fatal("there is no canary variant")
}

// The waves come from repeated decisions: mandatory groups first, then batches.
func TestWaves(t *testing.T) {
	soak := rt.Soak(time.Minute)
	for name, c := range map[string]struct {
		ref  placement.Ref
		want [][]string
	}{
		"batches": {rt.Ref("p1", rt.Progressive(2), soak, rt.Clusters("c1", "c2", "c3", "c4", "c5")), [][]string{{"c1", "c2"}, {"c3", "c4"}, {"c5"}}},
		"canary first": {rt.Ref("p1", rt.Progressive(2), rt.Mandatory("canary"), rt.Group("canary", "c3"), rt.Group("rest", "c1", "c2", "c4")),
			[][]string{{"c3"}, {"c1", "c2"}, {"c4"}}},
		"groups": {rt.Ref("p1", rt.PerGroup(), rt.Group("a", "c3", "c4"), rt.Group("b", "c1", "c2")), [][]string{{"c3", "c4"}, {"c1", "c2"}}},
		"all":    {rt.Ref("p1", rt.All(), rt.Clusters("c1", "c2")), [][]string{{"c1", "c2"}}},
	} {
		var works []work.Work
		for _, g := range c.ref.Placement.Groups {
			for _, cluster := range g.Clusters {
				works = append(works, rt.Work(cluster, rt.AtRevision("aaa"), rt.Succeeded(0)))
			}
		}
		require.Equal(t, c.want, clustersOf(forecast.Waves(rt.Snapshot(rt.Now(time.Hour), rt.Refs(c.ref), rt.Works(works...)))), name)
		require.Equal(t, c.want, clustersOf(forecast.Waves(rt.Snapshot(rt.Now(time.Hour), rt.Refs(c.ref)))), "%s, without works", name)
	}
}

// Waves does not modify the snapshot: its works are shared with a cache. Clusters in flight succeed, and failed clusters do not.
func TestWavesFromTheMiddle(t *testing.T) {
	s := rt.Snapshot(rt.Now(time.Hour), rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.MaxFailures(1), rt.Deadline("10m"), rt.Clusters("c1", "c2", "c3", "c4"))),
		rt.Works(
			rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(0), rt.InFlight(0)),
			rt.Work("c2", rt.AtRevision("bbb"), rt.WrittenAt(59*time.Minute), rt.InFlight(59*time.Minute)),
			rt.Work("c3", rt.AtRevision("aaa")), rt.Work("c4", rt.AtRevision("aaa"))))
	before := s.Works[1].Object.DeepCopy()
	require.Equal(t, [][]string{{"c3"}, {"c4"}}, clustersOf(forecast.Waves(s)))
	require.Equal(t, before, s.Works[1].Object)
	require.Equal(t, metav1.ConditionTrue, before.Status.Conditions[0].Status)

	kept := *s
	kept.Works = slices.Clone(s.Works)
	kept.Works[1].Digest, kept.Works[1].Combined = "both", &handover.Combined{Digest: "both", Manifests: 1}
	require.Equal(t, [][]string{{"c3"}, {"c4"}}, clustersOf(forecast.Waves(&kept)), "a work in flight that keeps objects of another revision")

	halted := *s
	halted.Refs = []placement.Ref{rt.Ref("p1", rt.Progressive(1), rt.MaxFailures(0), rt.Deadline("10m"), rt.Clusters("c1", "c2", "c3", "c4"))}
	require.Empty(t, forecast.Waves(&halted))
}

// TestWavesAfterARestart: a recorded halt holds until deadlines fire again, so the hub does not write the first wave now.
func TestWavesAfterARestart(t *testing.T) {
	s := rt.Snapshot(rt.Now(time.Hour), rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("10m"), rt.Clusters("c1", "c2"))),
		rt.Works(rt.Work("c1", rt.AtRevision("aaa")), rt.Work("c2", rt.AtRevision("aaa"))))
	require.True(t, forecast.Waves(s)[0].Now)
	s.Records.Halted, s.Gap = map[string]time.Time{"p1": rt.At(0)}, rollout.UnknownGap(s.Now)
	require.False(t, forecast.Waves(s)[0].Now)
}

func clustersOf(waves []forecast.Wave) (all [][]string) {
	for i := range waves {
		var clusters []string
		for _, part := range waves[i].Parts {
			clusters = append(clusters, part.Clusters...)
		}
		slices.Sort(clusters)
		all = append(all, clusters)
	}
	return all
}
