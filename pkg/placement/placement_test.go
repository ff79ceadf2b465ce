package placement_test

import (
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	selection "github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

func decisionOf(group int, name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "p-" + strconv.Itoa(group), Labels: map[string]string{
		clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(group), clusterv1beta1.DecisionGroupNameLabel: name,
	}}}
	for _, cluster := range clusters {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return decision
}

// TestOf: decisions are grouped by index and name, and each cluster belongs only to its first group.
func TestOf(t *testing.T) {
	first := decisionOf(0, "canary", "c1", "c2")
	again := decisionOf(0, "canary", "c3")
	again.Name = "p-0b"
	placement := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: 5}}
	require.Equal(t, &selection.Placement{Selected: 5, Decisions: 4, Groups: []selection.Group{
		{Name: "canary", Index: 0, Clusters: []string{"c1", "c2", "c3"}}, {Name: "", Index: 1, Clusters: []string{"c4"}}, {Name: "b", Index: 2, Clusters: []string{"c5"}},
	}}, selection.FromDecisions(placement, []*clusterv1beta1.PlacementDecision{decisionOf(2, "b", "c1", "c5"), decisionOf(1, "", "c4", ""), again, first}))
}

// TestGroupsInTheStatus: the group of a decision comes from the Placement's status, because OCM updates the labels last. While the status
// and the decisions differ, the groups are unknown. If OCM does not schedule the Placement, the labels apply.
func TestGroupsInTheStatus(t *testing.T) {
	moved := func() []*clusterv1beta1.PlacementDecision {
		return []*clusterv1beta1.PlacementDecision{decisionOf(0, "canary", "c2", "c3"), decisionOf(1, "mid", "c4")}
	}
	shown := func(groups ...clusterv1beta1.DecisionGroupStatus) *selection.Placement {
		status := clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: 3, DecisionGroups: groups}
		return selection.FromDecisions(&clusterv1beta1.Placement{Status: status}, moved())
	}
	group := func(index int32, name string, count int32, decisions ...string) clusterv1beta1.DecisionGroupStatus {
		return clusterv1beta1.DecisionGroupStatus{DecisionGroupIndex: index, DecisionGroupName: name, ClustersCount: count, Decisions: decisions}
	}
	mid := []selection.Group{{Name: "mid", Index: 0, Clusters: []string{"c2", "c3"}}, {Index: 1, Clusters: []string{"c4"}}}
	after := shown(group(0, "mid", 2, "p-0"), group(1, "", 1, "p-1"))
	require.Equal(t, mid, after.Groups)
	ordered, plain := workv1alpha1.RolloutStrategy{Groups: []workv1alpha1.RolloutGroup{{GroupName: "mid"}}}, workv1alpha1.RolloutStrategy{}
	ordered.Type = clusterv1alpha1.Progressive
	require.True(t, (&selection.Ref{Placement: after, Strategy: ordered}).Decided())
	unscheduled := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{DecisionGroups: []clusterv1beta1.DecisionGroupStatus{group(0, "mid", 1, "p-0")}}}
	unscheduled.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	require.Equal(t, &selection.Placement{Decisions: 2, Groups: []selection.Group{
		{Name: "canary", Clusters: []string{"c2", "c3"}}, {Name: "mid", Index: 1, Clusters: []string{"c4"}},
	}}, selection.FromDecisions(unscheduled, moved()))
	for name, before := range map[string]*selection.Placement{
		"other sizes":           shown(group(0, "canary", 1, "p-0"), group(1, "mid", 2, "p-1")),
		"a decision is missing": shown(group(0, "mid", 2, "p-0"), group(1, "", 1, "p-1"), group(2, "", 0, "p-2")),
		"a decision is new":     shown(group(0, "mid", 2, "p-0")),
	} {
		require.False(t, (&selection.Ref{Placement: before, Strategy: ordered}).Decided(), name)
		require.True(t, (&selection.Ref{Placement: before, Strategy: plain}).Decided(), name)
	}
}

// TestPlacementThatClaimsManyClusters: a huge count in the status of a Placement can't make the hub reserve memory for that many clusters.
func TestPlacementThatClaimsManyClusters(t *testing.T) {
	for _, claimed := range []int32{math.MaxInt32, math.MinInt32} {
		placement := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: claimed}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.Equal(t, int(claimed), selection.FromDecisions(placement, []*clusterv1beta1.PlacementDecision{decisionOf(0, "", "c1")}).Selected)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
}
