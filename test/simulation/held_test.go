package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestAbortedRevisionIsHeld: with Hold, an aborted revision whose template returns stays aborted, and no cluster gets it. A retry rolls it
// out. The hub stops after each of its writes in turn.
func TestAbortedRevisionIsHeld(t *testing.T) {
	for write := range 8 {
		s := checkedAbort(t, "c1", "c2", "c3")
		s.HoldAborted(workv1alpha1.HoldAborted)
		aborted := s.Object().Status.AbortedTime
		s.Update("v1")
		s.quiet()
		require.Nil(t, s.Object().Status.AbortedTime, s.story())

		began := len(s.Story)
		s.settle(time.Minute)
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.quiet()
		s.Fault = nil
		held := s.Object().Status
		require.Zero(t, s.wrote(began, " work "), s.story())
		require.Equal(t, workv1alpha1.StateAborted, held.State)
		require.Equal(t, s.hashOf("v2"), held.UpdateRevision)
		require.True(t, aborted.Before(held.AbortedTime))
		l := s.ledger()
		require.True(t, aborted.Time.Equal(l.Abort.Held), "%s, %s", aborted, l.Abort.Held)

		s.says(workv1alpha1.ConditionProgressing, "kubectl mwrs retry web -n default",
			"Hold keeps it aborted; its earlier rollout was aborted at "+aborted.UTC().Format(time.RFC3339)+": placement p1: ")

		s.Restart()
		s.Update("v1")
		s.quiet()
		s.Update("v2") // The message names the first abort again.
		s.quiet()
		l = s.ledger()
		require.True(t, aborted.Time.Equal(l.Abort.Held))
		require.Zero(t, s.wrote(began, " work "), s.story())

		s.Report("", "v2", Succeeds)
		s.Retry()
		s.quiet()
		s.everywhere("v2")
		s.Update("v1")
		s.quiet()
		s.Update("v2")
		s.quiet()
		s.everywhere("v2")
		require.Nil(t, s.Object().Status.AbortedTime, "its last rollout was complete\n%s", s.story())
	}
}

// TestHeldInMidRollout: the clusters that another revision has reached return to the stable one. A retried revision is not held later,
// because its last rollout was not aborted.
func TestHeldInMidRollout(t *testing.T) {
	s := checkedAbort(t, "c1", "c2", "c3")
	s.HoldAborted(workv1alpha1.HoldAborted)
	s.Report("c2", "v3", Hangs)
	s.Update("v3")
	s.settle(10 * time.Second)
	require.Equal(t, "v3", s.held("c1"), s.story())
	s.Update("v2")
	s.quiet()
	s.everywhere("v1")
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())

	s.Retry()
	s.settle(time.Second)
	s.Update("v1")
	s.quiet()
	s.Update("v2")
	s.settle(time.Second)
	require.Equal(t, "v2", s.held("c1"), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}
