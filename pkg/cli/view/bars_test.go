package view_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestBars: if there are many decision groups, each unfinished one has a bar, and the others share one. A cluster of two Placements counts
// toward the first.
func TestBars(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Spec.PlacementRefs = append(o.ReplicaSet.Spec.PlacementRefs, workv1alpha1.LocalPlacementReference{Name: "q"})
		o.Placements["p"].Status.NumberOfSelectedClusters, o.Decisions["p"] = 10, nil
		for i := range 10 {
			cluster := fmt.Sprintf("c%d", i)
			o.Decisions["p"] = append(o.Decisions["p"], &clusterv1beta1.PlacementDecision{
				ObjectMeta: metav1.ObjectMeta{Name: "p-" + cluster, Labels: map[string]string{
					clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(i),
				}},
				Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: cluster}}},
			})
			o.Works = append(o.Works, succeeding(t, cluster, map[bool]string{true: "v2", false: "v1"}[i < 3]))
		}
		o.Placements["q"], o.Decisions["q"] = o.Placements["p"], o.Decisions["p"]
	})
	var found []string
	for _, bar := range view.FleetOf(o).Bars {
		found = append(found, fmt.Sprintf("%s/%s %d/%d", bar.Placement, bar.Group, bar.Done, bar.Total))
	}
	require.Equal(t, []string{
		"p/ 3/10", "p/group 3 0/1", "p/group 4 0/1", "p/group 5 0/1", "p/group 6 0/1", "p/group 7 0/1", "p/group 8 0/1", "p/group 9 0/1",
		"p/3 other groups 3/3", "q/ 0/0",
	}, found)
}

// TestBarsOfAnUndo: after an abort, an undo is complete at once. Its clusters soak again, and still have the revision.
func TestBarsOfAnUndo(t *testing.T) {
	for state, want := range map[workv1alpha1.State]string{
		workv1alpha1.StateComplete: "1 of 1 clusters confirmed revision 2", workv1alpha1.StateRollingOut: "0 of 1 clusters confirmed revision 2",
	} {
		o := objects(t, func(o *view.Objects) {
			o.ReplicaSet.Status.State = state
			o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = canary(clusterv1alpha1.RolloutProgressive{
				RolloutConfig: clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: 2 * time.Hour}},
			})
			o.Placements["p"].Status.NumberOfSelectedClusters = 1
			o.Decisions["p"][0].Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "c1"}}
			o.Works = append(o.Works, succeeding(t, "c1", "v2"))
		})
		require.Equal(t, rollout.PhaseSoaking, view.Clusters(o)[0].State)
		require.Equal(t, want, view.FleetOf(o).Summary)
	}
}

// TestTimelineOfAPause: a pause is an event, at the time of its condition.
func TestTimelineOfAPause(t *testing.T) {
	at := metav1.NewTime(now.Add(2 * time.Minute))
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Spec.Paused, o.ReplicaSet.Status.State = true, workv1alpha1.StatePaused
		o.ReplicaSet.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionPaused, LastTransitionTime: at}}
	})
	require.Contains(t, view.Timeline(o), view.Event{At: at.Time, Text: "the rollout was paused"})
}

// TestBarsWithoutWorks: if the ManifestWorks are unreadable, as over a broker, the status counts. A cluster on hold has not confirmed, and
// after an abort, the status knows only what was sent.
func TestBarsWithoutWorks(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.Works = nil
		o.ReplicaSet.Status.Summary.Total = 4
		summary := workv1alpha1.PlacementSummary{Name: "p"}
		summary.Summary.DesiredTotal, summary.Summary.Total, summary.Summary.Held = 4, 4, 1
		o.ReplicaSet.Status.PlacementsSummary = []workv1alpha1.PlacementSummary{summary}
	})
	f := view.FleetOf(o)
	require.Equal(t, "3/4", fmt.Sprintf("%d/%d", f.Bars[0].Done, f.Bars[0].Total))
	require.Contains(t, f.Summary, "3 of 4 clusters confirmed revision 2")
}
