package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// withTemplate returns the object with another template.
func withTemplate(o *view.Objects, version string) *workv1alpha1.ManifestWorkReplicaSet {
	set := o.ReplicaSet.DeepCopy()
	set.Spec.ManifestWorkTemplate = *template(version)
	return set
}

// TestWith: a template gets the number that the hub would assign, and the objects on the hub do not change.
func TestWith(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		want    view.Change
	}{
		"the same template": {"v2", view.Change{Number: 2, Hash: hash("v2"), Same: true}},
		"a new template":    {"v3", view.Change{Number: 3, Hash: hash("v3")}},
		"an undo":           {"v1", view.Change{Number: 3, Hash: hash("v1"), Returns: 1}},
	} {
		o := objects(t)
		before := o.ReplicaSet.DeepCopy()
		next, change, err := view.With(o, withTemplate(o, c.version))
		require.NoError(t, err, name)
		require.Equal(t, c.want, *change, name)
		require.Equal(t, c.want.Hash, next.ReplicaSet.Status.UpdateRevision, name)
		require.Equal(t, before, o.ReplicaSet, name)
		require.Len(t, o.Revisions, 2, name)
		require.Equal(t, int64(1), o.Revisions[0].Revision, name)
		ahead, err := view.AheadOf(next)
		require.NoError(t, err, name)
		require.Equal(t, []forecast.Wave{{Now: true, Parts: []forecast.WavePart{{Placement: "p", Group: "0/", Clusters: []string{"c1", "c2"}}}}},
			ahead.Waves, name)
	}
}

// TestWithEndsAnAbort: a new template begins a rollout, even after an abort. The failures belong to the older rollout.
func TestWithEndsAnAbort(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		at := metav1.NewTime(now.Add(time.Minute))
		o.ReplicaSet.Status.AbortedTime = &at
		o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1", Placement: "p", Since: at, Reason: "Degraded"}}
		aborted(o.Revisions[1])
	})
	same, _, err := view.With(o, o.ReplicaSet)
	require.NoError(t, err)
	_, err = view.AheadOf(same)
	require.ErrorContains(t, err, "kubectl mwrs get web -n default")

	next, _, err := view.With(o, withTemplate(o, "v3"))
	require.NoError(t, err)
	ahead, err := view.AheadOf(next)
	require.NoError(t, err)
	require.Equal(t, "1", ahead.Current)
	require.Equal(t, "3", ahead.Revision)
	require.Zero(t, ahead.Limits[0].Failed)
	require.Len(t, ahead.Waves, 1)
}

// TestWithAnUndoInTheWindow: a template in the rollback window reaches every cluster at once, as in the hub.
func TestWithAnUndoInTheWindow(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Status.CurrentRevision = hash("v2")
		revisiontest.Amend(o.Revisions[0], func(r *revision.Record) { r.Began = now })
		revisiontest.Amend(o.Revisions[1], func(r *revision.Record) { r.Ended = now.Add(time.Minute) })
		o.Works = []work.Work{succeeding(t, "c1", "v2"), succeeding(t, "c2", "v2")}
		strategy := &o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy
		strategy.Type = clusterv1alpha1.Progressive
		strategy.Progressive = &clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(1)}
	})
	for window, waves := range map[int32]int{0: 2, 1: 1} {
		set := withTemplate(o, "v1")
		set.Spec.RollbackWindow = &workv1alpha1.RollbackWindow{Revisions: &window}
		next, _, err := view.With(o, set)
		require.NoError(t, err)
		ahead, err := view.AheadOf(next)
		require.NoError(t, err)
		require.Len(t, ahead.Waves, waves, "window %d: %v", window, ahead.Waves)
	}
}

// TestAheadNeedsItsObjects: incomplete objects are an error, because the plan would be wrong.
func TestAheadNeedsItsObjects(t *testing.T) {
	for want, change := range map[string]func(*view.Objects){
		"no permission to list works, which plan requires": func(o *view.Objects) { o.Missing = []string{"list works"} },
		"travel over a broker":                             func(o *view.Objects) { o.ReplicaSet.Status.Summary.Total = 2 },
		"has not processed":                                func(o *view.Objects) { o.ReplicaSet.Status = workv1alpha1.ManifestWorkReplicaSetStatus{} },
	} {
		_, err := view.AheadOf(objects(t, change))
		require.ErrorContains(t, err, want)
	}
}

// TestAheadNotes: a Placement that is missing, or whose decisions are incomplete, is named.
func TestAheadNotes(t *testing.T) {
	ahead, err := view.AheadOf(objects(t, func(o *view.Objects) { o.Placements = nil }))
	require.NoError(t, err)
	require.Equal(t, []string{"Placement p does not exist"}, ahead.Notes)
	ahead, err = view.AheadOf(objects(t, func(o *view.Objects) { o.Placements["p"].Status.NumberOfSelectedClusters = 3 }))
	require.NoError(t, err)
	require.Equal(t, []string{"the decisions of Placement p are incomplete: it selects 3 clusters"}, ahead.Notes)
}

// TestAheadWaits: clusters that wait are grouped by reason, and clusters that no wave reaches are counted.
func TestAheadWaits(t *testing.T) {
	o := objects(t)
	o.Works = []work.Work{written(t, "c1", "v2")}
	strategy := &o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy
	strategy.Type = clusterv1alpha1.Progressive
	strategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "10m"}, MaxConcurrency: intstr.FromInt32(1),
	}
	o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{{
		Cluster: "c1", Placement: "p", Since: metav1.NewTime(now.Add(30 * time.Minute)), Reason: "DeadlineExceeded",
	}}
	ahead, err := view.AheadOf(o)
	require.NoError(t, err)
	require.Empty(t, ahead.Waves)
	require.Equal(t, 1, ahead.Unreached)
	require.Contains(t, ahead.Waiting, view.Waiting{For: rollout.WaitHalt, State: rollout.PhaseWaiting, Clusters: []string{"c2"}, Text: view.WaitText(rollout.WaitHalt)})
	require.Equal(t, 1, ahead.Limits[0].Failed)
}

// TestLimitsOfNoCluster: if no cluster counts, no failure has a consequence. The text gives the reason.
func TestLimitsOfNoCluster(t *testing.T) {
	for want, change := range map[string]func(*view.Objects){
		"no cluster is selected, so none can fail": func(o *view.Objects) {
			o.Placements["p"].Status.NumberOfSelectedClusters = 0
			o.Decisions["p"][0].Status.Decisions = nil
		},
		"no cluster counts while all of them are on hold or skipped: the limits apply to those that get the revision later": func(o *view.Objects) {
			o.Holds = map[string]placement.Hold{"c1": {Reason: "the rack is moved"}, "c2": {Reason: "the rack is moved"}}
		},
	} {
		o := objects(t, change)
		ahead, err := view.AheadOf(o)
		require.NoError(t, err)
		require.Equal(t, want, ahead.Limits[0].Text)
	}
}

// TestAheadHolds: a plan names the clusters on hold with their reasons, and the clusters with closed windows with the next opening. The
// first wave waits for that opening.
func TestAheadHolds(t *testing.T) {
	o := objects(t)
	o.Holds = map[string]placement.Hold{"c1": {Reason: "the rack is moved"}, "c2": {Opens: o.Now.Add(time.Hour)}}
	next, _, err := view.With(o, withTemplate(o, "v3"))
	require.NoError(t, err)
	ahead, err := view.AheadOf(next)
	require.NoError(t, err)
	require.Equal(t, "1, if every cluster recovers and succeeds; the first one waits", ahead.Text)
	require.Subset(t, ahead.Notes, []string{
		"c1: on hold: the rack is moved", "c2: the next window opens at " + o.Now.Add(time.Hour).UTC().Format(time.RFC3339),
	})
}

// TestHeldClusterSaysWhy: the lists of clusters show the reason for a hold, and when the next window opens.
func TestHeldClusterSaysWhy(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Status.Held = []workv1alpha1.HeldCluster{
			{Cluster: "c1", Reason: "the rack is moved"}, {Cluster: "c2", Until: &metav1.Time{Time: now.Add(2 * time.Hour)}},
		}
	})
	next, _, err := view.With(o, withTemplate(o, "v3"))
	require.NoError(t, err)
	messages := map[view.State]string{}
	for _, c := range view.Clusters(next) {
		messages[c.State] = c.Message
	}
	require.Equal(t, "on hold: the rack is moved", messages[rollout.PhaseHeld], messages)
	require.Equal(t, "the next window opens at "+now.Add(2*time.Hour).UTC().Format(time.RFC3339), messages[rollout.PhaseClosed], messages)
}
