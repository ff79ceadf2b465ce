package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestExplainAgrees compares Explain with Decide, on snapshots that may be impossible in practice.
func TestExplainAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		p, standings := rollout.Decide(s), standingsOf(s)
		phases, counts := map[string]rollout.Phase{}, map[rollout.Phase]int{}
		failed := 0
		for cluster, standing := range standings {
			phases[cluster] = standing.Phase
			counts[standing.Phase]++
			if standing.Failed {
				failed++
			}
			if standing.Phase == rollout.PhaseWaiting && standing.WaitsFor == rollout.WaitNothing && !s.Aborted && !writes(p, cluster) {
				t.Fatalf("%s waits for nothing, and is not written", cluster)
			}
			checkForecast(t, s, standing)
		}
		require.Equal(t, p.Phases(), phases)
		require.Equal(t, p.Counts, counts)
		require.Equal(t, p.Counts[rollout.PhaseFailed], failed)
		for _, w := range p.Writes {
			standing, selected := standings[w.Cluster]
			if selected && !w.StandIn && (w.Action == rollout.Create || w.Action == rollout.Update) && standing.WaitsFor != rollout.WaitNothing && standing.WaitsFor != rollout.WaitAcceptance {
				t.Fatalf("%s, and %s waits for %s", w, w.Cluster, standing.WaitsFor)
			}
		}
	})
}

// checkForecast checks that a phase lasts until the forecast time, and that the forecast phase follows.
func checkForecast(t *rapid.T, s *rollout.Snapshot, standing rollout.Standing) {
	if standing.ChangesAt.IsZero() {
		return
	}
	if !standing.ChangesAt.After(s.Now) || standing.Then == standing.Phase {
		t.Fatalf("%+v changes in the past, or not at all", standing)
	}
	for _, at := range []struct {
		time  time.Time
		phase rollout.Phase
	}{{standing.ChangesAt.Add(-1), standing.Phase}, {standing.ChangesAt, standing.Then}} {
		if found := standingsOf(s.At(at.time))[standing.Cluster]; found.Phase != at.phase {
			t.Fatalf("%+v is %s at %s", standing, found.Phase, at.time)
		}
	}
}

func standingsOf(s *rollout.Snapshot) map[string]rollout.Standing {
	standings := map[string]rollout.Standing{}
	for _, standing := range rollout.Explain(s) {
		standings[standing.Cluster] = standing
	}
	return standings
}

// writes reports whether a plan writes a revision to a cluster.
func writes(p *rollout.Plan, cluster string) bool {
	for _, w := range p.Writes {
		if w.Cluster == cluster && w.Revision != nil && w.Revision.Hash == p.Desired.Hash {
			return true
		}
	}
	return false
}

// TestExplain has a case for each Wait.
func TestExplain(t *testing.T) {
	older := func(cluster string, options ...rt.WorkOption) work.Work {
		return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("aaa"), rt.Succeeded(0)}, options...)...)
	}
	ref := func(options ...rt.RefOption) rt.SnapshotOption {
		return rt.Refs(rt.Ref("p1", append(options, rt.Clusters("c1", "c2"))...))
	}
	oneByOne := ref(rt.Progressive(1), rt.Deadline("5m"))
	for name, tc := range map[string]struct {
		options []rt.SnapshotOption
		want    rollout.Standing
	}{
		"a cluster that is next": {
			[]rt.SnapshotOption{ref(), rt.Works(older("c1"))},
			rollout.Standing{Phase: rollout.PhaseWaiting},
		},
		"no free slot": {
			[]rt.SnapshotOption{oneByOne, rt.Works(older("c1"), inFlight("c2"))},
			rollout.Standing{Phase: rollout.PhaseWaiting, WaitsFor: rollout.WaitSlot},
		},
		"a group before its own": {
			[]rt.SnapshotOption{rt.Refs(rt.Ref("p1", rt.PerGroup(), rt.Group("a", "c2"), rt.Group("b", "c1"))), rt.Works(older("c1"), inFlight("c2"))},
			rollout.Standing{Phase: rollout.PhaseWaiting, WaitsFor: rollout.WaitGroup},
		},
		"an agent that has not reported": {
			[]rt.SnapshotOption{oneByOne, rt.Works(rt.Work("c1", rt.AtRevision("bbb")))},
			rollout.Standing{
				Phase: rollout.PhaseInFlight, Since: rt.At(0), ChangesAt: rt.At(5 * minute), Then: rollout.PhaseFailed, WaitsFor: rollout.WaitAgent,
			},
		},
		"a rule that is not satisfied": {
			[]rt.SnapshotOption{oneByOne, rt.Works(rt.Work("c1", rt.AtRevision("bbb"), rt.InFlight(0)))},
			rollout.Standing{
				Phase: rollout.PhaseInFlight, Since: rt.At(0), ChangesAt: rt.At(5 * minute), Then: rollout.PhaseFailed, WaitsFor: rollout.WaitManifests,
			},
		},
		"a success that soaks": {
			[]rt.SnapshotOption{ref(rt.Progressive(1), rt.Soak(2*minute)), rt.Works(rt.Work("c1", rt.AtRevision("bbb"), rt.Succeeded(0), rt.SeenSucceeding(0)))},
			rollout.Standing{
				Phase: rollout.PhaseSoaking, Since: rt.At(0), ChangesAt: rt.At(2 * minute), Then: rollout.PhaseSucceeded, WaitsFor: rollout.WaitSoak,
			},
		},
		"a rejection": {
			[]rt.SnapshotOption{oneByOne, rt.Works(older("c1")), rt.Rejected("c1", 0, minute)},
			rollout.Standing{
				Phase: rollout.PhaseInFlight, Since: rt.At(0), WaitsFor: rollout.WaitAcceptance, Rejection: "no quota in c1", ChangesAt: rt.At(5 * minute), Then: rollout.PhaseFailed,
			},
		},
		"a rejection past the deadline, and no free slot": {
			[]rt.SnapshotOption{
				ref(rt.Progressive(1), rt.Deadline("20s"), rt.MaxFailures(1)), rt.Works(older("c1"), rt.Work("c2", rt.AtRevision("bbb"), rt.WrittenAt(80*second), rt.InFlight(80*second))),
				rt.Rejected("c1", 0, 80*second),
			},
			rollout.Standing{Phase: rollout.PhaseFailed, Since: rt.At(0), WaitsFor: rollout.WaitSlot, Rejection: "no quota in c1", Failed: true, Halts: true},
		},
		"a deletion": {
			[]rt.SnapshotOption{oneByOne, rt.Works(older("c1", rt.DeletedAt(0)))},
			rollout.Standing{
				Phase: rollout.PhaseTerminating, Since: rt.At(0), ChangesAt: rt.At(5 * minute), Then: rollout.PhaseTerminationTimedOut, WaitsFor: rollout.WaitDeletion,
			},
		},
		"a halt": {
			[]rt.SnapshotOption{oneByOne, rt.Works(older("c1")), rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c2"), rt.Works(inFlight("c2"))},
			rollout.Standing{Phase: rollout.PhaseWaiting, WaitsFor: rollout.WaitHalt},
		},
		"an abort": {
			[]rt.SnapshotOption{
				ref(rt.Progressive(1), rt.Deadline("5m"), rt.AbortAll()), rt.Works(older("c1"), inFlight("c2")),
				rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c2"),
			},
			rollout.Standing{Phase: rollout.PhaseWaiting, WaitsFor: rollout.WaitRollback},
		},
		"a pause": {
			[]rt.SnapshotOption{ref(), rt.Works(older("c1")), rt.Paused()},
			rollout.Standing{Phase: rollout.PhaseWaiting, WaitsFor: rollout.WaitResume},
		},
		"a cluster that failed": {
			[]rt.SnapshotOption{oneByOne, rt.Works(inFlight("c1")), rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1")},
			rollout.Standing{Phase: rollout.PhaseFailed, Since: rt.At(0), Failed: true, Halts: true},
		},
		"a cluster that failed, and soaks before its agent is heard": {
			[]rt.SnapshotOption{
				ref(rt.Progressive(1), rt.Deadline("20s"), rt.Soak(20*second)), rt.Heard(0, "c2"),
				rt.Works(rt.Work("c1", rt.AtRevision("bbb"), rt.Succeeded(80*second), rt.SeenSucceeding(80*second))),
				rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1"),
			},
			rollout.Standing{Phase: rollout.PhaseFailed, Since: rt.At(0), ChangesAt: rt.At(100 * second), Then: rollout.PhaseSucceeded, Failed: true, Halts: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := standingsOf(rt.Snapshot(append(tc.options, rt.Now(minute+30*second))...))["c1"]
			tc.want.Cluster, tc.want.Placement = "c1", "p1"
			require.Equal(t, tc.want, found)
		})
	}
}
