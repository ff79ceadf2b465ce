package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// creates creates the ManifestWorkReplicaSet of a real fleet at v1, and waits until its rollout is complete.
func (f *realFleet) creates(change func(*workv1alpha1.ManifestWorkReplicaSetSpec), refs ...workv1alpha1.LocalPlacementReference) {
	f.t.Helper()
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate, mwrs.Spec.PlacementRefs = realTemplate("v1", true), refs
	change(&mwrs.Spec)
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(f.t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}

// times returns the number of times that a work was seen with a version.
func (f *fleet) times(version string) (n int) {
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.version == version {
			n++
		}
	}
	return n
}

// A pipeline applies a bad version again: with Hold, no cluster gets it before a user retries it.
func TestGateHold(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "hold")
	hold := func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.AbortedRevisionPolicy = workv1alpha1.HoldAborted
	}
	f.creates(hold, ref("p1", progressive(1, "8s", 0, abortAll)))
	f.roll("v2", false)
	f.aborted()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	f.roll("v1", true)
	f.complete()
	require.Nil(t, f.get().Status.AbortedTime)
	seen := f.times("v2")

	f.roll("v2", false)
	f.aborted()
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "kubectl mwrs retry web -n "+f.namespace)
	require.Equal(t, seen, f.times("v2"))
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}

// A placementRef reports what AbortAll would decide, and nothing is restored.
func TestGateReportAbort(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "report")
	first := ref("p1", progressive(1, "8s", 0, abortAll))
	first.RolloutStrategy.FailureStrategy = workv1alpha1.ReportAbort
	f.creates(func(*workv1alpha1.ManifestWorkReplicaSetSpec) {}, first)
	f.roll("v2", false)
	eventually(t, "the rollout would have aborted", func() error {
		if state := f.get().Status.State; state != workv1alpha1.StateWouldAbort {
			return fmt.Errorf("%s", state)
		}
		return nil
	})
	require.Nil(t, f.get().Status.AbortedTime)
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "with 1 cluster on the new version")
	require.Equal(t, "v1", f.deployed("c2"))
	f.roll("v3", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v3", "c2": "v3"})
}

// availability sets the availability of a cluster, as OCM would.
func (f *realFleet) availability(short string, available metav1.ConditionStatus) {
	f.t.Helper()
	clusters := f.w.clusters.ClusterV1().ManagedClusters()
	cluster, err := clusters.Get(f.t.Context(), f.cluster(short), metav1.GetOptions{})
	require.NoError(f.t, err)
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: available, Reason: "Test", Message: "set by the test",
	})
	_, err = clusters.UpdateStatus(f.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// annotates sets an annotation of a cluster; an empty value removes it.
func (f *realFleet) annotates(short, annotation, value string) {
	f.t.Helper()
	clusters := f.w.clusters.ClusterV1().ManagedClusters()
	cluster, err := clusters.Get(f.t.Context(), f.cluster(short), metav1.GetOptions{})
	require.NoError(f.t, err)
	if metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, annotation, value); value == "" {
		delete(cluster.Annotations, annotation)
	}
	_, err = clusters.Update(f.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// An administrator puts one cluster on hold and closes the windows of the other: rollouts pass the first one over, and wait for the second.
func TestGateClusterHold(t *testing.T) {
	t.Parallel()
	f := newRealClusters(t, "window")
	f.annotates("c1", workv1alpha1.AnnotationHold, "the rack is moved")
	closed := time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3]
	f.annotates("c2", workv1alpha1.AnnotationWindow, "UTC "+closed+" 10:00-11:00")
	t.Cleanup(f.w.startManager(context.WithoutCancel(t.Context()), controller.DefaultSuccessSettle))
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate = realTemplate("v1", true)
	mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", progressive(1, "8s", 0, abortAll))}
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "both are held", func() error {
		if status := f.get().Status; len(status.Held) != 2 || status.State != workv1alpha1.StateRollingOut {
			return fmt.Errorf("%s, held %v", status.State, status.Held)
		}
		return nil
	})
	f.deploys(map[string]string{"c1": "", "c2": ""})
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "the rack is moved")
	f.annotates("c2", workv1alpha1.AnnotationWindow, "")
	f.complete()
	f.deploys(map[string]string{"c1": "", "c2": "v1"})
	f.annotates("c1", workv1alpha1.AnnotationHold, "")
	eventually(t, "c1 has it after the hold", func() error {
		if found := f.deployed("c1"); found != "v1" {
			return fmt.Errorf("c1 has %q", found)
		}
		return nil
	})
}

// A cluster is unavailable, and its Placement tolerates that: with Skip, a rollout completes without it, and it gets the revision when it
// is available again.
func TestGateSkip(t *testing.T) {
	t.Parallel()
	f := newRealClusters(t, "skip")
	f.availability("c1", metav1.ConditionUnknown)
	t.Cleanup(f.w.startManager(context.WithoutCancel(t.Context()), controller.DefaultSuccessSettle))
	first := ref("p1", progressive(1, "8s", 0, abortAll))
	first.RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate, mwrs.Spec.PlacementRefs = realTemplate("v1", true), []workv1alpha1.LocalPlacementReference{first}
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the rollout is complete without c1", func() error {
		status := f.get().Status
		if away := status.Away; status.State != workv1alpha1.StateComplete || len(away) != 1 || !away[0].Skipped {
			return fmt.Errorf("%s, away %v", status.State, away)
		}
		return nil
	})
	f.deploys(map[string]string{"c1": "", "c2": "v1"})
	require.Contains(t, message(f.get(), workv1alpha1.ConditionManifestworkApplied), "unavailable and skipped")

	f.availability("c1", metav1.ConditionTrue)
	await.Eventually(t, 2*patience, "c1 has it after a minute", func() error {
		if found := f.deployed("c1"); found != "v1" {
			return fmt.Errorf("c1 has %q", found)
		}
		return nil
	})
	eventually(t, "none is skipped", func() error {
		if away := f.get().Status.Away; len(away) > 0 {
			return fmt.Errorf("%v", away)
		}
		return nil
	})
}
