package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// retriedStory returns a fleet in which the rollout of v2 was aborted, and retried by hand.
func retriedStory(t *testing.T, begin func(*teller), deadline string) *teller {
	s := &teller{World: NewWorld(), t: t}
	begin(s)
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, deadline, 0, true))
	s.settle(time.Minute)
	s.hangs("v2", "c1")
	s.settle(5 * time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.settle(300 * time.Millisecond)
	s.Retry()
	s.settle(400 * time.Millisecond)
	require.Nil(t, s.Object().Status.AbortedTime)
	return s
}

// TestAbortAfterARetry: an abort after a retry stays in effect, even if the clocks show the opposite order.
func TestAbortAfterARetry(t *testing.T) {
	t.Run("by hand, within the second of the retry", func(t *testing.T) {
		s := retriedStory(t, func(*teller) {}, "30s")
		s.AbortByHand()
		s.settle(10 * time.Second)
		require.NotNil(t, s.Object().Status.AbortedTime, s.story())
		s.everywhere("v1")
	})
	t.Run("the next hub's clock is 18s behind, both are within the tolerance of 10s", func(t *testing.T) {
		s := retriedStory(t, func(s *teller) { s.HubAhead = 9 * time.Second; s.Restart() }, "5s")
		s.HubAhead = -9 * time.Second
		s.Restart()
		require.NoError(t, s.Settle(10*time.Minute), strings.Join(s.Story[:min(len(s.Story), 60)], "\n"))
		require.NotNil(t, s.Object().Status.AbortedTime, s.story())
		s.everywhere("v1")
	})
	t.Run("the clock of the hub cluster is set back by 10 minutes", func(t *testing.T) {
		s := retriedStory(t, func(*teller) {}, "30s")
		s.Clock.Step(-10 * time.Minute)
		s.Restart()
		require.NoError(t, s.Settle(5*time.Minute), strings.Join(s.Story[:min(len(s.Story), 60)], "\n"))
		require.NotNil(t, s.Object().Status.AbortedTime, s.story())
		s.everywhere("v1")
	})
}
