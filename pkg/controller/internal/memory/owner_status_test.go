package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// A time counts from when this process saw it first, if it is ahead: the clock that wrote it was. A clock that is set back makes that now.
func TestBeginSeen(t *testing.T) {
	m := &Owners{}
	see := func(began, now time.Duration) time.Duration {
		return m.BeginSeen(owner, rt.At(began), rt.At(now)).Sub(rt.At(0))
	}
	require.Equal(t, time.Minute, see(time.Hour, time.Minute))
	require.Equal(t, time.Minute, see(time.Hour, 2*time.Minute))
	require.Equal(t, time.Minute, see(time.Hour, 2*time.Hour))
	require.Zero(t, see(time.Hour, 0), "the clock was set back")
	require.Equal(t, 10*time.Minute, see(10*time.Minute, 20*time.Minute), "a later rollout")
	require.Zero(t, m.BeginSeen("demo/other", time.Time{}, rt.At(0)), "no rollout")
}

// What was written back in an abort is that of that abort only.
func TestWrittenBack(t *testing.T) {
	m := &Owners{}
	m.WroteBack(owner, "first", "c1")
	m.WroteBack(owner, "first", "c2")
	back := m.WrittenBack(owner)
	require.Equal(t, lifecycle.WrittenBack{Abort: "first", Clusters: map[string]bool{"c1": true, "c2": true}}, back)
	back.Clusters["c3"] = true
	require.Len(t, m.WrittenBack(owner).Clusters, 2, "a copy")
	m.WroteBack(owner, "second", "c1")
	require.Equal(t, lifecycle.WrittenBack{Abort: "second", Clusters: map[string]bool{"c1": true}}, m.WrittenBack(owner))
}

// An abort is known from the pass that left it to the one that carried it out.
func TestAborting(t *testing.T) {
	a := NewAborting()
	require.Equal(t, NoAbort, a.Of(owner))
	a.Note(owner, AbortUnderWay)
	require.Equal(t, AbortUnderWay, a.Of(owner))
	require.Equal(t, NoAbort, a.Of("demo/other"))
	a.Note(owner, NoAbort)
	require.Equal(t, NoAbort, a.Of(owner))
}
