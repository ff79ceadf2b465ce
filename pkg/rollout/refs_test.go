package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestIgnoredRefs: if the spec has too many placementRefs, the selected clusters are unknown. So nothing is deleted and nothing completes,
// but an abort restores the works of every cluster.
func TestIgnoredRefs(t *testing.T) {
	refs := rt.Refs(rt.Ref("p1", rt.Clusters("c1"), rt.Deadline("5m"), rt.AbortAll()))
	for _, tc := range []struct {
		ignored  int
		deletes  int
		complete bool
	}{{0, 2, true}, {1, 0, false}} {
		works := rt.Works(done("c1"), done("c1", rt.Named("web-2")), done("c2", rt.Unselected(0)))
		p := decide(rt.Now(10*minute), refs, works, rt.IgnoredRefs(tc.ignored))
		if len(p.Deletes) != tc.deletes || p.Complete != tc.complete || p.Stalled || len(p.Writes) != 0 {
			t.Errorf("%d ignored: %d deletes, complete %v, stalled %v, writes %v", tc.ignored, len(p.Deletes), p.Complete, p.Stalled, p.Writes)
		}
	}
	p := decide(rt.Now(10*minute), rt.Aborted(), refs, rt.Works(done("c1"), done("c2")), rt.IgnoredRefs(1))
	var got []string
	for _, w := range p.Writes {
		got = append(got, w.String())
	}
	require.Equal(t, []string{"Update c1 to aaa: aborted", "Update c2 to aaa: aborted"}, got)
	if known := placement.SelectionKnown(rt.Snapshot(refs).Refs, 1); known {
		t.Error("it is not known which clusters are selected")
	}
}
