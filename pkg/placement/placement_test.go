package placement_test

import (
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

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
