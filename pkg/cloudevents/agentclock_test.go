package cloudevents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An agent derives its sequence IDs from the machine's clock at the time the agent starts. If the clock was ahead (for example, a hardware
// clock in local time), and the agent restarts with the correct clock, its new reports have lower sequence IDs than the last report before
// the restart. They must not be dropped as duplicates: a cluster that succeeds would fail, and abort the rollout (R11).
func TestAgentWhoseClockWasAheadBeforeItsRestart(t *testing.T) {
	const ahead = 8 * time.Hour
	s := newSteps(t)
	s.wire.sequence = ahead.Milliseconds() << 22
	work := s.create(owned("c1", "v1"))
	s.tell(work, metav1.ConditionFalse)

	s.after(time.Hour)
	s.wire.sequence = time.Hour.Milliseconds() << 22
	works := s.Works().WorkV1().ManifestWorks("c1")
	next, err := works.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, settled(next))
	next.Spec = spec("v2")
	next, err = works.Update(t.Context(), next, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.False(t, settled(next))

	s.tell(next, metav1.ConditionFalse)
	_, heard := s.HeardSince("c1")
	require.True(t, heard, "deadlines count for it")
	s.meanwhile = func() { s.tell(next, metav1.ConditionFalse) }
	live, err := works.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, settled(live), "the agent has reported the new generation, also when it was asked before an abort")
}
