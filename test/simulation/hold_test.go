package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestClusterOnHold: the rollout completes without the cluster, which gets the revision after the hold. The hub stops after each of its
// writes in turn.
func TestClusterOnHold(t *testing.T) {
	for write := range 10 {
		s := checkedStory(t)
		s.Join("c1", "c2", "c3")
		s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
		s.Hold("c1", "the rack is moved")
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.settle(2 * time.Minute)
		s.Fault = nil
		s.quiet()
		status := s.Object().Status
		require.Equal(t, workv1alpha1.StateComplete, status.State, s.story())
		require.Equal(t, "v1", s.held("c1"))
		require.Equal(t, "v2", s.held("c3"))
		require.Equal(t, []workv1alpha1.HeldCluster{{Cluster: "c1", Placement: "p1", Reason: "the rack is moved"}}, status.Held)
		require.Equal(t, 1, status.Summary.Held)
		s.says(workv1alpha1.ConditionManifestworkApplied, "on hold: 1 cluster (c1: the rack is moved); each gets the revision after the hold is removed")

		s.Hold("c1", "")
		s.quiet()
		s.everywhere("v2")
		require.Empty(t, s.Object().Status.Held)
	}
}

// TestClosedWindow: the rollout waits for the window of a cluster, even if the hub restarts or its clock is set back, and starts on the
// cluster when the window opens. The stories begin on Friday, 2 January 2026, at 3:00 UTC.
func TestClosedWindow(t *testing.T) {
	for write := range 10 {
		s := checkedStory(t)
		s.Join("c1", "c2")
		s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
		s.Windows("c1", "Europe/Berlin 22:00-05:00")
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.settle(2 * time.Hour)
		s.Fault = nil
		opens := time.Date(2026, 1, 2, 21, 0, 0, 0, time.UTC)
		require.Equal(t, "v1", s.held("c1"), s.story())
		require.Equal(t, "v2", s.held("c2"))
		status := s.Object().Status
		require.Equal(t, workv1alpha1.StateRollingOut, status.State, s.story())
		require.True(t, opens.Equal(status.Held[0].Until.Time))
		s.says(workv1alpha1.ConditionProgressing, "outside their windows: 1 cluster (c1 until 2026-01-02T21:00:00Z)",
			"the next window opens at 2026-01-02T21:00:00Z")
		if write%2 == 0 {
			s.Restart()
		}
		s.settle(opens.Sub(s.Clock.Now()) - time.Second)
		require.Equal(t, "v1", s.held("c1"), s.story())
		s.settle(time.Minute)
		require.Equal(t, "v2", s.held("c1"), s.story())
		require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State, s.story())
		require.Empty(t, s.Object().Status.Held)
	}
}

// TestAbortPassesHolds: an abort restores a cluster that is on hold, and a rollout that has begun on the cluster continues.
func TestAbortPassesHolds(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2", "c3")
	s.stable(progressive("p1", 2, "1m", 0, true), "c1", "c2", "c3")
	s.hangs("v2", "c2")
	s.settle(5 * time.Second)
	require.Equal(t, "v2", s.held("c1"))
	s.Hold("c1", "a freeze")
	s.Hold("c2", "a freeze")
	s.Windows("c3", "nonsense")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v1")
	s.Report("c2", "v3", Succeeds)
	s.Update("v3")
	s.quiet()
	s.everywhere("v1")
	require.Equal(t, workv1alpha1.StateRollingOut, s.Object().Status.State)
	s.says(workv1alpha1.ConditionProgressing, "c3: its windows can't be read: a window is a time zone, days and times")
}

// TestHoldReachesNewClusters: a change to the rule leads to a pass of the objects that select the cluster, even if the cluster has no work,
// but not to passes of other objects.
func TestHoldReachesNewClusters(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2", "c3")
	s.stable(progressive("p1", 1, "30s", 0, true), "c1")
	s.Hold("c2", "not yet")
	s.Hold("c3", "not yet")
	s.Place("p1", []string{"c1", "c2"})
	s.quiet()
	require.Empty(t, s.held("c2"))
	began := len(s.Story)
	s.Hold("c3", "")
	s.quiet()
	require.Zero(t, s.wrote(began, "hub: "), s.story())
	s.Hold("c2", "")
	s.settle(10 * time.Second)
	require.Equal(t, "v1", s.held("c2"), s.story())
}
