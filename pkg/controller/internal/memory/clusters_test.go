package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestClusters: a heartbeat is not a change. After a cluster returns, its minute is measured with the clock of this process.
func TestClusters(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	c := NewClusters()
	changed := func(name string, report availability.Report, now time.Time) bool {
		changed, ruled := c.Note(name, report, now)
		require.False(t, ruled)
		return changed
	}
	require.False(t, changed("c1", availability.Report{Available: true, Since: at(-60)}, at(0)), "the first report is not a change")
	require.False(t, changed("c1", availability.Report{Available: true, Since: at(-60)}, at(1)), "a heartbeat is not a change")
	known, exists := c.ClusterOf("c1", at(1))
	require.True(t, exists)
	require.True(t, known.Available)
	require.Equal(t, at(0), known.AvailableSince)

	require.True(t, changed("c1", availability.Report{Since: at(2)}, at(3)))
	known, _ = c.ClusterOf("c1", at(3))
	require.False(t, known.Available)
	require.Equal(t, at(2), known.UnavailableSince)

	require.True(t, changed("c1", availability.Report{Available: true, Since: at(-600)}, at(5)), "the clock of its agent is behind")
	known, _ = c.ClusterOf("c1", at(6))
	require.Equal(t, at(5), known.AvailableSince)
	require.Equal(t, at(2), known.UnavailableSince, "its status stays the same until the minute has passed")

	require.False(t, changed("c1", availability.Report{Available: true, Since: at(6)}, at(7)), "an absence that no pass saw also starts a new minute")
	known, _ = c.ClusterOf("c1", at(7))
	require.Equal(t, at(7), known.AvailableSince)
	known, _ = c.ClusterOf("c1", at(-60))
	require.Equal(t, at(-60), known.AvailableSince, "the clock was set back")

	require.True(t, c.Forget("c1"))
	require.False(t, c.Forget("c1"))
	_, exists = c.ClusterOf("c1", at(8))
	require.False(t, exists)
}

// TestHold: the rule of a cluster is parsed once, and its hold changes with the time, even if the clock is set back.
func TestHold(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }
	c := NewClusters()
	note := func(rule availability.Rule) (changed, ruled bool) {
		return c.Note("c1", availability.Report{Available: true, Since: at(0), Rule: rule}, at(1))
	}
	holdAt := func(hour int) (hold placement.Hold, held bool, changes time.Time) {
		holds, changes := c.Holds(map[string]int{"c1": 0, "unknown": 0}, at(hour))
		hold, held = holds["c1"]
		return hold, held, changes
	}
	_, held, _ := holdAt(9)
	require.False(t, held)
	changed, ruled := note(availability.Rule{Windowed: true, Windows: "UTC 10:00-12:00"})
	require.False(t, changed)
	require.True(t, ruled)
	for _, tc := range []struct {
		hour, changes int
		held          bool
	}{{9, 10, true}, {10, 12, false}, {11, 12, false}, {12, 34, true}, {9, 10, true}} {
		hold, held, changes := holdAt(tc.hour)
		require.Equal(t, tc.held, held, tc)
		require.Equal(t, at(tc.changes), changes, tc)
		if held {
			require.Equal(t, at(tc.changes), hold.Opens)
		}
	}
	changed, ruled = note(availability.Rule{Held: true, Hold: "a\nb", Windowed: true, Windows: "UTC 00:00-24:00"})
	require.False(t, changed)
	require.True(t, ruled)
	hold, held, changes := holdAt(11)
	require.True(t, held)
	require.True(t, changes.IsZero())
	require.Equal(t, "a b", hold.Reason)
	known, _ := c.ClusterOf("c1", at(11))
	require.Equal(t, at(1), known.AvailableSince)

	_, ruled = note(availability.Rule{Windowed: true, Windows: "nonsense"})
	require.True(t, ruled)
	hold, held, _ = holdAt(11)
	require.True(t, held)
	require.True(t, hold.Opens.IsZero())
	require.Contains(t, hold.Reason, "its windows can't be read: ")
	_, ruled = note(availability.Rule{})
	require.True(t, ruled)
	_, held, _ = holdAt(11)
	require.False(t, held)
	_, _ = note(availability.Rule{Held: true})
	c.Forget("c1")
	_, held, _ = holdAt(11)
	require.False(t, held)
}
