package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestRow: the numbers of a row are those of the status.
func TestRow(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	set.Status.State, set.Status.UpdateRevision, set.Status.CurrentRevision = workv1alpha1.StateStalled, "b", "a"
	set.Status.Revisions = []workv1alpha1.RevisionStatus{{Hash: "b", Revision: 2, Clusters: 3}, {Hash: "a", Revision: 1, Clusters: 7}}
	set.Status.Summary.Total, set.Status.Summary.Failed, set.Status.Summary.Updated = 10, 2, 1
	require.Equal(t, view.Row{
		Namespace: "default", Name: "web", State: "Stalled", Update: 2, Current: 1, Updated: 1, Selected: 10, Failed: 2, Healthy: 1, Sick: 2,
	}, view.RowOf(set))
	set.Status.State = workv1alpha1.StateDeleting
	require.Zero(t, view.RowOf(set).Since, "whoever wrote that, the object is not being deleted")
}

// TestHealth: the bar of a list shows the states of the clusters, regardless of their intended revision.
func TestHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		change        func(*workv1alpha1.ManifestWorkReplicaSetStatus)
		healthy, sick int
	}{
		"complete": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Summary.Updated = 20 }, 20, 0},
		"stalled": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.State, s.Summary.Updated, s.Summary.Failed = workv1alpha1.StateStalled, 12, 3
		}, 12, 3},
		"some degraded, before an abort": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.State, s.Summary.Updated, s.Summary.Degraded = workv1alpha1.StateRollingOut, 12, 3
		}, 12, 3},
		"aborted, and back": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.AbortedTime, s.Summary.Applied, s.Summary.Available = &metav1.Time{Time: now}, 20, 20
		}, 20, 0},
		"aborted, one offline, two sick": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.AbortedTime, s.Summary.Applied, s.Summary.Available, s.Summary.Degraded = &metav1.Time{Time: now}, 19, 20, 2
		}, 19, 2},
	} {
		o := objects(t)
		tc.change(&o.ReplicaSet.Status)
		row := view.RowOf(o.ReplicaSet)
		require.Equal(t, []int{tc.healthy, tc.sick}, []int{row.Healthy, row.Sick}, name)
	}
}
