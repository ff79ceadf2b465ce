package cloudevents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An agent that reports a work with the generation that it was sent has received it, even if it has not applied it yet: it is slow, not
// unreached.
func TestSlowAgentIsReached(t *testing.T) {
	s := newSteps(t)
	s.after(2 * time.Minute) // Agents count as returned.
	work := s.create(owned("c1", "v1"))
	for range 8 {
		s.Receive(t.Context(), s.wire.report(t, work))
		s.work()
		s.after(confirmAfter)
	}
	require.False(t, s.Unreached(work.UID), "it has the generation %d", work.Generation)
}
