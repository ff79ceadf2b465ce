package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// measured runs a manager with its own metrics, and returns their registry.
func (w *world) measured(t *testing.T) (registry k8smetrics.Gatherer, stop func()) {
	t.Helper()
	options := hub.NewOptions()
	options.SuccessSettle = settle
	m, own := metrics.New(), k8smetrics.NewKubeRegistry()
	require.NoError(t, m.Register(own))
	manager := &hub.Manager{Options: options, Clock: clock.RealClock{}, Metrics: m}
	return own, w.start(t.Context(), manager.Run)
}

// values returns the nonzero series of the metrics with this prefix, as "name label label": value. For histograms, the value is the count.
func values(t *testing.T, registry k8smetrics.Gatherer, prefix string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			series := family.GetName()
			for _, label := range metric.Label {
				series += " " + label.GetValue()
			}
			value := metric.Counter.GetValue() + metric.Gauge.GetValue() + float64(metric.Histogram.GetSampleCount())
			if strings.HasPrefix(series, prefix) && value != 0 {
				found[series] = value
			}
		}
	}
	return found
}

// measures waits until the metrics with this prefix have the wanted values.
func measures(t *testing.T, registry k8smetrics.Gatherer, prefix string, wanted map[string]float64) {
	t.Helper()
	eventually(t, "metrics "+prefix, func() error {
		if got := values(t, registry, prefix); !equal(got, wanted) {
			return fmt.Errorf("%v instead of %v", got, wanted)
		}
		return nil
	})
}

func equal(a, b map[string]float64) bool {
	for key, value := range a {
		if b[key] != value {
			return false
		}
	}
	return len(a) == len(b)
}

// told returns the events of the ManifestWorkReplicaSet in the order in which they happened, each with the version of its related revision.
func (f *fleet) told() []string {
	f.t.Helper()
	list, err := f.w.kube.EventsV1().Events(f.namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	versions := map[string]string{}
	revisions := f.revisions()
	for i := range revisions {
		versions[revisions[i].Name] = versionOfRevision(&revisions[i])
	}
	var told []string
	for i := range list.Items {
		event := &list.Items[i]
		line := event.Reason
		if event.Related != nil {
			require.Equal(f.t, "ControllerRevision", event.Related.Kind)
			version, ok := versions[event.Related.Name]
			if !ok {
				version = "gone"
			}
			line += " " + version
		}
		if event.Series != nil {
			line += fmt.Sprintf(" %d times", event.Series.Count)
		}
		told = append(told, line)
	}
	return told
}

// tells waits until there are new events since before, and requires that they are exactly these.
func (f *fleet) tells(before []string, wanted ...string) []string {
	f.t.Helper()
	wanted = slices.Concat(before, wanted)
	var told []string
	eventually(f.t, "events", func() error {
		if told = f.told(); !slices.Equal(told, wanted) {
			return fmt.Errorf("%q instead of %q", told, wanted)
		}
		return nil
	})
	return told
}

// A complete story, as events and metrics show it. Each occurrence is reported and counted once, a restart reports nothing, and deleted
// objects leave no series behind (P7).
func TestEventsAndMetricsTellTheStory(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "monitoring")
	registry, stop := w.measured(t)
	f := newFleetIn(w, t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	f.complete()
	of := func(metric, label string) string {
		return strings.TrimSpace("mwrs_" + metric + " " + f.namespace + " " + f.name + " " + label)
	}
	told := f.tells(nil, "RevisionCreated v1", "RolloutStarted v1", "RolloutComplete v1")
	measures(t, registry, "mwrs_rollouts", map[string]float64{"mwrs_rollouts_started_total Created": 1, "mwrs_rollouts_completed_total": 1})
	measures(t, registry, "mwrs_work_writes", map[string]float64{"mwrs_work_writes_total success create": 3})
	measures(t, registry, "mwrs_controller_running", map[string]float64{"mwrs_controller_running": 1})
	measures(t, registry, "mwrs_stage", map[string]float64{of("stage", "Complete"): 1})

	f.agentsReport("c2", "v2", degrades)
	f.update("v2")
	f.aborted()
	told = f.tells(told, "RevisionCreated v2", "RolloutStarted v2", "RolloutAborted v2", "AbortCarriedOut v2", "ClustersRestored v2")
	f.quiet()
	measures(t, registry, "mwrs_rollouts", map[string]float64{
		"mwrs_rollouts_started_total Created": 2, "mwrs_rollouts_completed_total": 1, "mwrs_rollouts_aborted_total": 1,
	})
	measures(t, registry, "mwrs_abort", map[string]float64{"mwrs_abort_restore_duration_seconds": 1})
	measures(t, registry, "mwrs_stage", map[string]float64{of("stage", "Aborted"): 1})
	measures(t, registry, "mwrs_clusters", map[string]float64{of("clusters", "Restored"): 3})
	measures(t, registry, "mwrs_revisions", map[string]float64{of("revisions", ""): 2})
	require.NotZero(t, revision.RecordOf(f.revisionOf("v2")).Abort.Restored)

	f.undoAndRestart(registry, told, stop, of)
}

// undoAndRestart is the second half of the story.
func (f *fleet) undoAndRestart(registry k8smetrics.Gatherer, told []string, stop func(), of func(metric, label string) string) {
	f.update("v1")
	f.complete()
	told = f.tells(told, "RevisionFound v1", "RolloutStarted v1", "RolloutComplete v1")
	measures(f.t, registry, "mwrs_rollouts", map[string]float64{
		"mwrs_rollouts_started_total Created": 2, "mwrs_rollouts_started_total Found": 1, "mwrs_rollouts_completed_total": 2,
		"mwrs_rollouts_aborted_total": 1,
	})
	measures(f.t, registry, "mwrs_clusters", map[string]float64{of("clusters", "Succeeded"): 3})

	stop()
	require.Empty(f.t, values(f.t, registry, "mwrs_controller_running"))
	registry, stop = f.w.measured(f.t)
	defer stop()
	measures(f.t, registry, "mwrs_stage", map[string]float64{of("stage", "Complete"): 1})
	f.quiet()
	f.tells(told)
	require.Empty(f.t, values(f.t, registry, "mwrs_rollouts"))
	require.Empty(f.t, values(f.t, registry, "mwrs_work_writes"))

	f.delete()
	f.gone()
	for _, gone := range []string{"mwrs_stage", "mwrs_clusters", "mwrs_revisions"} {
		measures(f.t, registry, gone, map[string]float64{})
	}
}
