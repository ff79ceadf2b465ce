package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R42: what the hub decides while a policy denies its writes of the status is told when the status can be written again.
func TestEventsOfDecisionsThatTheStatusDidNotShow(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.restarts()
	s.settle(5 * time.Minute)
	permit := s.refusing("patch replicaset web/status", Denied)
	s.hangs("v2", "")
	s.settle(5 * time.Minute)
	s.everywhere("v1")
	require.Nil(t, s.Object().Status.AbortedTime)
	permit()
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.warned(workv1alpha1.EventRolloutAborted, "c1")
}

// R43: an abort that was complete remains complete while the hub may not read the history.
func TestCompleteAbortWithoutHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.aborts()
	s.quiet()
	require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State)
	s.API.NoHistory = true
	s.restarts()
	s.settle(5 * time.Minute)
	require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State, s.story())
}
