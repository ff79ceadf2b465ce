package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

func registered(t *testing.T) (*metrics.Metrics, k8smetrics.KubeRegistry) {
	t.Helper()
	m, registry := metrics.New(), k8smetrics.NewKubeRegistry()
	require.NoError(t, m.Register(registry))
	return m, registry
}

// series returns the number of series of a metric, or of one ManifestWorkReplicaSet if a name is given.
func series(t *testing.T, registry k8smetrics.Gatherer, metric, name string) (n int, sum float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.Metric {
			for _, label := range m.Label {
				if family.GetName() == metric && label.GetName() == "name" && label.GetValue() == name {
					n++
					sum += m.Gauge.GetValue()
				}
			}
		}
	}
	return n, sum
}

func TestCountersBeginAtZero(t *testing.T) {
	_, registry := registered(t)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mwrs_rollouts_started_total [ALPHA] Rollouts that began, by reason: Created (a new template), Found (an undo) or Retried (after an abort).
# TYPE mwrs_rollouts_started_total counter
mwrs_rollouts_started_total{reason="Created"} 0
mwrs_rollouts_started_total{reason="Found"} 0
mwrs_rollouts_started_total{reason="Retried"} 0
# HELP mwrs_reconciles_total [ALPHA] Passes over a ManifestWorkReplicaSet, by result: success, behind (the caches had not caught up, nothing was done) or error.
# TYPE mwrs_reconciles_total counter
mwrs_reconciles_total{result="behind"} 0
mwrs_reconciles_total{result="error"} 0
mwrs_reconciles_total{result="success"} 0
`), "mwrs_rollouts_started_total", "mwrs_reconciles_total"))
}

func TestWhatHappensIsCounted(t *testing.T) {
	m, registry := registered(t)
	m.RolloutStarted(metrics.Found)
	m.RolloutDegraded()
	m.Running(true)
	m.Restored(90 * time.Second)
	m.Restored(-time.Second) // The hub's clock was set back.
	m.RolloutEnded(metrics.RolloutComplete, 0)
	m.RolloutEnded(metrics.RolloutAborted, time.Hour)
	m.RolloutEnded(metrics.RolloutAborted, -time.Hour)
	m.WorkWrite(metrics.Patch, metrics.Refused)
	m.Reconciled(metrics.Erred)
	m.Connected(false)
	m.Reconnected()
	m.EventSent("update_request")
	m.EventReceived("report")
	m.EventRefused("quota")
	m.EventResent()
	m.ReportsUnread(7)
	m.ClockAhead(-90 * time.Second)
	families, err := registry.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			if metric.Counter.GetValue() == 0 {
				continue
			}
			name := family.GetName()
			for _, label := range metric.Label {
				name += " " + label.GetValue()
			}
			counted[name] = metric.Counter.GetValue()
		}
	}
	require.Equal(t, map[string]float64{
		"mwrs_rollouts_started_total Found": 1, "mwrs_rollouts_completed_total": 1, "mwrs_rollouts_aborted_total": 2,
		"mwrs_rollouts_degraded_total": 1, "mwrs_work_writes_total refused patch": 1, "mwrs_reconciles_total error": 1,
		"mwrs_broker_reconnects_total": 1, "mwrs_broker_events_sent_total update_request": 1, "mwrs_broker_events_received_total report": 1,
		"mwrs_broker_events_refused_total quota": 1, "mwrs_broker_events_resent_total": 1,
	}, counted)
	durations, err := testutil.GetHistogramVecFromGatherer(registry, "mwrs_abort_restore_duration_seconds", nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, durations.GetAggregatedSampleCount())
	require.Equal(t, 90.0, durations.GetAggregatedSampleSum())
	for result, wanted := range map[string]float64{"aborted": 3600, "complete": 0} {
		durations, err := testutil.GetHistogramVecFromGatherer(registry, "mwrs_rollout_duration_seconds", map[string]string{"result": result})
		require.NoError(t, err)
		require.Equal(t, wanted, durations.GetAggregatedSampleSum(), result)
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mwrs_controller_running [ALPHA] 1 while this process leads, has filled its caches and reconciles ManifestWorkReplicaSets.
# TYPE mwrs_controller_running gauge
mwrs_controller_running 1
# HELP mwrs_clock_ahead_seconds [ALPHA] How far the clock of this machine is ahead of the API server's, negative if it is behind; 0 while the two differ by at most 10 s.
# TYPE mwrs_clock_ahead_seconds gauge
mwrs_clock_ahead_seconds -90
# HELP mwrs_broker_disconnected [ALPHA] 1 while ManifestWorks travel over a broker and this process has no connection to it: nothing is written, and no deadline fires.
# TYPE mwrs_broker_disconnected gauge
mwrs_broker_disconnected 1
# HELP mwrs_broker_reports_unread [ALPHA] Reports from agents that were received over a broker and are not processed yet.
# TYPE mwrs_broker_reports_unread gauge
mwrs_broker_reports_unread 7
`), "mwrs_controller_running", "mwrs_clock_ahead_seconds", "mwrs_broker_disconnected", "mwrs_broker_reports_unread"))
	m.Running(false)
}

// A ManifestWorkReplicaSet has the series of its last pass. They are removed when it is gone.
func TestReplicaSetsHaveSeriesOfTheirLastPass(t *testing.T) {
	m, registry := registered(t)
	m.Observe("default/web", metrics.Observation{Stage: status.RollingOut, Clusters: map[rollout.Phase]int{rollout.PhaseWaiting: 3}, Revisions: 1})
	m.Observe("default/web", metrics.Observation{
		Stage: status.Aborted, Clusters: map[rollout.Phase]int{metrics.Restored: 2, metrics.Restoring: 1}, Revisions: 2, Paused: true,
		Lost: 3, AwaitingApproval: 2,
	})
	m.Observe("default/bad", metrics.Observation{Stage: workv1alpha1.StateInvalid, Paused: true})
	m.Observe("default/resumed", metrics.Observation{Stage: workv1alpha1.StateInvalid, Paused: true})
	m.Observe("default/resumed", metrics.Observation{Stage: workv1alpha1.StateInvalid})
	m.Observe("default/leaving", metrics.Observation{Stage: workv1alpha1.StateDeleting, DeletingSince: time.Unix(1000, 0)})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mwrs_stage [ALPHA] 1 for the stage of a ManifestWorkReplicaSet: RollingOut, Stalled, Complete, Aborting, Aborted, Invalid or Deleting.
# TYPE mwrs_stage gauge
mwrs_stage{mwrs_namespace="default",name="bad",stage="Invalid"} 1
mwrs_stage{mwrs_namespace="default",name="leaving",stage="Deleting"} 1
mwrs_stage{mwrs_namespace="default",name="resumed",stage="Invalid"} 1
mwrs_stage{mwrs_namespace="default",name="web",stage="Aborted"} 1
# HELP mwrs_clusters [ALPHA] Selected clusters of a ManifestWorkReplicaSet, by state. After an abort: Restoring or Restored.
# TYPE mwrs_clusters gauge
mwrs_clusters{mwrs_namespace="default",name="web",state="Completed"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Degraded"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Failed"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="InFlight"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Terminating"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Restored"} 2
mwrs_clusters{mwrs_namespace="default",name="web",state="Restoring"} 1
mwrs_clusters{mwrs_namespace="default",name="web",state="Away"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Held"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Closed"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Soaking"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="TerminationTimedOut"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Succeeded"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="AgentUnknown"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Validating"} 0
mwrs_clusters{mwrs_namespace="default",name="web",state="Waiting"} 0
# HELP mwrs_revisions [ALPHA] Stored revisions of a ManifestWorkReplicaSet.
# TYPE mwrs_revisions gauge
mwrs_revisions{mwrs_namespace="default",name="web"} 2
# HELP mwrs_paused [ALPHA] 1 for a ManifestWorkReplicaSet whose spec.paused is true: none of its ManifestWorks is written or deleted. Others have no series.
# TYPE mwrs_paused gauge
mwrs_paused{mwrs_namespace="default",name="bad"} 1
mwrs_paused{mwrs_namespace="default",name="web"} 1
# HELP mwrs_clusters_without_work [ALPHA] Selected clusters that have no ManifestWork during a pause, although their agents report over a broker. If an agent had one and lost it, it removes the objects after a while. Objects without such clusters have no series.
# TYPE mwrs_clusters_without_work gauge
mwrs_clusters_without_work{mwrs_namespace="default",name="web"} 3
# HELP mwrs_approvals_pending [ALPHA] Decision groups of a ManifestWorkReplicaSet that wait for an approval. Objects without such groups have no series.
# TYPE mwrs_approvals_pending gauge
mwrs_approvals_pending{mwrs_namespace="default",name="web"} 2
# HELP mwrs_work_deletion_timestamp_seconds [ALPHA] Unix time of the earliest deletion among the terminating ManifestWorks. A ManifestWorkReplicaSet without such works has no series.
# TYPE mwrs_work_deletion_timestamp_seconds gauge
mwrs_work_deletion_timestamp_seconds{mwrs_namespace="default",name="leaving"} 1000
`), "mwrs_stage", "mwrs_clusters", "mwrs_revisions", "mwrs_paused", "mwrs_clusters_without_work", "mwrs_approvals_pending",
		"mwrs_work_deletion_timestamp_seconds"))
	m.Forget("default/web")
	m.Forget("default/bad")
	m.Forget("default/never-there")
	for _, metric := range []string{"mwrs_stage", "mwrs_clusters", "mwrs_revisions", "mwrs_paused", "mwrs_clusters_without_work"} {
		n, _ := series(t, registry, metric, "web")
		require.Zero(t, n, metric)
	}
}

// A rollout in progress, its problems and its placementRefs have series until the next pass. If there are too many placementRefs, the
// others have no series.
func TestRolloutsInProgressHaveSeries(t *testing.T) {
	m, registry := registered(t)
	placements := []metrics.Placement{{Name: "all", Selected: 5, Updated: 2, Failing: 1}}
	for i := range metrics.MaxPlacements {
		placements = append(placements, metrics.Placement{Name: fmt.Sprintf("p%d", i), Selected: 1})
	}
	m.Observe("default/web", metrics.Observation{
		Stage: status.RollingOut, Started: time.Unix(1000, 0), Problems: []metrics.Problem{metrics.OlderCRD}, Placements: placements,
	})
	n, sum := series(t, registry, "mwrs_placement_clusters", "web")
	require.Equal(t, 3*metrics.MaxPlacements, n)
	require.Equal(t, 5.0+2+1+metrics.MaxPlacements-1, sum)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mwrs_rollout_start_timestamp_seconds [ALPHA] Unix time at which the rollout in progress began. A ManifestWorkReplicaSet without one has no series.
# TYPE mwrs_rollout_start_timestamp_seconds gauge
mwrs_rollout_start_timestamp_seconds{mwrs_namespace="default",name="web"} 1000
# HELP mwrs_problem [ALPHA] 1 for a problem with a ManifestWorkReplicaSet that an administrator must solve: OlderCRD or HistoryUnavailable. Other problems have no series.
# TYPE mwrs_problem gauge
mwrs_problem{mwrs_namespace="default",name="web",problem="OlderCRD"} 1
`), "mwrs_rollout_start_timestamp_seconds", "mwrs_problem"))
	m.Observe("default/web", metrics.Observation{Stage: status.Complete})
	for _, metric := range []string{"mwrs_placement_clusters", "mwrs_rollout_start_timestamp_seconds", "mwrs_problem"} {
		n, _ := series(t, registry, metric, "web")
		require.Zero(t, n, metric)
	}
}

// The number of series is bounded, regardless of the number of objects, and a sum over all series is still correct.
func TestManyReplicaSetsShareSeries(t *testing.T) {
	m, registry := registered(t)
	const surplus = 7
	observe := func(i int) {
		m.Observe(fmt.Sprintf("default/web-%d", i), metrics.Observation{
			Stage: status.Complete, Clusters: map[rollout.Phase]int{rollout.PhaseSucceeded: 10}, Revisions: 2, Paused: i%2 == 0,
		})
	}
	for i := range metrics.MaxReplicaSets + surplus {
		observe(i)
	}
	n, sum := series(t, registry, "mwrs_clusters", "")
	require.Equal(t, 16, n, "one for each state")
	require.Equal(t, 10.0*surplus, sum)
	_, sum = series(t, registry, "mwrs_stage", "")
	require.Equal(t, float64(surplus), sum)
	_, sum = series(t, registry, "mwrs_paused", "")
	require.Equal(t, 4.0, sum, "every other one is paused")
	last := metrics.MaxReplicaSets + surplus - 1
	name := fmt.Sprintf("web-%d", last)
	n, _ = series(t, registry, "mwrs_stage", name)
	require.Zero(t, n)

	m.Forget("default/web-0")
	observe(last)
	n, _ = series(t, registry, "mwrs_stage", name)
	require.Equal(t, 1, n, "it takes the place of a deleted object")
	_, sum = series(t, registry, "mwrs_revisions", "")
	require.Equal(t, 2.0*(surplus-1), sum)
	n, _ = series(t, registry, "mwrs_stage", "web-0")
	require.Zero(t, n)
}

// A value that is set before the registration is lost, without an error.
func TestUnregisteredMetricsCountNothing(t *testing.T) {
	m := metrics.New()
	m.RolloutStarted(metrics.Created)
	m.Restored(time.Second)
	m.Running(true)
	m.Observe("default/web", metrics.Observation{Stage: status.Complete})
	m.Forget("default/web")
}

func TestSafeForConcurrentUse(t *testing.T) {
	m, registry := registered(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			key := fmt.Sprintf("default/web-%d", i%2)
			for range 50 {
				m.Observe(key, metrics.Observation{Stage: status.Complete, Clusters: map[rollout.Phase]int{}})
				_, err := registry.Gather()
				if err != nil {
					t.Error(err)
				}
				m.Forget(key)
			}
		})
	}
	group.Wait()
}

// The endpoint serves the registry of the process: it has these metrics, and their names follow Prometheus's conventions.
func TestDefaultIsServed(t *testing.T) {
	require.Same(t, metrics.Default(), metrics.Default())
	m, registry := registered(t)
	for _, each := range []*metrics.Metrics{metrics.Default(), m} {
		each.Observe("default/web", metrics.Observation{Stage: status.Complete, Clusters: map[rollout.Phase]int{}})
		defer each.Forget("default/web")
	}
	answer := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	served := answer.Body.String()

	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	for _, family := range families {
		require.Contains(t, served, "# TYPE "+family.GetName()+" ")
	}
	var ours []string
	for line := range strings.Lines(served) {
		if strings.Contains(line, "mwrs_") {
			ours = append(ours, line)
		}
	}
	problems, err := testutil.NewPromLinter(strings.NewReader(strings.Join(ours, ""))).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}
