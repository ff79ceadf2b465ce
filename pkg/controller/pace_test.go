package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceRestsAfterAPassThatChangedNothing(t *testing.T) {
	p := newPace()
	began := time.Unix(100, 0)
	require.LessOrEqual(t, p.wait("a", began), time.Duration(0), "the first event after a quiet time is looked at at once")

	ended := began.Add(3 * time.Millisecond)
	p.passed("a", began, ended, false)
	require.Equal(t, 30*time.Millisecond, p.wait("a", ended))
	require.LessOrEqual(t, p.wait("a", ended.Add(30*time.Millisecond)), time.Duration(0))
	require.LessOrEqual(t, p.wait("b", ended), time.Duration(0), "others don't wait for it")

	p.passed("a", began, ended, true)
	require.LessOrEqual(t, p.wait("a", ended), time.Duration(0), "what a pass decided goes on at once")

	p.passed("a", began, began.Add(time.Minute), false)
	require.Equal(t, maxRest, p.wait("a", began.Add(time.Minute)), "an abort does not wait longer than this")
	require.Equal(t, maxRest, p.wait("a", began.Add(-time.Hour)), "also when the clock went back")
	p.forget("a")
	require.LessOrEqual(t, p.wait("a", began), time.Duration(0))
}
