package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestAbort: the cases in which a rollout is aborted, and those in which it is not.
func TestAbort(t *testing.T) {
	abort := func(name string, clusters ...string) placement.Ref {
		return rt.Ref(name, rt.Deadline("5m"), rt.AbortAll(), rt.Clusters(clusters...))
	}
	stop := func(name string, clusters ...string) placement.Ref {
		return rt.Ref(name, rt.Deadline("5m"), rt.Clusters(clusters...))
	}
	const c1 = "placement p1: 1 of 2 clusters failed (c1): not successful within progressDeadline 5m0s, maxFailures is 0"
	const alone = "placement p1: 1 of 1 cluster failed (c1): not successful within progressDeadline 5m0s, maxFailures is 0"
	recorded := rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1")
	for name, tc := range map[string]struct {
		rolling rt.SnapshotOption
		refs    []placement.Ref
		works   []work.Work
		reason  string
		blocked rollout.AbortBlock
	}{
		"a failed ref that asks for it": {refs: []placement.Ref{abort("p1", "c1", "c2")}, works: []work.Work{failed("c1")}, reason: c1},
		"a failed ref that does not":    {refs: []placement.Ref{stop("p1", "c1")}, works: []work.Work{failed("c1")}},
		"a degraded cluster is not a failed one": {
			refs: []placement.Ref{abort("p1", "c1")}, works: []work.Work{broken("c1")},
		},
		"only the other ref asks for it": {
			refs: []placement.Ref{stop("p1", "c1"), abort("p2", "c2")}, works: []work.Work{failed("c1"), done("c2")},
		},
		"two of three refs failed": {
			refs:   []placement.Ref{abort("p1", "c1"), stop("p2", "c2"), abort("p3", "c3")},
			works:  []work.Work{failed("c1"), failed("c2"), failed("c3")},
			reason: alone + "; placement p3: 1 of 1 cluster failed (c3): not successful within progressDeadline 5m0s, maxFailures is 0",
		},
		"too many failures in one group": {
			refs: []placement.Ref{rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.AbortAll(), rt.MaxFailures(1),
				rt.Group("a", "c1", "c2"), rt.Group("b", "c3", "c4"), rt.GroupAt(2, "b", "c5"))},
			works: []work.Work{failed("c1"), done("c2"), failed("c3"), failed("c4"), done("c5")},
			reason: "placement p1: 3 of 5 clusters failed (c1, c3, c4): not successful within progressDeadline 5m0s, " +
				"maxFailures is 1 for each group, and 2 of 2 failed in group 1",
		},
		"the first rollout has nothing to return to": {
			rolling: rt.Rolling("", "bbb"), refs: []placement.Ref{abort("p1", "c1")}, works: []work.Work{failed("c1")},
			blocked: rollout.BlockedByAbsence,
		},
		"a failure after the rollout was complete": {
			rolling: rt.Rolling("bbb", "bbb"), refs: []placement.Ref{abort("p1", "c1")}, works: []work.Work{failed("c1")},
		},
		"by a cluster that failed before it was deselected": {
			rolling: recorded, refs: []placement.Ref{abort("p1", "c2")}, works: []work.Work{failed("c1", rt.Deleting())}, reason: c1,
		},
		"by a cluster that was deselected before, and never succeeded": {
			refs: []placement.Ref{abort("p1", "c2")}, works: []work.Work{failed("c1", rt.Deleting())}, reason: c1,
		},
		"not by a cluster that was deselected before, and had succeeded": {
			refs: []placement.Ref{abort("p1", "c2")}, works: []work.Work{failed("c1", rt.Deleting(), rt.SeenSucceeding(minute))},
		},
		"not while its Placement is missing": {
			rolling: recorded, refs: []placement.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Missing())},
			works: []work.Work{failed("c1")},
		},
		"never by limits that can't be read": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures(-1), rt.AbortAll(), rt.Clusters("c1"))},
			works: []work.Work{done("c1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(tc.refs...), rt.Works(tc.works...)}
			if tc.rolling != nil {
				options = append(options, tc.rolling)
			}
			p := decide(options...)
			reason := ""
			if p.Abort != nil {
				reason = p.Abort.Reason
				if len(texts(p)) > 0 {
					t.Errorf("it is persisted before anything is written: %v", texts(p))
				}
			}
			if reason != tc.reason || p.AbortBlocked != tc.blocked {
				t.Errorf("abort %q, blocked by %q; want %q, %q", reason, p.AbortBlocked, tc.reason, tc.blocked)
			}
		})
	}
}

// TestAbortMessageIsBounded: a message names at most five failed clusters.
func TestAbortMessageIsBounded(t *testing.T) {
	var names []string
	var works []work.Work
	for _, letter := range "abcdefgh" {
		names = append(names, "c-"+string(letter))
		works = append(works, failed("c-"+string(letter)))
	}
	p := decide(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters(names...))), rt.Works(works...))
	const want = "8 of 8 clusters failed (c-a, c-b, c-c, c-d, c-e and 3 more)"
	if p.Abort == nil || !strings.Contains(p.Abort.Reason, want) {
		t.Errorf("got %+v, want %q", p.Abort, want)
	}
}

// TestPlanRollback: every cluster of every ref is restored at once, regardless of the strategies.
func TestPlanRollback(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Aborted(),
		rt.Refs(
			rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3", "c4", "c5", "c6")),
			rt.Ref("p2", rt.Progressive(1), rt.Deadline("5 minutes"), rt.Group("a", "d1"), rt.Group("b", "d2")),
			rt.Ref("p3", rt.Missing()),
		),
		rt.Works(
			failed("c1"), broken("c2"), inFlight("c3"), done("c4"), old("c5"),
			// c6 has just joined.
			done("d1", rt.OfPlacement("p2")), done("d2", rt.OfPlacement("p2"), rt.Deleting()),
			done("e1", rt.OfPlacement("p3")), old("e2", rt.OfPlacement("p3")), failed("f1", rt.OfPlacement("gone")),
			rt.Work("f2", rt.OfPlacement("gone"), rt.AtRevision("bbb"), rt.Deleting()),
		))
	want := []string{
		"Update c1 to aaa: aborted", "Update c2 to aaa: aborted", "Update c3 to aaa: aborted", "Update c4 to aaa: aborted",
		"Create c6 to aaa: aborted", "Update d1 to aaa: aborted", "Update e1 to aaa: aborted", "Update f1 to aaa: aborted",
	}
	require.Equal(t, want, texts(p))
	if p.Desired.Hash != "aaa" || p.Behind != 8 || p.Confirmed != 1 || p.Complete || p.Stalled || p.Abort != nil {
		t.Errorf("desired %s, behind %d, confirmed %d, complete %v, stalled %v, abort %v",
			p.Desired.Hash, p.Behind, p.Confirmed, p.Complete, p.Stalled, p.Abort)
	}
	for _, w := range p.Writes {
		if w.Cluster == "d1" && (w.Group != "0/a" || w.Placement != "p2") {
			t.Errorf("d1 is written in group %q of %s", w.Group, w.Placement)
		}
		if w.Cluster == "f1" && w.Placement != "gone" {
			t.Errorf("f1 changes its placement to %s", w.Placement)
		}
	}
}

// TestGoBackIsOver: nothing is written after all clusters have the current revision, even if the API server stores it with changes.
func TestGoBackIsOver(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Aborted(), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2"))),
		rt.Works(old("c1"), rt.Work("c2", rt.AtRevision("aaa"), rt.StoredOtherwise("aaa"))))
	recorded := []string{"Relabel c2: the API server's changes to it must be recorded"}
	if !slices.Equal(texts(p), recorded) || p.Behind != 0 || p.Confirmed != 1 || len(p.Accepted) != 1 {
		t.Errorf("%v behind %d confirmed %d accepted %d", texts(p), p.Behind, p.Confirmed, len(p.Accepted))
	}
}

// TestConfirmed: a restored cluster counts as confirmed when its success has settled. Agents stamp a new generation on conditions that
// they read at an older generation.
func TestConfirmed(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Settle(3*second), rt.Aborted(), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2"))),
		rt.Works(old("c1"), old("c2", rt.SeenSucceeding(10*minute-second))))
	if p.Confirmed != 1 || p.Recheck != 2*second {
		t.Errorf("confirmed %d, again after %s", p.Confirmed, p.Recheck)
	}
	// A restarted hub does not emit events about an abort that all clusters had already confirmed.
	p = decide(rt.Now(10*minute), rt.Settle(3*second), rt.Aborted(), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2"))),
		rt.Works(old("c1", rt.JustSeenSucceeding()), old("c2", rt.JustSeenSucceeding())), func(s *rollout.Snapshot) { s.Restored = true })
	if p.Confirmed != 2 || p.Recheck != 0 {
		t.Errorf("confirmed %d, again after %s", p.Confirmed, p.Recheck)
	}
}
