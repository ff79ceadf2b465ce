package rollout_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// writtenClusters returns the clusters to which a plan writes the revision, in its order.
func writtenClusters(p *rollout.Plan) []string {
	var clusters []string
	for i := range p.Writes {
		if !p.Writes[i].StandIn {
			clusters = append(clusters, p.Writes[i].Cluster)
		}
	}
	return clusters
}

// TestRejected: a cluster whose work the API server rejects is in flight. Each plan writes it again. It takes a slot, keeps its turn, and
// halts nothing. It fails at its deadline if a later attempt was rejected too. The time is minute 1 unless the case sets another one.
func TestRejected(t *testing.T) {
	four := rt.Clusters("c1", "c2", "c3", "c4")
	deadline, one := rt.Deadline("5m"), rt.MaxFailures(1)
	batch := func(n int, options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append([]rt.RefOption{rt.Progressive(n), four}, options...)...)
	}
	groups := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append([]rt.RefOption{rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c3", "c4")}, options...)...)
	}
	for name, tc := range map[string]struct {
		ref             placement.Ref
		now             time.Duration
		rejected        string
		works           []work.Work
		written         []string
		halted, stalled bool
		failed          bool
	}{
		"it has failed":                    {ref: batch(1, deadline), now: 5 * minute, rejected: "c1", written: []string{"c1"}, halted: true, stalled: true, failed: true},
		"it has failed and is tolerated":   {ref: batch(1, deadline, one), now: 5 * minute, rejected: "c1", written: []string{"c2"}},
		"it has failed, a slot is free":    {ref: batch(2, deadline, one), now: 5 * minute, rejected: "c1", works: []work.Work{inFlight("c2"), done("c3"), done("c4")}, written: []string{"c1"}},
		"it has failed, no slot is free":   {ref: batch(1, deadline, one), now: 5 * minute, rejected: "c1", works: []work.Work{inFlight("c2")}},
		"later groups follow a failed one": {ref: groups(deadline, one), now: 5 * minute, rejected: "c1", written: []string{"c3", "c4", "c1"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := max(minute, tc.now)
			p := decide(rt.Now(now), rt.Refs(tc.ref), rt.Rejected(tc.rejected, 0, now), rt.Works(tc.works...))
			require.Equal(t, tc.written, writtenClusters(p), "written")
			if p.Refs[0].Halted != tc.halted || p.Refs[0].Failed != tc.failed || p.Stalled != tc.stalled {
				t.Errorf("halted %v, failed %v, stalled %v; want %v, %v, %v; %v", p.Refs[0].Halted, p.Refs[0].Failed, p.Stalled, tc.halted, tc.failed, tc.stalled, p.Phases())
			}
		})
	}
}

// TestRecordOfARejection: the status holds whole seconds, but no deadline fires too early because of the rounding.
func TestRecordOfARejection(t *testing.T) {
	since := 300 * time.Millisecond
	p := decide(rt.Now(minute), rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.Clusters("c1"))), rt.Rejected("c1", since, minute))
	require.Equal(t, rt.At(time.Second), p.Records.Rejections["c1"].Since)
}

// TestLostRejection: a process that starts before the deadline uses the recorded rejection, and a user's retry sets a new deadline.
func TestLostRejection(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("5m"), rt.Clusters("c1"))
	record := func(s *rollout.Snapshot) {
		s.Records.Rejections = map[string]rollout.Failure{"c1": {Placement: "p1", Since: rt.At(0), Reason: workv1alpha1.FailureRejected, Message: "no quota"}}
	}
	p := decide(rt.Now(5*minute), rt.Refs(ref), record)
	require.Equal(t, rollout.PhaseInFlight, p.Phases()["c1"], "this process has not tried it")
	require.True(t, p.Writes[0].LastTry)
	p = decide(rt.Now(5*minute), rt.Refs(ref), record, rt.Rejected("c1", 5*minute, 5*minute))
	require.Equal(t, rollout.PhaseFailed, p.Phases()["c1"])
	p = decide(rt.Now(6*minute), rt.Refs(ref), rt.Rejected("c1", 0, 6*minute), func(s *rollout.Snapshot) { s.RetriedUntil = rt.At(2 * minute) })
	require.Equal(t, rollout.PhaseInFlight, p.Phases()["c1"], "it was retried")
	require.Equal(t, minute, p.Recheck)
}

// A rejected work leads to an abort, like a work that does not succeed, and the reason names the rejection. Its deadline does not fire
// before the hub could reach the API server. A pass is scheduled for each change that no event announces.
func TestRefusedLeadsToAnAbort(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"))
	refused := rt.Rejected("c1", 0, 5*minute)
	p := decide(rt.Now(minute), rt.Refs(ref), rt.Rejected("c1", 0, minute), rt.Works(done("c2")))
	if p.Abort != nil || p.Phases()["c1"] != rollout.PhaseInFlight || p.Writes[0].LastTry {
		t.Errorf("abort %v, again after %s, %v", p.Abort, p.Recheck, p.Phases())
	}
	// The last answer may be outdated: the write is tried once more before the failure counts.
	p = decide(rt.Now(5*minute), rt.Refs(ref), rt.Rejected("c1", 0, 4*minute+30*second), rt.Works(done("c2")))
	require.Nil(t, p.Abort)
	require.Equal(t, []string{"c1"}, writtenClusters(p), "written")
	require.True(t, p.Writes[0].LastTry)
	if p := decide(rt.Now(5*minute), rt.ConnectedSince(4*minute), rt.Refs(ref), refused, rt.Works(done("c2"))); p.Abort != nil {
		t.Error("no agent could be heard, and it is aborted")
	}
	p = decide(rt.Now(5*minute), rt.Refs(ref), refused, rt.Works(done("c2")))
	const reason = "placement p1: 1 of 2 clusters failed (c1): not successful within progressDeadline 5m0s (the API server rejects the ManifestWorks of 1 cluster (c1): no quota in c1), " +
		"maxFailures is 0"
	if p.Abort == nil || p.Abort.Reason != reason {
		t.Errorf("abort %v, want %s", p.Abort, reason)
	}
}

// R4: a work that can't be restored does not delay the abort, but its write is retried.
func TestGoBackWithoutTheRefused(t *testing.T) {
	p := decide(rt.Aborted(), rt.Now(minute), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2", "c3"))), rt.Rejected("c1", 0, 2*minute),
		rt.Works(failed("c1"), done("c2"), old("c3")))
	require.Equal(t, []string{"c1", "c2"}, writtenClusters(p), "written")
	require.Equal(t, 1, p.Behind)
}

// R6: a work of an older hub that already has the revision gets the hash, even if that write was rejected at first.
func TestRejectedAdoption(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(1), rt.MaxFailures(1), rt.Clusters("c1", "c2"))
	p := decide(rt.Now(minute), rt.Refs(ref), rt.Rejected("c1", 0, minute), rt.Works(rt.Work("c1", rt.Holds("bbb"))))
	require.Len(t, p.Writes, 1)
	require.Equal(t, rollout.Adopt, p.Writes[0].Action)
}

// TestRejectedRestoration: during an abort, the rejections are those of works that are not restored yet. A recorded rejection lasts until
// its work is restored, because a process that has just started does not know it.
func TestRejectedRestoration(t *testing.T) {
	recorded := func(s *rollout.Snapshot) {
		s.Records.Unrestored = map[string]rollout.Failure{
			"c1": {Placement: "p1", Since: rt.At(0), Reason: workv1alpha1.FailureRejected, Message: "first"},
			"c3": {Placement: "p1", Since: rt.At(0), Reason: workv1alpha1.FailureRejected, Message: "first"},
		}
	}
	unanswered := func(s *rollout.Snapshot) {
		s.Rejected["c4"] = rollout.Rejection{Since: rt.At(0), TriedAt: rt.At(minute), Message: "timeout", Unanswered: true}
	}
	s := rt.Snapshot(rt.Now(minute), rt.Rolling("aaa", "bbb"), rt.Aborted(), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2", "c3", "c4"))),
		rt.Works(failed("c1"), failed("c2"), rt.Work("c3", rt.AtRevision("aaa")), failed("c4")), rt.Rejected("c2", 0, minute), recorded, unanswered)
	rejections := rollout.Decide(s).Records.Unrestored
	require.ElementsMatch(t, []string{"c1", "c2"}, slices.Collect(maps.Keys(rejections)))
	require.Equal(t, "first", rejections["c1"].Message)
	require.Equal(t, workv1alpha1.FailureRejected, rejections["c2"].Reason)
	require.Equal(t, "p1", rejections["c2"].Placement)
	standings := standingsOf(s)
	require.Equal(t, "first", standings["c1"].Rejection)
	require.Empty(t, standings["c3"].Rejection)
	require.Empty(t, standings["c4"].Rejection)
}
