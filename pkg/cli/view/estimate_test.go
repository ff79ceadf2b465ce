package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestEstimate: the clusters in progress are expected to take the median time of the clusters that have succeeded. If no cluster has
// succeeded, there is no estimate.
func TestEstimate(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.Now = now.Add(time.Minute)
		o.Works = []work.Work{at(t, "c1", 40*time.Second), at(t, "c2", 0)}
	})
	found := view.FleetOf(o).Estimate
	require.NotNil(t, found)
	require.Equal(t, 1, found.Clusters)
	require.Equal(t, 40*time.Second, found.Each.Duration)
	require.Equal(t, o.Now, found.Wave, "it is late: any moment now")
	o.Works[0] = at(t, "c1", 0)
	require.Nil(t, view.FleetOf(o).Estimate)
}

// TestEstimateWithTypeAll: a rollout of the type All ignores minSuccessTime.
func TestEstimateWithTypeAll(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.Now = now.Add(time.Minute)
		o.Works = []work.Work{at(t, "c1", 40*time.Second), at(t, "c2", 0)}
		strategy := &o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy
		strategy.Type, strategy.All = clusterv1alpha1.All, &clusterv1alpha1.RolloutAll{}
		strategy.All.MinSuccessTime.Duration = time.Hour
	})
	require.Equal(t, 40*time.Second, view.FleetOf(o).Estimate.Each.Duration)
}

// TestEstimateOfAnUndo: a cluster that had the revision before the rollout began does not show how long the others take.
func TestEstimateOfAnUndo(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.Now = now.Add(time.Minute)
		o.Works = []work.Work{at(t, "c1", 40*time.Second), at(t, "c2", 0)}
		began := metav1.NewTime(now.Add(30 * time.Second))
		o.ReplicaSet.Status.Revisions = []workv1alpha1.RevisionStatus{{
			Name: revision.Name("web", hash("v2")), Hash: hash("v2"), Revision: 2, LastRolledOutTime: &began,
		}}
	})
	require.Nil(t, view.FleetOf(o).Estimate)
}

// TestRevisionNames: messages name revisions by their numbers, and similar names do not change.
func TestRevisionNames(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		name := revision.Name("web", hash("v2"))
		o.ReplicaSet.Status.Conditions = []metav1.Condition{{
			Type: workv1alpha1.ConditionProgressing, Message: "the rollout of revision " + name + " began; not of revision " + name + "-x, and " + name + " stays",
		}}
	})
	name := revision.Name("web", hash("v2"))
	require.Equal(t, "the rollout of revision 2 began; not of revision "+name+"-x, and "+name+" stays", view.FleetOf(o).Why)
}

// TestEstimateIsNeverNow: agents report whole seconds. While clusters wait, the end is not now, even if the others took no time.
func TestEstimateIsNeverNow(t *testing.T) {
	o := fleet(t, "6", "10m")
	o.Now, o.ReplicaSet.Status.Rejections = now.Add(500*time.Millisecond), nil
	for i := range o.Works {
		o.Works[i] = succeeding(t, o.Works[i].Cluster(), "v1")
	}
	o.Works[0], o.Works[1] = at(t, "c01", time.Nanosecond), at(t, "c02", 0)
	found := view.FleetOf(o).Estimate
	require.NotNil(t, found)
	require.Equal(t, time.Second, found.Each.Duration)
	require.True(t, found.Rollout.After(o.Now.Add(found.Each.Duration-time.Millisecond)), found.Rollout.Sub(o.Now))
}
