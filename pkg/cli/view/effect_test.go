package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// An effect counts the clusters to which the hub will write: by the works if they are known.
func TestEffects(t *testing.T) {
	o := fleettest.Objects(5, now, "c2")
	status := &o.ReplicaSet.Status
	status.CurrentRevision = "older"
	status.Summary.Total, status.Summary.DesiredTotal = 5, 5
	status.Revisions = []workv1alpha1.RevisionStatus{{Hash: status.UpdateRevision, Revision: 2}, {Hash: "older", Revision: 1}}
	older := view.Revision{Number: 1, Hash: "older"}

	abort := view.EffectOf(o, view.VerbAbort, nil, nil)
	require.Equal(t, 5, abort.Clusters, "five works have the revision, whatever the status counts")
	require.Contains(t, abort.Question, "Abort the rollout of revision 1 of")
	require.Contains(t, abort.Then, "at once to 5 clusters that have revision 1")
	old := o.ReplicaSet.DeepCopy()
	old.Status.Revisions = nil
	abort = view.EffectOf(&view.Objects{ReplicaSet: old}, view.VerbAbort, nil, nil)
	require.Contains(t, abort.Then, "writes revision older at once to every cluster that has revision "+status.UpdateRevision, "a CRD without the list")
	require.Equal(t, 5, view.EffectOf(o, view.VerbUndo, &older, nil).Clusters)
	require.Equal(t, int64(1), view.EffectOf(o, view.VerbUndo, &older, nil).Revision)
	require.Contains(t, view.EffectOf(o, view.VerbUndo, &older, nil).Then, "to 5 clusters, with the rollout strategy")
	older.Current = true
	require.Contains(t, view.EffectOf(o, view.VerbUndo, &older, nil).Then, "at once to 5 clusters")
	require.Zero(t, view.EffectOf(o, view.VerbPause, nil, nil).Clusters)
	require.Zero(t, view.EffectOf(o, view.VerbResume, nil, nil).Clusters)
	require.Equal(t, 2, view.EffectOf(o, view.VerbRetry, nil, []string{"c1", "c2"}).Clusters)
	status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c2"}}
	require.Contains(t, view.EffectOf(o, view.VerbRetry, nil, nil).Question, "Retry all 1 cluster")

	offers := func() map[view.Verb]string {
		found := map[view.Verb]string{}
		for _, offer := range view.Offers(o) {
			found[offer.Verb] = offer.Not
		}
		return found
	}
	require.Empty(t, offers()[view.VerbAbort])
	require.Empty(t, offers()[view.VerbRetry])
	require.NotEmpty(t, offers()[view.VerbResume])
	o.ReplicaSet.Spec.Paused = true
	require.NotEmpty(t, offers()[view.VerbPause])
	require.Empty(t, offers()[view.VerbResume])
	at := metav1.NewTime(now)
	status.AbortedTime = &at
	require.Contains(t, offers()[view.VerbAbort], "already aborted")
	require.Contains(t, view.EffectOf(o, view.VerbRetry, nil, nil).Question, "Roll out the aborted revision")
	o.ReplicaSet.DeletionTimestamp = &at
	for verb, not := range offers() {
		require.Contains(t, not, "being deleted", verb)
	}
}

// The groups have each cluster once, in the order of the rollout. A cluster of two Placements belongs to the first of them.
func TestGroups(t *testing.T) {
	o := fleettest.Objects(12, now)
	groups := view.GroupsOf(o, view.Clusters(o))
	require.Len(t, groups, 1)
	require.Equal(t, "production", groups[0].Placement)
	require.Len(t, groups[0].Clusters, 12)
	for i, name := range []string{"c1", "c10", "c11", "c12", "c2"} {
		require.Equal(t, name, groups[0].Clusters[i].Name)
	}

	second := o.ReplicaSet.Spec.PlacementRefs[0]
	second.Name = "second"
	o.ReplicaSet.Spec.PlacementRefs = append(o.ReplicaSet.Spec.PlacementRefs, second)
	o.Placements["second"], o.Decisions["second"] = o.Placements["production"], o.Decisions["production"]
	require.Len(t, view.GroupsOf(o, view.Clusters(o)), 1)

	at := metav1.NewTime(now)
	o.ReplicaSet.DeletionTimestamp = &at
	require.Len(t, view.GroupsOf(o, view.Clusters(o))[0].Clusters, 12, "a deletion keeps its clusters on the map")
}
