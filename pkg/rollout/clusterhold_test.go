package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestClusterHold: nothing is started on a cluster on hold, and the rollout completes without it. A closed window keeps the rollout in
// progress.
func TestClusterHold(t *testing.T) {
	hold := placement.Hold{Reason: "maintenance"}
	opens := func(at time.Duration) placement.Hold { return placement.Hold{Opens: rt.At(at)} }
	two := rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1", "c2"))
	skip := func(ref *placement.Ref) { ref.Strategy.UnavailableClusters = workv1alpha1.SkipUnavailable }
	for name, tc := range map[string]struct {
		ref      placement.Ref
		works    rt.SnapshotOption
		holds    map[string]placement.Hold
		more     rt.SnapshotOption
		written  []string
		complete bool
		phase    rollout.Phase
		recheck  time.Duration
	}{
		"a hold, and the others complete": {ref: two, works: rt.Works(old("c1"), done("c2")), holds: map[string]placement.Hold{"c1": hold}, complete: true, phase: rollout.PhaseHeld},
		"a hold, and the slot goes to the next": {
			ref: two, works: rt.Works(old("c1"), old("c2")), holds: map[string]placement.Hold{"c1": hold}, written: []string{"c2"}, phase: rollout.PhaseHeld,
		},
		"all on hold": {ref: rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1")), works: rt.Works(old("c1")), holds: map[string]placement.Hold{"c1": hold}, phase: rollout.PhaseHeld},
		"a closed window": {
			ref: two, works: rt.Works(old("c1"), done("c2")), holds: map[string]placement.Hold{"c1": opens(20 * minute)}, phase: rollout.PhaseClosed, recheck: 10 * minute,
		},
		"it has opened": {
			ref: two, works: rt.Works(old("c1"), done("c2")), holds: map[string]placement.Hold{"c1": opens(10 * minute)}, written: []string{"c1"}, phase: rollout.PhaseWaiting,
		},
		"a closed window takes no slot": {
			ref: two, works: rt.Works(old("c1"), old("c2")), holds: map[string]placement.Hold{"c1": opens(20 * minute)}, written: []string{"c2"}, phase: rollout.PhaseClosed, recheck: 10 * minute,
		},
		"groups pass a hold over": {
			ref:   rt.Ref("p1", rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c2")),
			works: rt.Works(old("c1"), old("c2")), holds: map[string]placement.Hold{"c1": hold}, written: []string{"c2"}, phase: rollout.PhaseHeld,
		},
		"groups wait for a window": {
			ref:   rt.Ref("p1", rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c2")),
			works: rt.Works(old("c1"), old("c2")), holds: map[string]placement.Hold{"c1": opens(20 * minute)}, phase: rollout.PhaseClosed, recheck: 10 * minute,
		},
		"a wave that runs goes on": {ref: two, works: rt.Works(done("c1"), old("c2")), holds: map[string]placement.Hold{"c1": hold}, written: []string{"c2"}, phase: rollout.PhaseSucceeded},
		"skipped first": {
			ref: rt.Ref("p1", rt.Progressive(1), skip, rt.Clusters("c1", "c2")), works: rt.Works(old("c1"), done("c2")),
			holds: map[string]placement.Hold{"c1": opens(20 * minute)}, more: rt.Unavailable(0, "c1"), complete: true, phase: rollout.PhaseSkipped,
		},
		"a user retries it": {
			ref: two, works: rt.Works(old("c1"), done("c2")), holds: map[string]placement.Hold{"c1": hold},
			more:    func(s *rollout.Snapshot) { s.Retried = map[string]time.Time{"c1": rt.At(9 * minute)} },
			written: []string{"c1"}, phase: rollout.PhaseWaiting,
		},
		"an abort": {
			ref: two, works: rt.Works(done("c1"), old("c2")), holds: map[string]placement.Hold{"c1": hold},
			more: func(s *rollout.Snapshot) { s.Aborted = true }, written: []string{"c1"}, phase: rollout.PhaseSucceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{
				rt.Now(10 * minute), rt.Refs(tc.ref), tc.works, func(s *rollout.Snapshot) { s.Holds = tc.holds },
			}
			if tc.more != nil {
				options = append(options, tc.more)
			}
			p := decide(options...)
			var written []string
			for i := range p.Writes {
				written = append(written, p.Writes[i].Cluster)
			}
			if !slices.Equal(written, tc.written) || p.Complete != tc.complete || p.Stalled || p.Counts[tc.phase] == 0 {
				t.Errorf("writes %v, complete %v, stalled %v: %+v", written, p.Complete, p.Stalled, p.Refs)
			}
			listed := tc.phase == rollout.PhaseHeld || tc.phase == rollout.PhaseClosed
			if len(p.OnHold) > 0 != listed {
				t.Errorf("held are %v", p.OnHold)
			}
			if tc.recheck != 0 && p.Recheck != tc.recheck {
				t.Errorf("it looks again after %s", p.Recheck)
			}
		})
	}
}

// TestReturnReachesPassedOver: the template has returned to the current revision. A cluster that has left that revision gets it, even if
// the cluster is on hold or skipped. The rollout is not complete before the cluster has it.
func TestReturnReachesPassedOver(t *testing.T) {
	skip := func(ref *placement.Ref) { ref.Strategy.UnavailableClusters = workv1alpha1.SkipUnavailable }
	for name, passedOver := range map[string]rt.SnapshotOption{
		"hold":    func(s *rollout.Snapshot) { s.Holds = map[string]placement.Hold{"c1": {Reason: "maintenance"}} },
		"skipped": rt.Unavailable(0, "c1"),
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(
				rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Progressive(1), skip, rt.Clusters("c1", "c2"))), rt.Works(old("c1"), done("c2")), passedOver,
				func(s *rollout.Snapshot) { s.Current, s.Update.Underway = s.Update, true },
			)
			require.False(t, p.Complete)
			require.Len(t, p.Writes, 1)
			require.Equal(t, "c1", p.Writes[0].Cluster)
		})
	}
}

// TestPassedOverClustersWaitForTheirGroup: a rollout does not complete before a group is approved, even if all clusters after the group
// are on hold.
func TestPassedOverClustersWaitForTheirGroup(t *testing.T) {
	holds := map[string]placement.Hold{}
	for _, cluster := range []string{"c3", "c4", "c5", "c6"} {
		holds[cluster] = placement.Hold{Reason: "maintenance"}
	}
	look := func(approved bool) *rollout.Plan {
		return decide(rt.Now(10*minute), rt.Refs(ringed(rt.Progressive(6), rt.Listed(rt.Ring("a"), rt.Ring("b", 0, required)))), fleet("dd oo oo"),
			func(s *rollout.Snapshot) { s.Holds, s.Approved = holds, map[string]bool{"b": approved} })
	}
	require.False(t, look(false).Complete)
	require.True(t, look(true).Complete)
}
