package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// writtenClusters are the clusters that a plan writes the revision to, in its order.
func writtenClusters(p *rollout.Plan) []string {
	var clusters []string
	for i := range p.Writes {
		if !p.Writes[i].StandIn {
			clusters = append(clusters, p.Writes[i].Cluster)
		}
	}
	return clusters
}

// TestRefused says who comes next, and how things stand, where the API server refuses works (R11, R14). It is minute 1, and refused writes were
// tried a moment ago unless the case says otherwise.
func TestRefused(t *testing.T) {
	const later = 2 * minute
	four := rt.Clusters("c1", "c2", "c3", "c4")
	deadline, one := rt.Deadline("5m"), rt.MaxFailures(1)
	twoGroups := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append(options, rt.Group("a", "c1"), rt.Group("b", "c3", "c4"))...)
	}
	refused := func(retryAt time.Duration, clusters ...string) rt.SnapshotOption {
		return func(s *rollout.Snapshot) {
			for _, cluster := range clusters {
				rt.Rejected(cluster, 0, min(retryAt, s.Now.Sub(rt.Epoch)))(s)
			}
		}
	}
	for name, tc := range map[string]struct {
		ref             placement.Ref
		now             time.Duration
		refused         rt.SnapshotOption
		works           []work.Work
		written         []string
		halted, stalled bool
		failed          bool
	}{
		"the next one gets its turn":        {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), refused: refused(later, "c1"), written: []string{"c2"}},
		"one takes no slot beside another":  {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), refused: refused(later, "c1"), works: []work.Work{inFlight("c2")}},
		"more than tolerated halt":          {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), refused: refused(later, "c1", "c2"), halted: true, stalled: true},
		"one in flight is awaited":          {ref: rt.Ref("p1", rt.Progressive(2), deadline, four), refused: refused(later, "c1"), works: []work.Work{inFlight("c2")}, halted: true},
		"a degraded one counts beside it":   {ref: rt.Ref("p1", rt.Progressive(2), deadline, one, four), refused: refused(later, "c1"), works: []work.Work{broken("c2")}, halted: true},
		"All: the others are written":       {ref: rt.Ref("p1", deadline, one, four), refused: refused(later, "c1"), written: []string{"c2", "c3", "c4"}},
		"retried first, in its own slot":    {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), refused: refused(0, "c3"), written: []string{"c3"}},
		"retried beside the next one":       {ref: rt.Ref("p1", rt.Progressive(2), deadline, one, four), refused: refused(0, "c3"), written: []string{"c3", "c1"}},
		"no slot to be retried in":          {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), refused: refused(0, "c1"), works: []work.Work{inFlight("c2")}},
		"halted by itself, it is retried":   {ref: rt.Ref("p1", rt.Progressive(1), deadline, four), refused: refused(0, "c1"), written: []string{"c1"}, halted: true, stalled: true},
		"halted by others, it is not":       {ref: rt.Ref("p1", rt.Progressive(2), four), refused: refused(0, "c1"), works: []work.Work{broken("c2")}, halted: true, stalled: true},
		"all others succeeded":              {ref: rt.Ref("p1", rt.Progressive(2), rt.Deadline("20m"), one, four), now: 10 * minute, refused: refused(11*minute, "c1"), works: []work.Work{done("c2"), done("c3"), done("c4")}, stalled: true},
		"the deadline has come":             {ref: rt.Ref("p1", rt.Progressive(1), deadline, four), now: 5 * minute, refused: refused(6*minute, "c1"), halted: true, stalled: true, failed: true},
		"failed and tolerated":              {ref: rt.Ref("p1", rt.Progressive(1), deadline, one, four), now: 5 * minute, refused: refused(6*minute, "c1"), written: []string{"c2"}},
		"failed, and retried":               {ref: rt.Ref("p1", rt.Progressive(1), deadline, four), now: 5 * minute, refused: refused(0, "c1"), written: []string{"c1"}, halted: true, stalled: true},
		"no deadline, none fails":           {ref: rt.Ref("p1", rt.Progressive(1), four), now: hour, refused: refused(2*hour, "c1"), halted: true, stalled: true},
		"PerGroup: it keeps its turn":       {ref: twoGroups(rt.PerGroup(), deadline, one), refused: refused(later, "c1"), stalled: true},
		"PerGroup: until it has failed":     {ref: twoGroups(rt.PerGroup(), deadline, one), now: 5 * minute, refused: refused(6*minute, "c1"), written: []string{"c3", "c4"}},
		"PerGroup: without a deadline":      {ref: twoGroups(rt.PerGroup(), one), refused: refused(later, "c1"), written: []string{"c3", "c4"}},
		"PerGroup: retried in its turn":     {ref: twoGroups(rt.PerGroup(), deadline, one), refused: refused(0, "c1"), written: []string{"c1"}, stalled: true},
		"PerGroup: not before an older one": {ref: twoGroups(rt.PerGroup(), deadline, one), refused: refused(0, "c3"), written: []string{"c1"}},
		"PerGroup: what comes before it":    {ref: twoGroups(rt.PerGroup(), deadline), refused: refused(later, "c3"), written: []string{"c1"}, halted: true},
		"PerGroup: not what comes after":    {ref: twoGroups(rt.PerGroup()), refused: refused(later, "c1"), halted: true, stalled: true},
		"PerGroup: nor what is beside it":   {ref: twoGroups(rt.PerGroup()), now: 10 * minute, refused: refused(11*minute, "c4"), works: []work.Work{done("c1")}, halted: true, stalled: true},
		"a mandatory group comes before":    {ref: twoGroups(rt.Progressive(2), deadline, rt.Mandatory("a")), refused: refused(later, "c3"), written: []string{"c1"}, halted: true},
		"a mandatory group is not passed":   {ref: twoGroups(rt.PerGroup(), deadline, one, rt.Mandatory("a")), now: 5 * minute, refused: refused(6*minute, "c1"), halted: true, stalled: true, failed: true},
		"a mandatory group is retried":      {ref: twoGroups(rt.Progressive(1), deadline, one, rt.Mandatory("a")), refused: refused(0, "c1"), written: []string{"c1"}, halted: true, stalled: true},
		"who has the revision is not":       {ref: rt.Ref("p1", rt.Progressive(4), deadline, four), refused: refused(later, "c1"), works: []work.Work{inFlight("c1")}, written: []string{"c2", "c3", "c4"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := minute
			if tc.now != 0 {
				now = tc.now
			}
			p := decide(rt.Now(now), rt.Refs(tc.ref), tc.refused, rt.Works(tc.works...))
			require.Equal(t, tc.written, writtenClusters(p), "written")
			if p.Refs[0].Halted != tc.halted || p.Refs[0].Failed != tc.failed || p.Stalled != tc.stalled {
				t.Errorf("halted %v, failed %v, stalled %v; want %v, %v, %v; %v", p.Refs[0].Halted, p.Refs[0].Failed, p.Stalled, tc.halted, tc.failed, tc.stalled, p.Phases())
			}
		})
	}
}

// A refused work leads to an abort like one that does not succeed, and the reason says why (R12); its deadline waits until the hub could
// hear the API server (R11). Everything that changes by itself is looked at in time.
func TestRefusedLeadsToAnAbort(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"))
	refused := rt.Rejected("c1", 0, 5*minute)
	p := decide(rt.Now(minute), rt.Refs(ref), rt.Rejected("c1", 0, minute), rt.Works(done("c2")))
	if p.Abort != nil || p.Recheck != 50*second || p.Phases()["c1"] != rollout.PhaseRejected {
		t.Errorf("abort %v, again after %s, %v", p.Abort, p.Recheck, p.Phases())
	}
	// The last answer may not be true any more: the write is tried once more before it counts (R11).
	p = decide(rt.Now(5*minute), rt.Refs(ref), rt.Rejected("c1", 0, 4*minute+30*second), rt.Works(done("c2")))
	require.Nil(t, p.Abort)
	require.Equal(t, []string{"c1"}, writtenClusters(p), "written")
	if p := decide(rt.Now(5*minute), rt.ConnectedSince(4*minute), rt.Refs(ref), refused, rt.Works(done("c2"))); p.Abort != nil {
		t.Error("nobody could be heard, and it is aborted")
	}
	p = decide(rt.Now(5*minute), rt.Refs(ref), refused, rt.Works(done("c2")))
	const reason = "placement p1: 1 of 2 clusters failed (c1): not successful within progressDeadline 5m0s (the API server rejects the ManifestWorks of 1 cluster (c1): no quota in c1), " +
		"maxFailures is 0"
	if p.Abort == nil || p.Abort.Reason != reason {
		t.Errorf("abort %v, want %s", p.Abort, reason)
	}
}

// Who leaves its slot to a retry still wants to be written: it is named, so that what is known of its writes is kept (P7).
func TestPostponedByARetry(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(2), rt.MaxFailures(1), rt.Clusters("c1", "c2", "c3", "c4"))
	p := decide(rt.Now(minute), rt.Refs(ref), rt.Rejected("c4", 0, 0))
	require.Equal(t, []string{"c4", "c1"}, writtenClusters(p), "written")
	require.Equal(t, []string{"c2"}, p.Postponed, "postponed")
}

// R4: what can't be written back does not hold the abort up, and is tried all the same.
func TestGoBackWithoutTheRefused(t *testing.T) {
	p := decide(rt.Aborted(), rt.Now(minute), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2", "c3"))), rt.Rejected("c1", 0, 2*minute),
		rt.Works(failed("c1"), done("c2"), old("c3")))
	require.Equal(t, []string{"c1", "c2"}, writtenClusters(p), "written")
	require.Equal(t, 1, p.Behind)
}

// R6: what an older hub wrote and is the revision already gets the hash without a strategy, also where that was refused at first.
func TestRefusedAdoption(t *testing.T) {
	unlabelled := rt.Work("c1", rt.Holds("bbb"))
	ref := rt.Ref("p1", rt.Progressive(1), rt.MaxFailures(1), rt.Clusters("c1", "c2"))
	for retryAt, wanted := range map[time.Duration][]rollout.Action{2 * minute: {rollout.Create}, 0: {rollout.Adopt, rollout.Create}} {
		p := decide(rt.Now(minute), rt.Refs(ref), rt.Rejected("c1", 0, min(retryAt, minute)), rt.Works(unlabelled))
		var actions []rollout.Action
		for i := range p.Writes {
			actions = append(actions, p.Writes[i].Action)
		}
		require.Equal(t, wanted, actions, "retried at %s", retryAt)
	}
}

// TestRejectedIsNotAssumed: a rejected write fails by a try after its deadline. While other failures halt the placementRef, no try is
// made, and a report that assumes that deadlines have fired must not count the cluster as failed: it would take that back later (P7, R11).
func TestRejectedIsNotAssumed(t *testing.T) {
	halted := rt.Ref("p1", rt.Deadline("30s"), rt.Clusters("c1", "c2"))
	s := rt.Snapshot(rt.Now(minute+second), rt.ConnectedSince(30*second), rt.Refs(halted), rt.Rejected("c2", 0, 55*second),
		rt.Works(rt.Work("c1", rt.AtRevision("bbb"))))
	for name, asked := range map[string]*rollout.Snapshot{"as it is": s, "settled": s.AssumeSettled()} {
		p := rollout.Decide(asked)
		if got := p.Phases(); got["c1"] != rollout.PhaseFailed || got["c2"] != rollout.PhaseRejected || len(p.Writes) > 0 {
			t.Errorf("%s: %v, writes %v", name, got, p.Writes)
		}
		if !p.RetriesHalted {
			t.Errorf("%s: the rejected write is not retried, and nobody says so", name)
		}
	}
}
