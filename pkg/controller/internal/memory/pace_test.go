package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceRestsAfterAPassThatChangedNothing(t *testing.T) {
	p := NewPace()
	began := time.Unix(100, 0)
	require.LessOrEqual(t, p.Wait("a", began), time.Duration(0), "the first event after a quiet time is looked at at once")

	ended := began.Add(3 * time.Millisecond)
	p.Passed("a", began, ended, false)
	require.Equal(t, 30*time.Millisecond, p.Wait("a", ended))
	require.LessOrEqual(t, p.Wait("a", ended.Add(30*time.Millisecond)), time.Duration(0))
	require.LessOrEqual(t, p.Wait("b", ended), time.Duration(0), "others don't wait for it")

	p.Passed("a", began, ended, true)
	require.LessOrEqual(t, p.Wait("a", ended), time.Duration(0), "what a pass decided goes on at once")

	p.Passed("a", began, began.Add(time.Minute), false)
	require.Equal(t, maxRest, p.Wait("a", began.Add(time.Minute)), "an abort does not wait longer than this")
	require.LessOrEqual(t, p.Wait("a", began.Add(-time.Hour)), time.Duration(0), "nothing waits for a clock that was set back")
	p.Forget("a")
	require.LessOrEqual(t, p.Wait("a", began), time.Duration(0))
}
