package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestRemoveBetweenSlices: the placement controller can die after it has removed a cluster from one slice, and before it adds the cluster
// to another slice. Its successor starts only after the leader lease has expired, and the workload must still exist then.
func TestRemoveBetweenSlices(t *testing.T) {
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprintf("d%02d", i)
	}
	one, two := rt.Clusters("c1"), rt.Slices(2)
	sliced := rt.Ref("p2", rt.Clusters("d1"), two)
	for name, tc := range map[string]struct {
		refs []placement.Ref
		work []rt.WorkOption
		wait time.Duration
	}{
		"one slice":                          {refs: []placement.Ref{rt.Ref("p1", one)}, wait: 5 * second},
		"two slices":                         {refs: []placement.Ref{rt.Ref("p1", one, two)}, wait: 3 * minute},
		"two slices that don't match":        {refs: []placement.Ref{rt.Ref("p1", one, two, rt.Expecting(2))}, wait: 3 * minute},
		"another ref has two":                {refs: []placement.Ref{rt.Ref("p1", one), sliced}, wait: 5 * second},
		"it was in the other ref, too":       {refs: []placement.Ref{rt.Ref("p1", one), sliced}, work: []rt.WorkOption{rt.SelectedBy("p2")}, wait: 3 * minute},
		"it says that it selects nothing":    {refs: []placement.Ref{rt.Ref("p1")}, wait: 5 * second},
		"another ref may select the cluster": {refs: []placement.Ref{rt.Ref("p1", one), rt.Ref("p2", rt.Uncounted())}, wait: 3 * minute},
		"its ref was taken out of the spec":  {refs: []placement.Ref{sliced}, wait: 5 * second},
	} {
		t.Run(name, func(t *testing.T) {
			work := old("c2", append(tc.work, rt.Unselected(10*minute-tc.wait+second))...)
			for early, want := range map[time.Duration][]string{second: nil, 0: {"Delete c2/web: no placement selects the cluster"}} {
				p := decide(rt.Now(10*minute+second-early), rt.Refs(tc.refs...), rt.Works(work))
				var got []string
				for _, d := range p.Deletes {
					got = append(got, d.String())
				}
				require.Equal(t, want, got, "%s early", early)
			}
		})
	}
}

// TestSliced: a cluster can be between two slices of a Placement.
func TestSliced(t *testing.T) {
	refs := []placement.Ref{rt.Ref("p1", rt.Clusters("c1", "c2")), rt.Ref("p2", rt.Clusters("c2", "c3"), rt.Slices(2)),
		rt.Ref("p3", rt.Clusters("c3"), rt.Slices(3)), rt.Ref("p4", rt.Missing())}
	want := map[string][]string{"c2": {"p2"}, "c3": {"p2", "p3"}}
	require.Equal(t, want, placement.Sliced(refs))
	if placement.Sliced(refs[:1]) != nil {
		t.Error("no Placement has several slices")
	}
}
