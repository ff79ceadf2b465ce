package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// A start time in the future is replaced by the time at which this process first saw it, because the clock that wrote it was ahead. If
// the clock is set back, it becomes the current time.
func TestBeginSeen(t *testing.T) {
	m := &Owner{}
	see := func(began, now time.Duration) time.Duration {
		return m.BeginSeen(rt.At(began), rt.At(now)).Sub(rt.At(0))
	}
	require.Equal(t, time.Minute, see(time.Hour, time.Minute))
	require.Equal(t, time.Minute, see(time.Hour, 2*time.Minute))
	require.Equal(t, time.Minute, see(time.Hour, 2*time.Hour))
	require.Zero(t, see(time.Hour, 0), "the clock was set back")
	require.Equal(t, 10*time.Minute, see(10*time.Minute, 20*time.Minute), "a later rollout")
}

// The list of restored clusters belongs to one abort.
func TestWrittenBack(t *testing.T) {
	m := &Owner{}
	m.WroteBack("first", "c1")
	m.WroteBack("first", "c2")
	back := m.WrittenBack()
	require.Equal(t, lifecycle.WrittenBack{Abort: "first", Clusters: map[string]bool{"c1": true, "c2": true}}, back)
	back.Clusters["c3"] = true
	require.Len(t, m.WrittenBack().Clusters, 2, "a copy")
	m.WroteBack("second", "c1")
	require.Equal(t, lifecycle.WrittenBack{Abort: "second", Clusters: map[string]bool{"c1": true}}, m.WrittenBack())
}
