package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// skipping returns a placementRef that skips unavailable clusters.
func skipping(ref workv1alpha1.LocalPlacementReference) workv1alpha1.LocalPlacementReference {
	ref.RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
	return ref
}

// lost cuts off a cluster. Its Placement tolerates that, and keeps selecting the cluster.
func (s *teller) lost(cluster string) {
	s.Tell("agents: %s is cut off", cluster)
	s.Report(cluster, "", Silent)
	s.settle(10 * time.Second)
	s.Lose(cluster)
}

// skipped returns the clusters that the status lists as skipped.
func (s *teller) skipped() (names []string) {
	for _, away := range s.Object().Status.Away {
		if away.Skipped {
			names = append(names, away.Cluster)
		}
	}
	return names
}

// TestSkipUnavailable: the rollout passes over unavailable clusters, and each gets the revision when it is available again. The hub stops
// after each of its writes in turn.
func TestSkipUnavailable(t *testing.T) {
	for write := range 10 {
		s := checkedStory(t)
		s.Join("c1", "c2", "c3", "c4")
		s.stable(skipping(progressive("p1", 1, "30s", 0, true)), "c1", "c2", "c3")
		s.lost("c1")
		s.Place("p1", []string{"c1", "c2", "c3", "c4"})
		s.lost("c4") // It may already have a work, but has none if it was lost first.
		s.settle(10 * time.Second)
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.settle(2 * time.Minute)
		s.Fault = nil
		s.settle(2 * time.Minute)
		require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State, s.story())
		require.Equal(t, "v1", s.held("c1"))
		require.Equal(t, "v2", s.held("c2"))
		require.Equal(t, "v2", s.held("c3"))
		require.Contains(t, s.skipped(), "c1")
		s.says(workv1alpha1.ConditionManifestworkApplied, "unavailable and skipped")

		s.regain("c1")
		s.settle(50 * time.Second)
		require.Equal(t, "v1", s.held("c1"), "a cluster that flaps is not written")
		s.settle(30 * time.Second)
		require.Equal(t, "v2", s.held("c1"), s.story())
		s.regain("c4")
		s.quiet()
		s.everywhere("v2")
		require.Empty(t, s.skipped())
	}
}

// TestSkipReachesNewClusters: a cluster that is selected while it is unavailable has no work, so no event of a work tells the hub that the
// cluster is available again. If the object does not select the cluster, its return does not cause a pass.
func TestSkipReachesNewClusters(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2", "c3")
	s.Place("p1", []string{"c1"})
	s.Create("v1", skipping(progressive("p1", 1, "30s", 0, true)))
	s.settle(10 * time.Second)
	require.Equal(t, "v1", s.held("c1"), "a cluster that was available when the hub started is not skipped")
	s.quiet()
	s.Lose("c2")
	s.Place("p1", []string{"c1", "c2"})
	s.settle(5 * time.Minute)
	require.Empty(t, s.held("c2"))
	require.Equal(t, []string{"c2"}, s.skipped())
	back := func(cluster *clusterv1.ManagedCluster) {
		cluster.Spec.Taints, cluster.Status.Conditions[0].Status = nil, metav1.ConditionTrue
	}
	away := func(cluster *clusterv1.ManagedCluster) { cluster.Status.Conditions[0].Status = metav1.ConditionUnknown }
	require.Equal(t, []string{"default/web"}, s.noted("c2", back))
	require.Empty(t, s.noted("c3", away))
	s.Regain("c2")
	s.settle(70 * time.Second)
	require.Equal(t, "v1", s.held("c2"), s.story())
}

// TestSkipAndAbort: a revision that cuts off clusters is aborted even with Skip, and the abort also writes to the skipped clusters.
func TestSkipAndAbort(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2", "c3")
	s.stable(skipping(progressive("p1", 1, "10m", 0, true)), "c1", "c2", "c3")
	s.Update("v2")
	s.quiet()
	s.lost("c3")
	s.Report("c1", "v3", Silent)
	s.Update("v3")
	s.settle(5 * time.Minute)
	require.Equal(t, "v3", s.held("c1"))
	s.Lose("c1") // The hub has just written v3 there.
	s.settle(10 * time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v2")
	require.Equal(t, []string{"c1"}, s.failed())
}

// TestSkipWithoutTheRight: without permission to read ManagedClusters, the conditions report that the field has no effect.
func TestSkipWithoutTheRight(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.NoClusters = true
	s.Join("c1", "c2")
	s.stable(skipping(progressive("p1", 2, "30s", 0, false)), "c1", "c2")
	s.lost("c2")
	s.Update("v2")
	s.settle(time.Minute)
	require.Equal(t, "v2", s.held("c2"))
	s.says(workv1alpha1.ConditionProgressing, "unavailableClusters: Skip has no effect, because this hub can't read ManagedClusters")
}
