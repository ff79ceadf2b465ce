package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestCanaryOnItsWayOut: a group whose only work is being deleted is not an empty group, and later groups wait for it. The time is 10m, the
// deadline is 5m, and the works have the older revision.
func TestCanaryOnItsWayOut(t *testing.T) {
	deadline := rt.Deadline("5m")
	lately, long := rt.DeletedAt(9*minute), rt.DeletedAt(minute)
	canary := rt.InGroup("0/canary")
	// The indices are as in OCM: when the canary is no longer selected, production gets its index.
	selected := []rt.RefOption{rt.Group("canary", "k1"), rt.Group("production", "c1", "c2")}
	deselected := []rt.RefOption{rt.Group("production", "c1", "c2")}
	for name, tc := range map[string]struct {
		strategy []rt.RefOption
		groups   []rt.RefOption
		work     work.Work
		want     string
		stalled  bool
		leaving  []string
		failing  []string
	}{
		"PerGroup, selected, tolerated": {strategy: []rt.RefOption{rt.PerGroup(), deadline, rt.MaxFailures(1)}, groups: selected, work: old("k1", long, canary), want: "c1 c2", failing: []string{"k1"}},
		"PerGroup, deselected":          {strategy: []rt.RefOption{rt.PerGroup(), deadline}, groups: deselected, work: old("k1", lately, canary), leaving: []string{"k1"}},
		"PerGroup, deselected, None":    {strategy: []rt.RefOption{rt.PerGroup()}, groups: deselected, work: old("k1", long, canary), leaving: []string{"k1"}},
		"PerGroup, deselected just now": {strategy: []rt.RefOption{rt.PerGroup(), deadline}, groups: deselected, work: old("k1", canary, rt.Unselected(10*minute)), leaving: []string{"k1"}},
		"PerGroup, another canary": {
			strategy: []rt.RefOption{rt.PerGroup(), deadline}, groups: []rt.RefOption{rt.Group("canary", "k2"), rt.Group("production", "c1", "c2")},
			work: old("k1", long, canary), want: "k2",
		},
		"PerGroup, of a later group":               {strategy: []rt.RefOption{rt.PerGroup(), deadline}, groups: deselected, work: old("k1", lately, rt.InGroup("5/last")), want: "c1 c2", leaving: []string{"k1"}},
		"mandatory, deselected":                    {strategy: []rt.RefOption{rt.Progressive(2), deadline, rt.MaxFailures(9), rt.Mandatory("canary")}, groups: deselected, work: old("k1", lately, canary), leaving: []string{"k1"}},
		"mandatory, deselected, too long":          {strategy: []rt.RefOption{rt.Progressive(2), deadline, rt.MaxFailures(9), rt.Mandatory("canary")}, groups: deselected, work: old("k1", long, canary), stalled: true, failing: []string{"k1"}},
		"Progressive, selected: it keeps its slot": {strategy: []rt.RefOption{rt.Progressive(2), deadline}, groups: selected, work: old("k1", lately), want: "c1", leaving: []string{"k1"}},
		"Progressive, taken over from another ref": {strategy: []rt.RefOption{rt.Progressive(2), deadline}, groups: selected, work: old("k1", lately, rt.OfPlacement("p0")), want: "c1 c2", leaving: []string{"k1"}},
		"Progressive, deselected: it had no slot":  {strategy: []rt.RefOption{rt.Progressive(2), deadline}, groups: deselected, work: old("k1", lately, canary), want: "c1 c2"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := rt.Ref("p1", slices.Concat(tc.strategy, []rt.RefOption{rt.AbortAll()}, tc.groups)...)
			p := decide(rt.Now(10*minute), rt.Refs(ref), rt.Works(tc.work, old("c1"), old("c2")))
			if got := started(p); got != tc.want {
				t.Errorf("started %q, want %q", got, tc.want)
			}
			var failing []string
			for _, f := range p.Failing {
				failing = append(failing, f.Cluster)
			}
			if p.Stalled != tc.stalled || p.Abort != nil || p.Refs[0].Failed {
				t.Errorf("stalled %v, want %v; abort %v: it never had the revision, and fails nothing", p.Stalled, tc.stalled, p.Abort)
			}
			require.Equal(t, map[string][]string{"leaving": tc.leaving, "failing": tc.failing}, map[string][]string{"leaving": p.Refs[0].Terminating, "failing": failing})
		})
	}
}

// TestDeletionThatHangs: the deadline runs from the deletion, and fires exactly on time, but not before the agents have had time to
// report.
func TestDeletionThatHangs(t *testing.T) {
	for name, tc := range map[string]struct {
		now, since rt.SnapshotOption
		work       work.Work
		phase      rollout.Phase
		recheck    string
	}{
		"in flight there when it was deleted: its own deadline": {
			rt.Now(9 * minute), rt.ConnectedSince(-hour), rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(4*minute), rt.InFlight(4*minute), rt.DeletedAt(6*minute)), rollout.PhaseFailed, "0s",
		},
		"in flight there since it was deleted": {
			rt.Now(9 * minute), rt.ConnectedSince(-hour), inFlight("c1", rt.WrittenAt(0), rt.InFlight(8*minute), rt.DeletedAt(4*minute)), rollout.PhaseFailed, "0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(tc.now, tc.since, rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.Clusters("c1"))), rt.Works(tc.work))
			if p.Phases()["c1"] != tc.phase || p.Recheck.String() != tc.recheck {
				t.Errorf("%s, again after %s; want %s, %s", p.Phases()["c1"], p.Recheck, tc.phase, tc.recheck)
			}
		})
	}
}

// TestStuckIsNamedOnce: if a work counts for the ref in its label, the ref that waits for its deletion does not name it again.
func TestStuckIsNamedOnce(t *testing.T) {
	deadline := rt.Deadline("5m")
	p := decide(rt.Now(10*minute), rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1"), rt.Works(failed("c1", rt.DeletedAt(3*minute))),
		rt.Refs(rt.Ref("p1", deadline), rt.Ref("p2", deadline, rt.Clusters("c1"))))
	if got := fmt.Sprint(p.Failing[0].Phase, " ", len(p.Failing)); got != "Failed 1" || !p.Stalled {
		t.Errorf("failing %+v, stalled %v", p.Failing, p.Stalled)
	}
}
