package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestUndoTarget: an undo restores the current revision during a rollout. After a rollout, it restores the newest earlier revision that was
// current. It restores an aborted revision only if allowed.
func TestUndoTarget(t *testing.T) {
	edited := func(o *view.Objects) { // Every cluster has v2; the spec has v3.
		complete(o)
		o.ReplicaSet.Spec.ManifestWorkTemplate = *template("v3")
		o.ReplicaSet.Generation, o.ReplicaSet.Status.ObservedGeneration = 7, 6
		o.ReplicaSet.Status.State = workv1alpha1.StateComplete
	}
	for name, c := range map[string]struct {
		change  func(*view.Objects)
		number  int64
		allowed view.Allowed
		want    int64
		err     string
	}{
		"during a rollout": {want: 1},
		"by number":        {number: 2, want: 2},
		"after a rollout":  {change: complete, want: 1},
		"no such revision": {number: 9, err: "there is no revision 9"},
		"never current": {change: func(o *view.Objects) {
			complete(o)
			revisiontest.Amend(o.Revisions[0], func(r *revision.Record) { r.Ended = time.Time{} })
		}, err: "no earlier"},
		"aborted":             {change: func(o *view.Objects) { aborted(o.Revisions[1]) }, number: 2, err: "add --allow-aborted"},
		"aborted, allowed":    {change: func(o *view.Objects) { aborted(o.Revisions[1]) }, number: 2, allowed: view.Allowed{Aborted: true}, want: 2},
		"after the first one": {change: func(o *view.Objects) { complete(o); o.Revisions = o.Revisions[1:] }, err: "no earlier"},
		"another template, paused (R23)": {change: func(o *view.Objects) {
			edited(o)
			o.ReplicaSet.Spec.Paused, o.ReplicaSet.Status.State = true, workv1alpha1.StatePaused
		}, want: 2},
		"another template, not observed yet": {change: edited, want: 2},
		"revision can't be read":             {change: func(o *view.Objects) { o.Revisions[0].Data.Raw = []byte(`{}`) }, err: "missing or can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t)
			if c.change != nil {
				c.change(o)
			}
			target, err := view.UndoTarget(o, c.number, c.allowed)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, target.Number)
		})
	}
}

// TestClustersWithoutTheirObjects: without works, the view shows the clusters in the status and explains why.
func TestClustersWithoutTheirObjects(t *testing.T) {
	failure := workv1alpha1.ClusterFailure{Cluster: "c7", Placement: "p", Since: metav1.NewTime(now), Reason: "Degraded", Message: "crash loop"}
	for name, c := range map[string]struct {
		change func(*view.Objects)
		note   string
	}{
		"no permission": {func(o *view.Objects) {
			o.Missing = []string{"list manifestworks.work.open-cluster-management.io in all namespaces"}
		}, "no permission to list manifestworks"},
		"over a broker": {func(o *view.Objects) { o.ReplicaSet.Status.Summary.Total = 2 }, "travel over a broker"},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t, c.change)
			o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{failure}
			f := view.FleetOf(o)
			require.Len(t, f.Attention, 1)
			require.Equal(t, "c7", f.Attention[0].Name)
			require.Contains(t, fmt.Sprint(f.Notes), c.note)
			require.Equal(t, []view.Cause{{
				State: rollout.PhaseFailed, Reason: "Degraded", Message: "crash loop", Clusters: []string{"c7"}, Since: failure.Since.Time,
			}}, f.Causes)
		})
	}
}

// TestCompletedHoldsUp: a cluster that ran to completion at another revision needs attention, because the rollout or the abort waits for it.
func TestCompletedHoldsUp(t *testing.T) {
	rollingOut := func(o *view.Objects) {
		o.Works = []work.Work{succeeding(t, "c1", "v2"), completed(t, "c2", "v2")}
	}
	abort := func(o *view.Objects) {
		at := metav1.NewTime(now.Add(time.Minute))
		o.ReplicaSet.Status.AbortedTime = &at
		o.Works = []work.Work{succeeding(t, "c1", "v1"), completed(t, "c2", "v1")}
	}
	for revision, change := range map[string]func(*view.Objects){"2": rollingOut, "1": abort} {
		remedy := "its agent accepts no new revision: delete its ManifestWork to roll out revision " + revision
		o := objects(t, change)
		f := view.FleetOf(o)
		require.Len(t, f.Attention, 1)
		require.Equal(t, rollout.PhaseCompleted, f.Attention[0].State)
		require.Equal(t, []string{"c2"}, f.Attention[0].Names)
		require.Contains(t, f.Attention[0].Message, remedy)
		require.Equal(t, 1, f.Bars[0].Done)
		require.Nil(t, f.Estimate, "nothing is in progress")
		story, err := view.Why(o, "c2")
		require.NoError(t, err)
		require.Contains(t, story.Future[0].Text, remedy)
	}
}

// TestClustersOfAnAbort: while a rollout is aborted, each cluster shows its progress toward the current revision.
func TestClustersOfAnAbort(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		at := metav1.NewTime(now.Add(time.Minute))
		o.ReplicaSet.Status.AbortedTime = &at
		o.Works = []work.Work{succeeding(t, "c1", "v1"), succeeding(t, "c2", "v2")}
	})
	f := view.FleetOf(o)
	require.Equal(t, "1 of 2 clusters confirmed revision 1", f.Summary)
	clusters := view.Clusters(o)
	require.Equal(t, "c2", clusters[0].Name, "the cluster that has not returned comes first")
	require.Equal(t, "2", clusters[0].Wrote)
	require.Equal(t, rollout.PhaseSucceeded, clusters[1].State)
	require.True(t, clusters[1].Confirmed)

	soaking := objects(t, func(to *view.Objects) {
		to.ReplicaSet.Status, to.Works = o.ReplicaSet.Status, []work.Work{succeeding(t, "c1", "v1"), succeeding(t, "c2", "v1")}
		to.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = canary(clusterv1alpha1.RolloutProgressive{
			RolloutConfig: clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: 24 * time.Hour}},
		})
	})
	require.Equal(t, "2 of 2 clusters confirmed revision 1", view.FleetOf(soaking).Summary, "an abort does not wait for minSuccessTime")

	story, err := view.Why(o, "c1")
	require.NoError(t, err)
	require.Equal(t, "the hub wrote revision 1", story.Past[0].Text)
	_, err = view.Why(o, "c9")
	require.ErrorContains(t, err, `selects cluster "c9"`)

	o.ReplicaSet.Status.Away = []workv1alpha1.AwayCluster{{Cluster: "c8", Placement: "p"}, {Cluster: "c9", Placement: "p"}}
	o.Works = append(o.Works, succeeding(t, "c8", "v1"), succeeding(t, "c9", "v2"))
	require.Equal(t, "2 of 4 clusters confirmed revision 1", view.FleetOf(o).Summary, "clusters that are away count, too")
}
