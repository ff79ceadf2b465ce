package cloudevents

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An agent derives its sequence IDs from the machine's clock at the time the agent starts. If that clock was ahead (for example, a hardware
// clock in local time) and is right after a restart, or is behind after a restart, the new reports have lower sequence IDs than the last
// report before the restart. They must not be dropped as duplicates. Otherwise, a cluster that succeeds would count as failed, and the
// rollout would be aborted.
func TestAgentWithAnotherClockAfterItsRestart(t *testing.T) {
	for name, clocks := range map[string]struct{ before, after time.Duration }{
		"ahead before": {before: 8 * time.Hour, after: time.Hour},
		"behind after": {before: time.Hour, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSteps(t)
			s.wire.sequence = clocks.before.Milliseconds() << 22
			work := s.create(owned("c1", "v1"))
			s.tell(work, metav1.ConditionFalse)

			s.after(time.Hour)
			s.wire.sequence = clocks.after.Milliseconds() << 22
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
		})
	}
}

func TestIsLater(t *testing.T) {
	id := func(at time.Duration) string { return strconv.FormatInt(at.Milliseconds()<<22, 10) }
	for name, test := range map[string]struct {
		earlier, sequence string
		want              bool
	}{
		"the first":                 {"", id(time.Hour), true},
		"a later one":               {id(time.Hour), id(time.Hour + time.Second), true},
		"the same":                  {id(time.Hour), id(time.Hour), false},
		"one that was overtaken":    {id(time.Hour), id(time.Hour - maxLate), false},
		"one of another process":    {id(time.Hour), id(time.Hour - maxLate - time.Second), true},
		"one that can't be read":    {id(time.Hour), "soon", false},
		"one without a sequence ID": {id(time.Hour), "", false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, isLater(test.earlier, test.sequence)) })
	}
}
