package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func TestFirstRolloutAndUpdate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "5s", 0)))
	f.everywhere("v1")
	mwrs := f.complete()
	require.NotEmpty(t, mwrs.Status.CurrentRevision)
	require.Equal(t, mwrs.Status.CurrentRevision, mwrs.Status.UpdateRevision)
	require.Equal(t, 3, mwrs.Status.Summary.Updated)
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	f.quiet()

	f.update("v2")
	f.everywhere("v2")
	mwrs = f.complete()
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	require.Equal(t, 3, mwrs.Status.Summary.Available)
	require.Equal(t, "New revision web-"+f.hash("v2")+" is successfully progressed", message(mwrs, workv1alpha1.ConditionProgressing))
	f.quiet()
	for _, version := range []string{"v1", "v2"} {
		require.Equal(t, 1, f.mostInFlight(version), "in flight with %s", version)
	}
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2, "c3": 2}, f.generations())
}

// R10: never more clusters in flight than a batch has.
func TestProgressiveKeepsToItsBatch(t *testing.T) {
	t.Parallel()
	for name, concurrency := range map[string]intstr.IntOrString{
		"number":  intstr.FromInt32(2),
		"percent": intstr.FromString("40%"), // of 5
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 5)
			f.place("p1", []string{"c1", "c2", "c3", "c4", "c5"})
			strategy := progressive(2, "20s", 0)
			strategy.Progressive.MaxConcurrency = concurrency
			f.agentsReport("", "v1", hangs)
			f.agentsReport("", "v2", hangs)
			f.create("v1", ref("p1", strategy))
			for _, version := range []string{"v1", "v2"} {
				if version != "v1" {
					f.update(version)
				}
				eventually(t, "a whole batch has "+version, func() error {
					if n := f.mostInFlight(version); n != 2 {
						return fmt.Errorf("%d clusters", n)
					}
					return nil
				})
				f.agentsReport("", version, succeeds)
				f.complete()
				f.everywhere(version)
				require.Equal(t, 2, f.mostInFlight(version))
			}
		})
	}
}

// R8: a cluster that several placementRefs select has one work, belongs to the first, and is counted once.
func TestOverlappingPlacements(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"})
	f.place("p2", []string{"c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "20s", 0)), ref("p2", progressive(1, "20s", 0)))
	mwrs := f.complete()
	f.everywhere("v1")
	require.Len(t, f.works(), 3)
	require.Equal(t, "p1", f.work("c2").Labels[workv1alpha1.LabelPlacement])
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	require.Equal(t, 3, mwrs.Status.Summary.Updated)
	require.Equal(t, 2, mwrs.Status.PlacementsSummary[0].Summary.DesiredTotal)
	require.Equal(t, 1, mwrs.Status.PlacementsSummary[1].Summary.DesiredTotal)
	f.quiet()

	// When the first placementRef is removed, the second takes over the cluster: nothing changes there.
	uid := f.work("c2").UID
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PlacementRefs = mwrs.Spec.PlacementRefs[1:] })
	f.everywhere("v1", "c2", "c3")
	f.complete()
	require.Equal(t, uid, f.work("c2").UID)
	require.EqualValues(t, 1, f.work("c2").Generation)
	require.Equal(t, "p2", f.work("c2").Labels[workv1alpha1.LabelPlacement])
	f.quiet()
	require.Equal(t, []string{"v1"}, f.sequence("c2"))
}
