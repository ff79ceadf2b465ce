package upgrade

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

func TestUpAndDown(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.starts("v1.0.0")
	require.Equal(t, []string{"create configmaps"}, w.writes)
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	w.starts("v1.0.0")
	require.Empty(t, w.writes)
	require.Empty(t, w.events())

	w.starts("v1.1.0")
	require.ElementsMatch(t, []string{
		"patch manifestworkreplicasets a", "patch manifestworkreplicasets b", "patch configmaps work-hub-current-version",
	}, w.writes)
	require.Equal(t, "patch configmaps work-hub-current-version", w.writes[2], "last")
	require.Equal(t, map[string]string{"version": "v1.1.0", "snapshots": "v1.0.0"}, w.recorded())
	require.Contains(t, w.get("a").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Equal(t, []string{"Normal HubUpgraded version v1.0.0 ran last, and this hub is the newer v1.1.0; " +
		"2 snapshots of ManifestWorkReplicaSets were taken, 0 were rejected"}, w.events())
	w.starts("v1.1.0")
	require.Empty(t, w.writes)

	const later = `{"format":2,"owner":"uid-a","seq":9}`
	rev := w.revision("a").DeepCopy()
	rev.Annotations[workv1alpha1.AnnotationLedger] = later
	require.NoError(t, w.kube.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), rev, "default"))
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Status.Ledger, set.Status.CurrentRevision, set.Status.AbortedTime = later, "", ptr.To(metav1.NewTime(completed))
	})
	w.starts("v1.0.0")
	var aboutA []string
	for _, write := range w.writes {
		if !strings.HasSuffix(write, " b") {
			aboutA = append(aboutA, write)
		}
	}
	require.Equal(t, []string{
		"patch manifestworkreplicasets/status a", "patch controllerrevisions " + rev.Name, "patch manifestworkreplicasets a",
		"patch configmaps work-hub-current-version",
	}, aboutA, "status, revisions, annotations, and the version last")
	require.Len(t, w.writes, 5, "b only loses its snapshot")
	require.Equal(t, w.get("a").Status.UpdateRevision, w.get("a").Status.CurrentRevision)
	require.Nil(t, w.get("a").Status.AbortedTime)
	require.Equal(t, w.get("a").Status.Ledger, w.revision("a").Annotations[workv1alpha1.AnnotationLedger], "the copy, so that it applies")
	require.Contains(t, w.revision("a").Annotations[workv1alpha1.AnnotationRecord], "2026-01-01T00:00:00Z")
	require.EqualValues(t, 10, w.ledger("a").Seq, "above both")
	require.EqualValues(t, 4, w.ledger("b").Seq)
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	require.Empty(t, w.get("b").Annotations)
	said := w.events()
	require.Len(t, said, 2)
	require.Contains(t, said[0], "Normal SnapshotRestored version v1.0.0 of the hub runs again after version v1.1.0, and restored its decisions about this object from its snapshot: check the revision and the state")
	require.Contains(t, said[1], "Normal HubDowngraded version v1.1.0 ran last, and this hub is older (v1.0.0); the snapshots of 2 ManifestWorkReplicaSets were restored")

	w.starts("v1.1.0")
	require.Equal(t, map[string]string{"version": "v1.1.0", "snapshots": "v1.0.0"}, w.recorded())
}

func TestDevelopmentBuild(t *testing.T) {
	w := newWorld(t, "a")
	w.starts("v1.0.0")
	w.kube.ClearActions()
	w.starts("v0.0.0-unknown")
	homeless := w.runner("v1.1.0")
	homeless.Namespace = ""
	require.NoError(t, homeless.Run(t.Context()))
	require.Empty(t, w.kube.Actions())
	w.state(metrics.UpgradeDevelopment)
}

func TestRefusal(t *testing.T) {
	w := newWorld(t, "a")
	w.starts("v1.1.0")
	w.starts("v1.2.0")
	w.events()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	looks := make(chan struct{}, 1000)
	w.refuse = func(write string) error {
		if strings.HasPrefix(write, "get configmaps") {
			select {
			case looks <- struct{}{}:
			default:
			}
		}
		return nil
	}
	w.writes = nil
	go func() { done <- w.runner("v1.0.0").Run(ctx) }()
	for range 5 {
		select {
		case <-looks:
		case err := <-done:
			t.Fatal("it ended: ", err)
		}
	}
	require.Equal(t, []string{"Warning DowngradeRefused this hub is v1.0.0, version v1.2.0 ran last, and there are no snapshots of v1.0.0 to restore " +
		"(there are snapshots of v1.1.0): ManifestWorkReplicaSets are not reconciled; run the version that ran last, or delete the ConfigMap " +
		"work-hub-current-version in this hub's namespace to continue with the existing state"}, w.events(), "once")
	w.state(metrics.UpgradeRefused)
	require.NoError(t, w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), hubNamespace, plan.ConfigMap))
	require.NoError(t, <-done)
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	w.state(metrics.UpgradeRecorded)
}

// While a version is refused, each object reports this and the remedy once, and so does an object that is created in the meantime. The
// other conditions of the last hub that reconciled the object stay. A write that fails is retried.
func TestRefusalIsSaidInEachObject(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Status.State = workv1alpha1.StateRollingOut
		set.Status.Conditions = []metav1.Condition{
			{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNewRevisionCreated},
			{Type: workv1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNewRevisionCreated},
		}
	})
	w.edit("b", func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	})
	w.starts("v1.2.0")
	before := w.get("a").DeepCopy()
	failing := true
	w.refuse = func(write string) error {
		if failing && write == "patch manifestworkreplicasets/status a" {
			return conflict
		}
		return nil
	}
	w.writes = nil
	r := w.runner("v1.0.0")
	require.False(t, r.try(t.Context()))
	require.Equal(t, []string{"patch manifestworkreplicasets/status b"}, w.writes)
	require.Equal(t, workv1alpha1.StateDeleting, w.get("b").Status.State)
	failing = false
	require.False(t, r.try(t.Context()))
	require.Len(t, w.writes, 1, "not immediately")
	w.clock.Step(tellInterval)
	require.False(t, r.try(t.Context()))
	require.Equal(t, []string{"patch manifestworkreplicasets/status b", "patch manifestworkreplicasets/status a"}, w.writes)
	for range 3 {
		w.clock.Step(tellInterval)
		require.False(t, r.try(t.Context()))
		require.False(t, w.runner("v1.0.0").try(t.Context()), "another process repeats nothing")
	}
	require.Len(t, w.writes, 2)

	after := w.get("a")
	require.Equal(t, workv1alpha1.StateStalled, after.Status.State)
	require.Len(t, after.Status.Conditions, 2, "Reconciling and Stalled never occur together")
	require.Equal(t, before.Status.Conditions[0], after.Status.Conditions[0])
	told := meta.FindStatusCondition(after.Status.Conditions, workv1alpha1.ConditionStalled)
	require.Equal(t, []any{metav1.ConditionTrue, workv1alpha1.ReasonDowngradeRefused, int64(3)}, []any{told.Status, told.Reason, told.ObservedGeneration})
	require.Contains(t, told.Message, "this hub is v1.0.0, version v1.2.0 ran last")
	require.Contains(t, told.Message, "delete the ConfigMap work-hub-current-version")
}

func TestContextEnds(t *testing.T) {
	w := newWorld(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	w.refuse = func(string) error {
		if tries++; tries == 3 {
			cancel()
		}
		return internal
	}
	require.Error(t, w.runner("v1.0.0").Run(ctx))
	require.Nil(t, w.recorded())
}
