package main

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/scenario"
)

// Every scenario runs with both controllers, on real control planes. The measurements are meaningless at this size.
func TestEveryScenario(t *testing.T) {
	binaries, err := hub.Build(t.Context())
	require.NoError(t, err)
	figures, err := scenario.Run(t.Context(), scenario.Options{
		Clusters: []int{4}, Greedy: 1, Sets: 2, PerSet: 3, Controllers: []hub.Controller{hub.Ours, hub.Upstream}, Binaries: binaries,
		Settle: 100 * time.Millisecond, Delay: 50 * time.Millisecond,
		Repeat: 1, Events: 1, EventTime: time.Second, Rest: 150 * time.Millisecond, Idle: 150 * time.Millisecond, Patience: time.Minute, Out: io.Discard,
	})
	require.NoError(t, err)
	played := map[string]int{}
	for i := range figures {
		f := &figures[i]
		played[f.Controller+": "+f.Scenario]++
		// With so few clusters, the cost of one event is smaller than the cost of measuring it.
		if f.Works > 0 {
			require.Positive(t, f.CPU, "%+v", f)
			require.Equal(t, f.Works, f.Writes, "%+v", f)
			require.GreaterOrEqual(t, f.LastWrite, f.FirstWrite, "%+v", f)
			require.Greater(t, f.Complete, f.LastWrite, "%+v", f)
			if f.Scenario != report.Beside && f.Scenario != report.BesideWorst { // Requests are counted over all tenants.
				require.Equal(t, f.Works, f.Requests["POST manifestworks"]+f.Requests["PATCH manifestworks"], "%+v", f)
			}
		}
	}
	require.Equal(t, []string{
		"ours: abort alone", "ours: abort beside a greedy tenant", "ours: abort beside the worst templates", "ours: automatic abort", "ours: first rollout", "ours: first rollout, many sets", "ours: going back by hand, half done", "ours: status event that changes nothing",
		"ours: status event, many sets", "ours: update All", "ours: update Progressive 10%",
		"upstream: first rollout", "upstream: first rollout, many sets", "upstream: going back by hand, half done", "upstream: status event that changes nothing",
		"upstream: status event, many sets", "upstream: update All", "upstream: update Progressive 10%",
	}, slices.Sorted(maps.Keys(played)))
	result := report.Run{Figures: figures}
	require.NoError(t, write(filepath.Join(t.TempDir(), "report.md"), &result))
}

// The same scenarios, and those that exist only with a broker, run with a separate broker process and sdk-go's agents. Every work reaches
// its agent regardless of restarts, and only the rollouts that should be aborted are aborted.
func TestEveryScenarioOverABroker(t *testing.T) {
	binaries, err := hub.Build(t.Context())
	require.NoError(t, err)
	for _, driver := range []string{hub.MQTT, hub.GRPC} {
		t.Run(driver, func(t *testing.T) { everyScenarioOver(t, driver, binaries) })
	}
}

func everyScenarioOver(t *testing.T, driver string, binaries hub.Binaries) {
	t.Helper()
	figures, err := scenario.Run(t.Context(), scenario.Options{
		Clusters: []int{4}, Driver: driver, Controllers: []hub.Controller{hub.Ours}, Binaries: binaries,
		Settle: 100 * time.Millisecond, Delay: 50 * time.Millisecond,
		Repeat: 1, Events: 1, EventTime: time.Second, Rest: 150 * time.Millisecond, Idle: 150 * time.Millisecond, Patience: 2 * time.Minute, Out: io.Discard,
	})
	require.NoError(t, err)
	played := []string{}
	for i := range figures {
		f := &figures[i]
		played = append(played, f.Scenario)
		require.Equal(t, driver, f.Driver)
		require.Zero(t, f.Aborts+f.Missing, "%+v", f)
		require.Zero(t, f.Requests["POST manifestworks"]+f.Requests["PATCH manifestworks"], "%+v", f)
		if f.Works > 0 {
			require.GreaterOrEqual(t, f.Messages, 2*f.Works, "%+v", f)
			require.Positive(t, f.PeakMemory, "%+v", f)
			require.Positive(t, f.FirstWrite, "%+v", f)
			require.GreaterOrEqual(t, f.LastWrite, f.FirstWrite, "%+v", f)
		}
	}
	require.Equal(t, []string{
		report.First, report.Quiet, report.All, report.Progressive, report.Back, report.Abort,
		report.Restart, report.RestartMidway, report.AgentsReturn, report.BrokerRestart,
	}, played)
	result := report.Run{Figures: figures}
	require.NoError(t, write(filepath.Join(t.TempDir(), "report.md"), &result))
}
