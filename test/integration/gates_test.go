package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// creates makes the ManifestWorkReplicaSet of a real fleet at v1, and waits until it is complete.
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

// times returns how often a work was seen with a version.
func (f *fleet) times(version string) (n int) {
	for _, seen := range f.w.history.ofFleet(f) {
		if seen.version == version {
			n++
		}
	}
	return n
}

// A pipeline applies a bad version again: with Hold, no cluster gets it before somebody retries it.
func TestGateHold(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t)
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
