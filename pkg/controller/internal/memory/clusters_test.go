package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
)

// TestClusters: a heartbeat changes nothing, and the minute of a cluster that is back runs by this process's clock.
func TestClusters(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	c := NewClusters()
	require.False(t, c.Note("c1", availability.Report{Available: true, Since: at(-60)}, at(0)), "the first sight is no change")
	require.False(t, c.Note("c1", availability.Report{Available: true, Since: at(-60)}, at(1)), "nor is a heartbeat")
	known, exists := c.Of("c1", at(1))
	require.True(t, exists)
	require.True(t, known.Available)
	require.Equal(t, at(0), known.AvailableSince)

	require.True(t, c.Note("c1", availability.Report{Since: at(2)}, at(3)))
	known, _ = c.Of("c1", at(3))
	require.False(t, known.Available)
	require.Equal(t, at(2), known.UnavailableSince)

	require.True(t, c.Note("c1", availability.Report{Available: true, Since: at(-600)}, at(5)), "the clock of its agent is behind")
	known, _ = c.Of("c1", at(6))
	require.Equal(t, at(5), known.AvailableSince)
	require.Equal(t, at(2), known.UnavailableSince, "its status stays the same until the minute has passed")

	require.False(t, c.Note("c1", availability.Report{Available: true, Since: at(6)}, at(7)), "it was away unseen: nothing ends before its new minute")
	known, _ = c.Of("c1", at(7))
	require.Equal(t, at(7), known.AvailableSince)
	known, _ = c.Of("c1", at(-60))
	require.Equal(t, at(-60), known.AvailableSince, "the clock was set back")

	require.True(t, c.Forget("c1"))
	require.False(t, c.Forget("c1"))
	_, exists = c.Of("c1", at(8))
	require.False(t, exists)
}
