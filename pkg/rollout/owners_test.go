package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestOwners: a cluster belongs to the first ref that selects it, and is counted once.
func TestOwners(t *testing.T) {
	p := decide(rt.Refs(
		rt.Ref("p1", rt.Clusters("c1", "c2")),
		rt.Ref("p2", rt.Progressive(1), rt.Clusters("c2", "c3", "c4")),
		rt.Ref("p3"),
		rt.Ref("p4", rt.Clusters("c4", "c1")),
	))
	var got []string
	for _, w := range p.Writes {
		got = append(got, w.Cluster+" for "+w.Placement)
	}
	require.Equal(t, []string{"c1 for p1", "c2 for p1", "c3 for p2"}, got)
	if p.Selected() != 4 || p.Refs[0].Selected != 2 || p.Refs[1].Selected != 2 || p.Refs[3].Selected != 0 {
		t.Errorf("selected %d: %+v", p.Selected(), p.Refs)
	}
}

// TestUnknownSelection: while the clusters that one Placement selects are unknown, no cluster of the object starts, is handed over or
// fails, and the rollout does not complete. Otherwise, if the Placement were deleted and created again, a later placementRef with a less
// careful strategy would roll out its clusters at once.
func TestUnknownSelection(t *testing.T) {
	all := rt.Ref("p2", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3"))
	emptied := func(w *work.Work) { w.LeftSince = rt.At(10*minute - second) }
	for name, tc := range map[string]struct {
		first placement.Ref
		works []work.Work
		known bool
	}{
		"its Placement is missing":        {first: rt.Ref("p1", rt.Missing())},
		"it has no decisions":             {first: rt.Ref("p1", rt.Undecided())},
		"its decisions are being written": {first: rt.Ref("p1", rt.Expecting(1))},
		"its decisions became empty":      {first: rt.Ref("p1", rt.Uncounted()), works: []work.Work{old("c4", emptied)}},
		"it selects others":               {first: rt.Ref("p1", rt.Clusters("c4")), known: true},
	} {
		t.Run(name, func(t *testing.T) {
			refs := rt.Refs(tc.first, all)
			works := func(works ...work.Work) rt.SnapshotOption { return rt.Works(append(works, tc.works...)...) }
			p := decide(rt.Now(10*minute), refs, works(old("c1"), old("c2", rt.OfPlacement("p2"))))
			require.Equal(t, tc.known, len(p.Writes) > 0, "starts and handovers: %v", texts(p))
			require.Equal(t, !tc.known, p.Unknown())

			p = decide(rt.Now(10*minute), refs, works(failed("c2", rt.OfPlacement("p2"))), rt.Rejected("c3", 0, 9*minute))
			require.Equal(t, tc.known, p.Abort != nil)
			if tc.known {
				require.Len(t, p.Records.Failures, 2)
			} else {
				require.Empty(t, p.Records.Failures)
			}

			p = decide(rt.Now(10*minute), refs, works(done("c1", rt.OfPlacement("p2")), done("c2", rt.OfPlacement("p2")), done("c3", rt.OfPlacement("p2")), done("c4")))
			require.Equal(t, tc.known, p.Complete)

			p = decide(rt.Now(10*minute), rt.Refs(tc.first, rt.Ref("p2", rt.Deadline("5m"), rt.Clusters("c2", "c3"))), works(failed("c2", rt.OfPlacement("p2"))),
				rt.Recorded("p2", workv1alpha1.FailureDeadlineExceeded, "c2"))
			require.Equal(t, tc.known, slices.ContainsFunc(p.Writes, func(w rollout.Write) bool { return w.StandIn }), "%v", texts(p))

			p = decide(rt.Now(10*minute), rt.Aborted(), refs, works(failed("c1"), failed("c2", rt.OfPlacement("p2"))))
			require.Subset(t, texts(p), []string{"Update c1 to aaa: aborted", "Update c2 to aaa: aborted"}, "an abort waits for nothing")
		})
	}
}

// TestUncountedPlacement: a Placement has decisions, but no placement controller writes its status. Its clusters get the revision and can
// fail, but the rollout does not complete.
func TestUncountedPlacement(t *testing.T) {
	uncounted := func(ref *placement.Ref) { ref.Placement.Selected, ref.Placement.Counted = 0, false }
	refs := rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"), uncounted))
	require.Len(t, decide(rt.Now(minute), refs).Writes, 2)
	require.NotNil(t, decide(rt.Now(10*minute), refs, rt.Works(failed("c1"), failed("c2"))).Abort)
	p := decide(rt.Now(10*minute), refs, rt.Works(done("c1"), done("c2")))
	require.False(t, p.Complete)
	require.False(t, p.Unknown())
}

// TestStaysWithItsRef: a cluster counts for the placementRef that its work names, with the strategy and deadline of that placementRef,
// while it is unknown whether the placementRef still selects the cluster. An earlier placementRef takes over the cluster at once.
func TestStaysWithItsRef(t *testing.T) {
	long, short := rt.Deadline("1h"), rt.Deadline("1m")
	left := func(since time.Duration) rt.WorkOption { return func(w *work.Work) { w.LeftSince = rt.At(since) } }
	sliced := rt.Ref("p1", long, rt.Clusters("c2"), rt.Slices(2))
	for name, tc := range map[string]struct {
		refs   []placement.Ref
		work   work.Work
		owned  bool
		failed bool
	}{
		"its Placement is missing":            {refs: []placement.Ref{rt.Ref("p1", long, rt.Missing()), rt.Ref("p2", short, rt.Clusters("c1"))}, work: failed("c1")},
		"it left one of several slices":       {refs: []placement.Ref{sliced, rt.Ref("p2", short, rt.Clusters("c1"))}, work: failed("c1", left(9*minute))},
		"it left 3 minutes ago":               {refs: []placement.Ref{sliced, rt.Ref("p2", short, rt.Clusters("c1"))}, work: failed("c1", left(7*minute)), owned: true, failed: true},
		"it is the earlier one that takes it": {refs: []placement.Ref{rt.Ref("p0", short, rt.Clusters("c1")), sliced}, work: failed("c1", left(9*minute)), owned: true, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Refs(tc.refs...), rt.Works(tc.work))
			require.Equal(t, tc.owned, p.Selects("c1"))
			require.Equal(t, tc.failed, len(p.Records.Failures) == 1, "%v", p.Records.Failures)
			require.Empty(t, p.Deletes)
			if !tc.owned {
				require.NotContains(t, strings.Join(texts(p), " "), "c1")
			}
		})
	}
}

// TestHandover: a cluster that another ref takes over is relabelled, counts for that ref, and is not rolled out again.
func TestHandover(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Works(inFlight("c1"), old("c2")),
		rt.Refs(rt.Ref("p2", rt.Progressive(1), rt.Clusters("c1", "c2"))))
	require.Equal(t, []string{"Relabel c1: its cluster belongs to p2 now", "Relabel c2: its cluster belongs to p2 now"}, texts(p))
	if p.Writes[0].Group != "0/" {
		t.Errorf("it counts in group %q from now on", p.Writes[0].Group)
	}
	if len(p.Deletes) > 0 {
		t.Error(p.Deletes)
	}
	if p.Refs[0].Selected != 2 || p.Counts[rollout.PhaseInFlight] != 1 {
		t.Errorf("%+v %v", p.Refs, p.Counts)
	}
}
