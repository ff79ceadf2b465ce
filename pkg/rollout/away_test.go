package rollout_test

import (
	"slices"
	"testing"
	"time"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// away returns the names of the clusters that are away.
func away(p *rollout.Plan) []string {
	var names []string
	for i := range p.Away {
		names = append(names, p.Away[i].Cluster)
	}
	return names
}

func deletes(p *rollout.Plan) []string {
	var names []string
	for i := range p.Deletes {
		names = append(names, p.Deletes[i].Work.Cluster())
	}
	return names
}

// TestAwayKeepsItsWork: a work whose cluster is away is not deleted before the cluster has been available for a minute.
func TestAwayKeepsItsWork(t *testing.T) {
	one := rt.Ref("p1", rt.Clusters("c1"))
	for name, tc := range map[string]struct {
		option  rt.SnapshotOption
		more    rt.SnapshotOption
		deleted bool
		recheck time.Duration
	}{
		"unavailable":                  {option: rt.Unavailable(0, "c2")},
		"available again for 59s":      {option: rt.AvailableAgain(10*minute-59*second, "c2"), recheck: second},
		"available again for a minute": {option: rt.AvailableAgain(9*minute, "c2"), deleted: true},
		"this process has just begun":  {option: rt.AvailableAgain(-24*time.Hour, "c2"), more: rt.ConnectedSince(10*minute - 6*second), recheck: 54 * second},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(one), rt.Works(done("c1"), done("c2", rt.Unselected(0))), tc.option}
			if tc.more != nil {
				options = append(options, tc.more)
			}
			p := decide(options...)
			if deleted := slices.Contains(deletes(p), "c2"); deleted != tc.deleted || slices.Contains(away(p), "c2") == tc.deleted {
				t.Errorf("deleted %v, away %v; want deleted %v", deletes(p), away(p), tc.deleted)
			}
			if p.Recheck != tc.recheck {
				t.Errorf("looks again after %s, want %s", p.Recheck, tc.recheck)
			}
		})
	}
}

// TestAwayStaysWithItsRef: a work whose cluster is away is not handed over to a placementRef that still selects the cluster.
func TestAwayStaysWithItsRef(t *testing.T) {
	refs := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Clusters("c1")), rt.Ref("p2", rt.Deadline("20m"), rt.Clusters("c2", "c3")))
	works := rt.Works(old("c1"), rt.Work("c2", rt.AtRevision("bbb"), rt.OfPlacement("p1"), rt.InGroup("0/")), done("c3", rt.OfPlacement("p2")))
	p := decide(rt.Now(10*minute), refs, works, rt.Unavailable(minute, "c2"))
	if !p.Refs[0].Failed || p.Refs[1].Failed || p.Refs[1].Selected != 1 || len(texts(p)) > 0 || len(p.Away) != 1 || !p.Away[0].Counts {
		t.Errorf("%+v, writes %v, away %+v", p.Refs, texts(p), p.Away)
	}
	if p.Records.Failures["c2"].Placement != "p1" {
		t.Errorf("it fails for the placementRef that lost it: %+v", p.Records.Failures)
	}
	p = decide(rt.Now(10*minute), refs, works, rt.AvailableAgain(9*minute, "c2"))
	if p.Refs[0].Failed || p.Refs[1].Selected != 2 || !slices.ContainsFunc(texts(p), func(text string) bool {
		return text == "Relabel c2: its cluster belongs to p2 now" || text == "Relabel c2: another placementRef owns it"
	}) && len(p.Writes) == 0 {
		t.Errorf("%+v, writes %v", p.Refs, texts(p))
	}
}

// TestAwayCounts: a cluster that is away counts only if it has the update revision.
func TestAwayCounts(t *testing.T) {
	ref := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append([]rt.RefOption{rt.Progressive(1), rt.Deadline("20m"), rt.AbortAll()}, options...)...)
	}
	gone := rt.Unselected(0)
	for name, tc := range map[string]struct {
		ref               placement.Ref
		works             []work.Work
		at                time.Duration
		started           string
		failed, abort     bool
		complete, stalled bool
	}{
		"in flight: completion waits": {ref: ref(rt.Clusters("c1")), works: []work.Work{done("c1"), inFlight("c2", gone)}, at: 10 * minute},
		"overdue: it fails":           {ref: ref(rt.Clusters("c1")), works: []work.Work{old("c1"), inFlight("c2", gone)}, at: 30 * minute, failed: true, abort: true},
		"overdue, and tolerated":      {ref: ref(rt.Clusters("c1"), rt.MaxFailures(1)), works: []work.Work{done("c1"), inFlight("c2", gone)}, at: 30 * minute, complete: true},
		"overdue, without AbortAll": {
			ref: rt.Ref("p1", rt.Progressive(1), rt.Deadline("20m"), rt.Clusters("c1")), works: []work.Work{done("c1"), inFlight("c2", gone)}, at: 30 * minute,
			failed: true, stalled: true,
		},
		"it had succeeded":      {ref: ref(rt.Clusters("c1")), works: []work.Work{done("c1"), done("c2", gone)}, at: 30 * minute, complete: true},
		"not started: no slot":  {ref: ref(rt.Clusters("c1")), works: []work.Work{old("c1"), old("c2", gone)}, at: 10 * minute, started: "c1"},
		"not started: no group": {ref: rt.Ref("p1", rt.PerGroup(), rt.Deadline("20m"), rt.GroupAt(1, "b", "c1")), works: []work.Work{old("c1"), old("c2", gone, rt.InGroup("0/a"))}, at: 10 * minute, started: "c1"},
		"in flight in a group before": {
			ref:   rt.Ref("p1", rt.PerGroup(), rt.Deadline("20m"), rt.GroupAt(1, "b", "c1")),
			works: []work.Work{old("c1"), inFlight("c2", gone, rt.InGroup("0/a"))}, at: 10 * minute,
		},
		"not awaited by a Placement with slices": {ref: ref(rt.Clusters("c1"), rt.Slices(2)), works: []work.Work{done("c1"), old("c2", gone)}, at: 30 * minute, complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(tc.at), rt.Refs(tc.ref), rt.Works(tc.works...), rt.Unavailable(0, "c2"))
			if len(p.Deletes) > 0 || len(p.Away) != 1 {
				t.Errorf("deleted %v, away %v", deletes(p), away(p))
			}
			if started(p) != tc.started || p.Refs[0].Failed != tc.failed || (p.Abort != nil) != tc.abort || p.Complete != tc.complete || p.Stalled != tc.stalled {
				t.Errorf("started %q, failed %v, abort %v, complete %v, stalled %v", started(p), p.Refs[0].Failed, p.Abort, p.Complete, p.Stalled)
			}
			if _, recorded := p.Records.Failures["c2"]; recorded != (tc.failed || tc.at == 30*minute && tc.works[1].At(rt.Revision("bbb")) && tc.works[1].SucceededSince.IsZero()) {
				t.Errorf("records %+v", p.Records.Failures)
			}
		})
	}
}

// TestRelapseWhileAway: the rollout stays complete if a cluster that had succeeded is degraded past its deadline while it is away.
func TestRelapseWhileAway(t *testing.T) {
	relapsed := broken("c2", rt.Unselected(0), rt.SettledAt(9*minute))
	ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline("20m"), rt.AbortAll(), rt.Clusters("c1"))
	p := decide(rt.Now(hour), rt.Refs(ref), rt.Works(done("c1"), relapsed), rt.Unavailable(0, "c2"))
	if !p.Complete || len(p.Failing) > 0 {
		t.Errorf("complete %v, failing %+v", p.Complete, p.Failing)
	}
}

// TestAwayIsRestored: an abort writes the work of a cluster that is away, regardless of its revision.
func TestAwayIsRestored(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Aborted(), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), rt.Unavailable(0, "c2", "c3"),
		rt.Works(old("c1"), inFlight("c2", rt.Unselected(0)), old("c3", rt.Unselected(0))))
	if !slices.Equal(texts(p), []string{"Update c2 to aaa: aborted"}) || len(p.Away) != 2 {
		t.Errorf("writes %v, away %v", texts(p), away(p))
	}
	if p.Restorable() != 3 || p.Confirmed != 2 || !slices.Equal(p.AwaitedAway, []string{"c2"}) {
		t.Errorf("%d of %d confirmed, awaited %v", p.Confirmed, p.Restorable(), p.AwaitedAway)
	}
}

// TestAwayUnheard: a cluster was away before a restart, and its agent has not reported its work over a broker yet. It stays away until its
// ManagedCluster is deleted or has been available for a minute, and it confirms no abort.
func TestAwayUnheard(t *testing.T) {
	unheard := func(s *rollout.Snapshot) { s.AwayUnheard = []rollout.AwayCluster{{Cluster: "c2", Placement: "p1"}} }
	for name, tc := range map[string]struct {
		option rt.SnapshotOption
		away   bool
	}{
		"unavailable":                  {option: rt.Unavailable(0, "c2"), away: true},
		"available again for 59s":      {option: rt.AvailableAgain(10*minute-59*second, "c2"), away: true},
		"available again for a minute": {option: rt.AvailableAgain(9*minute, "c2")},
		"its ManagedCluster is gone":   {option: rt.Unavailable(0, "c9")},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), rt.Works(old("c1")), unheard, tc.option}
			p := decide(append(options, rt.Aborted())...)
			if slices.Equal(away(p), []string{"c2"}) != tc.away || (p.Confirmed == p.Restorable()) == tc.away {
				t.Errorf("aborted: away %v, %d of %d confirmed", away(p), p.Confirmed, p.Restorable())
			}
			if p = decide(options...); slices.Equal(away(p), []string{"c2"}) != tc.away || len(p.AwaitedAway) > 0 {
				t.Errorf("rolling out: away %v, awaited %v", away(p), p.AwaitedAway)
			}
		})
	}
}

// TestDeselectedFails: a cluster that was started, never succeeded, and was then deselected fails at its deadline while its work exists.
func TestDeselectedFails(t *testing.T) {
	for name, tc := range map[string]struct {
		work   work.Work
		failed bool
	}{
		"in flight":               {work: rt.Work("c2", rt.AtRevision("bbb"), rt.Deleting()), failed: true},
		"its success had settled": {work: rt.Work("c2", rt.AtRevision("bbb"), rt.Deleting(), func(w *work.Work) { w.SettledAt = rt.At(minute) })},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(30*minute), rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Clusters("c1"))), rt.Works(old("c1"), tc.work))
			if p.Refs[0].Failed != tc.failed {
				t.Errorf("failed %v, records %+v", p.Refs[0].Failed, p.Records.Failures)
			}
		})
	}
}
