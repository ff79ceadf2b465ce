package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R8: decisions are written in slices, one after the other. A cluster that moves between slices is in none for a moment.
func TestDecisionsThatMoveBetweenSlicesDeleteNothing(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(3, "20s", 0))
	works := map[string]any{}
	for _, cluster := range f.clusters {
		works[cluster] = f.work(cluster).UID
	}
	f.decide("p1", "p1-decision-1", 0, "c1")
	f.never("c2", "gone", 3*time.Second)
	f.decide("p1", "p1-decision-2", 0, "c2", "c3")
	f.never("c2", "gone", 6*time.Second)
	f.complete()
	for _, cluster := range f.clusters {
		require.Equal(t, works[cluster], f.work(cluster).UID)
		require.EqualValues(t, 1, f.work(cluster).Generation)
	}
	f.quiet()
}

// R8: the placement controller dies between two slices. Its successor comes after the leader lease of 137 s: until then a cluster is in no slice.
func TestPlacementControllerThatDiesBetweenSlicesDeletesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"}, []string{"c3"})
	f.create("v1", ref("p1", all("20s", 0)))
	f.complete()
	uid := f.work("c2").UID
	f.decide("p1", "p1-decision-1", 0, "c1")
	f.never("c2", "gone", 17*time.Second)
	require.Nil(t, f.work("c2").DeletionTimestamp)
	f.decide("p1", "p1-decision-2", 1, "c2", "c3")
	f.complete()
	require.Equal(t, uid, f.work("c2").UID)
	require.EqualValues(t, 1, f.work("c2").Generation)
	f.quiet()
}

// R8: decisions that stay fewer than the Placement's own count are believed later.
func TestDecisionsThatDontMatchAreBelievedLater(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("20s", 0))
	left := time.Now()
	f.decide("p1", "p1-decision-1", 0, "c1") // NumberOfSelectedClusters says 2.
	f.everywhere("v1", "c1")
	require.GreaterOrEqual(t, time.Since(left), 14*time.Second)
	f.update("v2")
	f.has("c1", "v2")
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	f.never("c1", "complete", time.Second)
	require.NotEqual(t, f.get().Status.CurrentRevision, f.get().Status.UpdateRevision, "R13: not complete while decisions are missing")
	f.place("p1", []string{"c1"})
	f.complete()
	f.quiet()
}

// R8: while a Placement is missing nothing is deleted.
func TestPlacementThatDisappearsDeletesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1"})
	f.place("p2", []string{"c2", "c3"})
	f.create("v1", ref("p1", all("20s", 0)), ref("p2", all("20s", 0)))
	f.complete()
	f.displace("p1")
	f.place("p2", []string{"c2"}) // Nobody selects c3 either.
	mwrs := f.state("PlacementDecisionNotFound=False", "", "", "")
	require.Contains(t, message(mwrs, workv1alpha1.ConditionPlacementVerified), `"p1"`)
	always(t, "all works stay", 7*time.Second, func() error {
		if versions := f.versions(); len(versions) != 3 {
			return fmt.Errorf("works: %v", versions)
		}
		return nil
	})
	f.quiet()
	f.place("p1", []string{"c1"})
	f.everywhere("v1", "c1", "c2")
	f.complete()
	require.EqualValues(t, 1, f.work("c1").Generation)
}

// displace deletes a Placement and its decisions.
func (f *fleet) displace(name string) {
	f.t.Helper()
	ctx := f.t.Context()
	client := f.w.clusters.ClusterV1beta1()
	require.NoError(f.t, client.Placements(f.namespace).Delete(ctx, name, metav1.DeleteOptions{}))
	err := client.PlacementDecisions(f.namespace).Delete(ctx, name+"-decision-1", metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(f.t, err)
	}
}

// R8: a Placement without any decision says nothing about its clusters.
func TestPlacementWithoutDecisionsDeletesNothing(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("20s", 0))
	require.NoError(t, f.w.clusters.ClusterV1beta1().PlacementDecisions(f.namespace).Delete(t.Context(), "p1-decision-1", metav1.DeleteOptions{}))
	always(t, "the work stays", 7*time.Second, func() error {
		if versions := f.versions(); len(versions) != 1 {
			return fmt.Errorf("works: %v", versions)
		}
		return nil
	})
	f.place("p1", []string{"c1"})
	f.complete()
	require.EqualValues(t, 1, f.work("c1").Generation)
}
