package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
)

// A watch that died unnoticed hides a success. Based on the cache alone, the hub would abort, but it does not.
func TestDeadWatchLeadsToNoAbort(t *testing.T) {
	w := NewWorld()
	w.Place("p1", []string{"c1", "c2"})
	w.Create("v1", progressive("p1", 1, "30s", 0, true))
	require.NoError(t, w.Settle(Forever))
	w.Update("v2")
	require.NoError(t, w.Settle(reportDelay/2))
	require.Equal(t, "v2", Version(w.Works()[0]))
	require.Zero(t, w.Hub.Behind())
	dead := false
	w.Lag = func(waiting int) int {
		if dead {
			return 0
		}
		return waiting
	}
	dead = true
	for range 100 {
		w.step()
		w.Clock.Step(time.Second)
		w.due = true
	}
	require.Nil(t, w.Object().Status.AbortedTime)
	work := w.Works()[0]
	require.True(t, w.succeeded(work), "%s", versionsOf(w.Works()))

	dead = false
	require.NoError(t, w.Settle(Forever))
	require.NoError(t, w.CheckQuiet())
	require.Nil(t, w.Object().Status.AbortedTime)
	for _, work := range w.Works() {
		require.Equal(t, "v2", Version(work))
	}
}

func versionsOf(works []*workv1.ManifestWork) []string {
	versions := make([]string, 0, len(works))
	for _, work := range works {
		versions = append(versions, work.Namespace+" "+Version(work))
	}
	return versions
}
