package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// TestSummary counts works by their own generation, per placement, and clusters once.
func TestSummary(t *testing.T) {
	works := rt.Works(
		done("c1"),
		rt.Work("c2", rt.AtRevision("bbb"), rt.InFlight(0)),
		rt.Work("c3", rt.AtRevision("bbb"), rt.Generation(2), rt.Applied(0, rt.Observed(1)), rt.Available(0, rt.Observed(1)),
			rt.IsDegraded(0, rt.Observed(1)), rt.Progresses(0, rt.Observed(1))),
		rt.Work("d1", rt.OfPlacement("p2"), rt.AtRevision("bbb"), rt.Applied(0), rt.Available(0, rt.Observed(0)), rt.IsDegraded(0)),
		rt.Work("e1", rt.OfPlacement("gone"), rt.AtRevision("aaa"), rt.Succeeded(0), rt.Deleting()),
	)
	refs := rt.Refs(
		rt.Ref("p1", rt.Group("a", "c1", "c2"), rt.Group("b", "c3")),
		rt.Ref("p2", rt.Clusters("c1", "d1", "d2")),
		rt.Ref("p3", rt.Missing()),
	)
	got := build(input(status.RollingOut, refs, works))
	type counts = upstream.ManifestWorkReplicaSetSummary
	of := func(c counts) workv1alpha1.ManifestWorkReplicaSetSummary {
		return workv1alpha1.ManifestWorkReplicaSetSummary{ManifestWorkReplicaSetSummary: c}
	}
	total := counts{Total: 5, Applied: 4, Available: 3, Degraded: 1, Progressing: 1, DesiredTotal: 5, Updated: 1}
	require.Equal(t, total, got.Summary.ManifestWorkReplicaSetSummary, "summary")
	for i, counted := range [][2]int{{0, 2}, {1, 1}, {0, 0}} {
		if found := &got.PlacementsSummary[i]; found.Summary.Waiting != counted[0] || found.Summary.InFlight != counted[1] {
			t.Errorf("%s: waiting %d, in flight %d; want %v", found.Name, found.Summary.Waiting, found.Summary.InFlight, counted)
		}
		got.PlacementsSummary[i].Summary.Waiting, got.PlacementsSummary[i].Summary.InFlight, got.PlacementsSummary[i].HaltedTime = 0, 0, nil
	}
	placements := []workv1alpha1.PlacementSummary{
		{Name: "p1", AvailableDecisionGroups: "2 (3 / 3 clusters applied)", Counted: 3,
			Summary: of(counts{Total: 3, Applied: 2, Available: 1, Progressing: 1, DesiredTotal: 3, Updated: 1})},
		{Name: "p2", AvailableDecisionGroups: "1 (1 / 3 clusters applied)", Counted: 2,
			Summary: of(counts{Total: 1, Applied: 1, Available: 1, Degraded: 1, DesiredTotal: 2})},
		{Name: "p3", AvailableDecisionGroups: "0 (0 / 0 clusters applied)"},
	}
	require.Equal(t, placements, got.PlacementsSummary, "placementSummary")
}

// TestAvailableDecisionGroups: the field shows the progress of the template in the spec, as with upstream's hub. A work counts when it is
// written, regardless of the agent's report. Works with the older revision do not count.
func TestAvailableDecisionGroups(t *testing.T) {
	selected := p1(rt.Group("a", "c1", "c2"), rt.Group("b", "c3"))
	edited := rt.Work("c2", rt.AtRevision("bbb"), rt.Edited())
	unselected := rt.Work("c4", rt.AtRevision("bbb"), rt.InFlight(0), rt.Unselected(10*minute))
	for name, tc := range map[string]struct {
		in   *status.Input
		want string
	}{
		"nothing written yet": {
			in:   input(status.RollingOut, selected, rt.Works(old("c1"), old("c2"), old("c3"))),
			want: "2 (0 / 3 clusters applied)",
		},
		"one succeeded, one is in flight": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), inFlight("c2"), old("c3"))),
			want: "2 (2 / 3 clusters applied)",
		},
		"one was edited by hand": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), edited, old("c3"))),
			want: "2 (1 / 3 clusters applied)",
		},
		"one is not selected any more": {
			in:   input(status.RollingOut, selected, rt.Works(done("c1"), done("c2"), done("c3"), unselected)),
			want: "2 (3 / 3 clusters applied)",
		},
		"aborted": {
			in:   input(status.Aborted, rt.Aborted(), selected, rt.Works(old("c1"), old("c2"), old("c3"))),
			want: "2 (0 / 3 clusters applied)",
		},
	} {
		if got := build(tc.in).PlacementsSummary[0].AvailableDecisionGroups; got != tc.want {
			t.Errorf("%s: %s, wanted %s", name, got, tc.want)
		}
	}
}
