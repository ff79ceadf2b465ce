package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// An effect counts the clusters to which the hub will write, based on the works if they are known.
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

	newer := fleettest.Objects(5, now)
	newer.ReplicaSet.Spec.ManifestWorkTemplate = *template("newer")
	require.Contains(t, view.EffectOf(newer, view.VerbAbort, nil, nil).Then, "It then rolls out the template in the spec, which is newer.")
	require.Contains(t, view.EffectOf(newer, view.VerbRetry, nil, nil).Then, "the hub rolls it out instead of revision 1")

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

// TestEffectOfAResume: a resume continues the rollout, or lets the hub abort it, depending on the state of the rollout.
func TestEffectOfAResume(t *testing.T) {
	resumed := func(change func(*view.Objects)) string {
		o := fleet(t, "1", "10m")
		o.ReplicaSet.Spec.Paused, o.ReplicaSet.Status.Summary.Total = true, 20
		change(o)
		return view.EffectOf(o, view.VerbResume, nil, nil).Then
	}
	require.Equal(t, "The hub continues the rollout to 11 clusters, with the rollout strategy.", resumed(func(*view.Objects) {}))
	require.Equal(t, "The rollout has failed: unless clusters recover, the hub aborts it, and returns 9 clusters to revision 1.",
		resumed(func(o *view.Objects) { o.Now = o.Now.Add(time.Hour) }))
	require.Equal(t, "The rollout is aborted: the hub returns 9 clusters to revision 1, and starts nothing new.",
		resumed(func(o *view.Objects) { o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now)) }))
	require.Equal(t, "The rollout stays aborted: nothing starts until the template changes or a user retries.",
		resumed(func(o *view.Objects) {
			o.ReplicaSet.Status.AbortedTime, o.Works = ptr.To(metav1.NewTime(o.Now)), o.Works[9:]
		}))
	require.Equal(t, "The hub rolls out the template in the spec, with the rollout strategy.",
		resumed(func(o *view.Objects) { o.ReplicaSet.Spec.ManifestWorkTemplate.Workload.Manifests = nil }))
	require.Equal(t, "The hub first returns 9 clusters to revision 1. The hub rolls out the template in the spec, with the rollout strategy.",
		resumed(func(o *view.Objects) {
			o.ReplicaSet.Spec.ManifestWorkTemplate.Workload.Manifests, o.ReplicaSet.Status.AbortedTime = nil, ptr.To(metav1.NewTime(o.Now))
		}))
	require.Equal(t, "The rollout stays aborted: nothing starts until the template changes or a user retries.",
		resumed(func(o *view.Objects) {
			o.ReplicaSet.Status.AbortedTime, o.ReplicaSet.Status.Ledger, o.ReplicaSet.Status.Revisions = ptr.To(metav1.NewTime(o.Now)), "{}", nil
		}),
		"the current revision was deleted")
	require.Equal(t, "The hub writes the template at once to 9 clusters. It ignores the rollout strategy.",
		resumed(func(o *view.Objects) {
			o.ReplicaSet.Spec.ManifestWorkTemplate = *revision.Decode(o.Revisions[0]).Template
		}),
		"the spec has the current revision again")
	require.Equal(t, "The hub writes the template at once to 9 clusters. It ignores the rollout strategy.",
		resumed(func(o *view.Objects) {
			o.ReplicaSet.Spec.ManifestWorkTemplate = *revision.Decode(o.Revisions[0]).Template
			o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now))
		}),
		"the abort writes the same")
}

// TestEffectOnOtherClusters: an abort also writes to clusters that never had the revision, such as those on hold. A template that returns
// reaches a cluster without a ManifestWork with the rollout strategy only.
func TestEffectOnOtherClusters(t *testing.T) {
	o := fleet(t, "1", "10m")
	o.ReplicaSet.Status.Summary.Total, o.Works = 20, o.Works[:17]
	revisions := view.Revisions(o)
	require.Equal(t, "The hub writes revision 1 at once to 9 clusters that have revision 2. It ignores the rollout strategy. "+
		"It also writes revision 1 to 3 clusters with another revision or no ManifestWork. The spec does not change.",
		view.EffectOf(o, view.VerbAbort, nil, nil).Then)
	require.Equal(t, "The hub writes the template at once to 9 clusters, and ignores the rollout strategy. "+
		"It then rolls it out to 3 clusters without a ManifestWork, with the rollout strategy.",
		view.EffectOf(o, view.VerbUndo, &revisions[1], nil).Then)
	status := &o.ReplicaSet.Status
	o = &view.Objects{ReplicaSet: o.ReplicaSet, Works: o.Works, Revisions: o.Revisions, Now: o.Now} // An abort reads no Placements.
	status.Summary.DesiredTotal, status.Revisions = 22, append(status.Revisions, workv1alpha1.RevisionStatus{Hash: "older", Clusters: 3})
	require.Contains(t, view.EffectOf(o, view.VerbAbort, nil, nil).Then, "to 5 clusters with another revision or no ManifestWork")
}

// TestEffectOfARetry: the rollout does not continue while too many other clusters have failed.
func TestEffectOfARetry(t *testing.T) {
	o := fleet(t, "8", "10m")
	o.Now = now.Add(time.Hour)
	for i := range 9 {
		failure := workv1alpha1.ClusterFailure{Cluster: fmt.Sprintf("c%02d", i+1), Placement: "p", Since: metav1.NewTime(now.Add(10 * time.Minute))}
		o.ReplicaSet.Status.Failures = append(o.ReplicaSet.Status.Failures, failure)
	}
	retry := func(clusters ...string) string { return view.EffectOf(o, view.VerbRetry, nil, clusters).Then }
	require.Equal(t, "The hub gives 1 cluster a new deadline, and continues the rollout.", retry("c09"))
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MaxFailures = intstr.FromInt32(5)
	require.Equal(t, "The hub gives 1 cluster a new deadline, and starts no other clusters until enough clusters recover.", retry("c09"))
}

// TestResumeAsksForItsOutcome: the question changes if the resume would have another effect, so that no user confirms a different action.
func TestResumeAsksForItsOutcome(t *testing.T) {
	asked := func(change func(*view.Objects)) string {
		o := fleet(t, "1", "10m")
		o.ReplicaSet.Spec.Paused, o.ReplicaSet.Status.Summary.Total = true, 20
		change(o)
		return view.EffectOf(o, view.VerbResume, nil, nil).Question
	}
	require.Contains(t, asked(func(*view.Objects) {}), "and continue its rollout?")
	require.Contains(t, asked(func(o *view.Objects) { o.Now = o.Now.Add(time.Hour) }), "and abort its failed rollout?")
	require.Contains(t, asked(func(o *view.Objects) { o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now)) }), "and return to revision 1?")
	require.Contains(t, asked(func(o *view.Objects) { o.ReplicaSet.Spec.ManifestWorkTemplate.Workload.Manifests = nil }), "and apply the template in the spec?")
}

// TestUndoToTheAbortedRevision: an undo to the aborted revision does not start a rollout, because only a retry ends an
// abort.
func TestUndoToTheAbortedRevision(t *testing.T) {
	o := fleet(t, "1", "10m")
	o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now))
	undo := view.EffectOf(o, view.VerbUndo, &view.Revision{Number: 2, Hash: o.ReplicaSet.Status.UpdateRevision}, nil)
	require.Zero(t, undo.Clusters)
	require.Contains(t, undo.Then, "stays aborted. Retry it")
	_, err := view.UndoTarget(o, 2, view.Allowed{Aborted: true})
	require.ErrorContains(t, err, "kubectl mwrs retry web")
}

// If the hub writes to no cluster, the effect states this.
func TestEffectsWithoutWrites(t *testing.T) {
	o := fleettest.Objects(5, now)
	older := view.Revision{Number: 1, Hash: o.ReplicaSet.Status.UpdateRevision}
	o.ReplicaSet.Status.Summary.Total, o.ReplicaSet.Status.CurrentRevision = 5, older.Hash
	require.Equal(t, "The hub writes nothing: every ManifestWork has this template already.", view.EffectOf(o, view.VerbUndo, &older, nil).Then)
	o.ReplicaSet.Status.UpdateRevision = "newer"
	require.Equal(t, "The hub keeps revision 1, and writes it to any cluster that already has revision newer. The spec does not change.",
		view.EffectOf(o, view.VerbAbort, nil, nil).Then)
}

// The groups have each cluster once, in the order of the rollout. A cluster of two Placements belongs to the first Placement.
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

// TestAbortable: like the hub, the plugin refuses an abort of a rollout to the current revision, even if the rollout is in progress.
func TestAbortable(t *testing.T) {
	set := objects(t).ReplicaSet
	set.Status.State = workv1alpha1.StateRollingOut
	require.NoError(t, view.Abortable(set))
	set.Status.Ledger, set.Status.Revisions = "{}", []workv1alpha1.RevisionStatus{{Hash: set.Status.UpdateRevision}}
	require.ErrorContains(t, view.Abortable(set), "the hub has no ControllerRevision web-"+set.Status.CurrentRevision+" to return to")
	set.Status.UpdateRevision = set.Status.CurrentRevision
	for _, state := range []workv1alpha1.State{workv1alpha1.StateRollingOut, workv1alpha1.StatePaused, workv1alpha1.StateComplete} {
		set.Status.State = state
		require.ErrorContains(t, view.Abortable(set), "there is nothing to abort", state)
	}
}
