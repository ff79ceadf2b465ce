package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// lease returns a Lease of 137 s that was renewed a time before the given one.
func lease(at time.Time, ago time.Duration) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(at.Add(-ago))
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("hub-1"), LeaseDurationSeconds: ptr.To(int32(137)), RenewTime: &renewed,
	}}
}

// changedBefore marks the spec as changed a time ago, and as not observed by any hub.
func changedBefore(o *view.Objects, ago time.Duration) {
	at := metav1.NewTime(o.Now.Add(-ago))
	o.ReplicaSet.Generation, o.ReplicaSet.Status.ObservedGeneration = 3, 2
	o.ReplicaSet.ManagedFields = []metav1.ManagedFieldsEntry{
		{Time: &at, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}},
		{Time: ptr.To(metav1.NewTime(o.Now)), Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}},
	}
}

// TestAlarms: a screen first reports that no hub acts, and then predicts nothing. It reports nothing if the objects do not show this.
func TestAlarms(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*view.Objects)
		want   string
	}{
		"nothing is known":          {func(*view.Objects) {}, ""},
		"a hub leads":               {func(o *view.Objects) { o.Lease = lease(o.Now, time.Minute) }, ""},
		"the Lease is late":         {func(o *view.Objects) { o.Lease = lease(o.Now, 5*time.Minute) }, "no hub is running: hub-1 has not renewed its lease for 5m0s"},
		"nobody leads":              {func(o *view.Objects) { o.Lease = &coordinationv1.Lease{} }, "no hub is running: no work controller leads"},
		"a spec that was just seen": {func(o *view.Objects) { changedBefore(o, 14*time.Second) }, ""},
		"a spec that nobody observed": {func(o *view.Objects) { changedBefore(o, 16*time.Second) },
			"no hub has acted on the latest change to default/web within 15s"},
		"a spec that waits for the end of an abort": {func(o *view.Objects) {
			changedBefore(o, time.Hour)
			o.ReplicaSet.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, ObservedGeneration: 3}}
		}, ""},
		"an abort that nobody carries out": {func(o *view.Objects) {
			o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now.Add(-20 * time.Second)))
		}, "no hub has acted on the latest change to default/web within 15s"},
		"a refusal": {func(o *view.Objects) {
			o.ReplicaSet.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
				Reason: workv1alpha1.ReasonDowngradeRefused, Message: "this hub is 1.0.0, version 1.1.0 ran last"}}
		}, "the hub refuses to run: this hub is 1.0.0, version 1.1.0 ran last"},
	} {
		t.Run(name, func(t *testing.T) {
			o := fleet(t, "6", "10m")
			c.change(o)
			f := view.FleetOf(o)
			if c.want == "" {
				require.Empty(t, f.Alarms)
				return
			}
			require.Len(t, f.Alarms, 1)
			require.Equal(t, c.want, f.Alarms[0].Text)
			require.NotEmpty(t, f.Alarms[0].Remedy)
			require.Equal(t, []string{"now: nothing changes until a work hub acts on this object"}, textsOf(o, f.Then))
			require.Equal(t, []string{"kubectl", "mwrs", "doctor"}, f.Next[0].Args)
			require.Nil(t, f.Estimate)
		})
	}
}

// TestAfterAnAbort: a cluster that is offline still runs the aborted revision. When every cluster has confirmed, the timeline shows this.
func TestAfterAnAbort(t *testing.T) {
	at := now.Add(time.Minute)
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(at))
		o.Works = []work.Work{succeeding(t, "c1", "v1"), succeeding(t, "c2", "v1")}
		for i := range o.Works {
			o.Works[i].Object.Annotations[workv1alpha1.AnnotationAppliedAt] = at.Add(time.Second).Format(time.RFC3339Nano)
		}
		o.Works[1].Object.Generation = 2
		o.ReplicaSet.Status.Revisions = []workv1alpha1.RevisionStatus{
			{Hash: hash("v2"), Revision: 2, ReachedClusters: ptr.To(int32(2))}, {Hash: hash("v1"), Revision: 1, Clusters: 2},
		}
	})
	f := view.FleetOf(o)
	require.EqualValues(t, 1, f.Reached.Now)
	require.EqualValues(t, 1, f.Revisions[0].Now)
	require.EqualValues(t, 1, f.Revisions[1].Now)
	counts := o.ReplicaSet.Status.Revisions
	counts[0].Clusters, counts[1].Clusters = 1, 1
	require.EqualValues(t, 1, view.FleetOf(o).Reached.Now, "the status counts the clusters as of before the abort")
	require.Equal(t, []string{"now: the hub waits for 1 cluster to confirm revision 1; there is no time limit"}, textsOf(o, f.Then))
	require.False(t, view.Restored(o))

	revisiontest.Amend(o.Revisions[1], func(r *revision.Record) { r.Abort = &revision.Abort{At: at, Restored: at.Add(time.Minute)} })
	require.True(t, view.Restored(o))
	require.Len(t, view.FleetOf(o).Then, 1, "one cluster has not confirmed")
	events := view.Timeline(o)
	require.Equal(t, "restored: every cluster had confirmed the revision to which the abort of revision 2 returned", events[len(events)-1].Text)
}

// TestReached: a revision never reached more clusters than counted for its rollout, although clusters have left since.
func TestReached(t *testing.T) {
	o := objects(t)
	status := &o.ReplicaSet.Status
	status.AbortedTime = ptr.To(metav1.NewTime(now))
	status.Revisions = []workv1alpha1.RevisionStatus{{Hash: hash("v2"), Revision: 2, ReachedClusters: ptr.To(int32(2))}}
	status.Summary.DesiredTotal = 1
	text := func() string { return view.FleetOf(o).Reached.Text(nil) }
	require.Equal(t, "2 clusters had revision 2", text(), "an API server that drops the number")
	status.PlacementsSummary = []workv1alpha1.PlacementSummary{{Name: "p", Counted: 3}, {Name: "q", Counted: 1}}
	require.Equal(t, "2 of 4 clusters had revision 2", text())
}

// TestRestoredOnTwoClocks: the hub's record of this abort decides, although a client with a wrong clock set the time of the abort. The
// record of an earlier abort does not count.
func TestRestoredOnTwoClocks(t *testing.T) {
	o := objects(t)
	ahead := now.Add(24 * time.Hour)
	o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(ahead))
	record := func(at time.Time) {
		revisiontest.Amend(o.Revisions[1], func(r *revision.Record) { r.Abort = &revision.Abort{At: at, Restored: now.Add(time.Hour)} })
	}
	record(ahead)
	require.True(t, view.Restored(o))
	record(now)
	require.False(t, view.Restored(o), "the record is of an earlier abort")
}

// TestWhyOrdersOneSecond: events in the same second are shown in the order of cause and effect. A failure comes after the write of its
// revision, and before the write of the revision that the cluster returned to.
func TestWhyOrdersOneSecond(t *testing.T) {
	at := now.Add(time.Minute)
	past := func(version string, change func(*view.Objects)) (told []string) {
		o := objects(t, func(o *view.Objects) {
			o.Works = []work.Work{succeeding(t, "c1", version)}
			o.Works[0].Object.Annotations[workv1alpha1.AnnotationAppliedAt] = at.Format(time.RFC3339Nano)
			o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{{
				Cluster: "c1", Placement: "p", Since: metav1.NewTime(at), Reason: workv1alpha1.FailureDegraded, Message: "crashes",
			}}
		}, change)
		story, err := view.Why(o, "c1")
		require.NoError(t, err)
		for _, fact := range story.Past {
			if strings.HasPrefix(fact.Text, "the hub ") {
				told = append(told, fact.Text)
			}
		}
		return told
	}
	require.Equal(t, []string{"the hub wrote revision 2", "the hub recorded a failure: degraded: crashes"}, past("v2", func(*view.Objects) {}))
	require.Equal(t, []string{"the hub recorded a failure of revision 2: degraded: crashes", "the hub wrote revision 1"},
		past("v1", func(o *view.Objects) { o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(at)) }))
}
