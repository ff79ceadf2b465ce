package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceRestsAfterAPassThatChangedNothing(t *testing.T) {
	p := &Pace{}
	began := time.Unix(100, 0)
	require.LessOrEqual(t, p.Wait(began), time.Duration(0), "the first event after a quiet time gets a pass at once")

	ended := began.Add(3 * time.Millisecond)
	p.Passed(began, ended, false)
	require.Equal(t, 30*time.Millisecond, p.Wait(ended))
	require.LessOrEqual(t, p.Wait(ended.Add(30*time.Millisecond)), time.Duration(0))

	p.Passed(began, ended, true)
	require.LessOrEqual(t, p.Wait(ended), time.Duration(0), "the next pass continues at once with what the last one decided")

	p.Passed(began, began.Add(time.Minute), false)
	require.Equal(t, maxRest, p.Wait(began.Add(time.Minute)), "an abort does not wait longer than this")
	require.LessOrEqual(t, p.Wait(began.Add(-time.Hour)), time.Duration(0), "there is no wait for a clock that was set back")
}
