package cloudevents

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
)

var noon = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

func newTestStore() (*store, *clocktesting.FakePassiveClock) {
	clk := clocktesting.NewFakePassiveClock(noon)
	return newStore(clk), clk
}

func testWork(cluster string, generation int64) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: cluster, UID: workUID(cluster, "web"), Generation: generation,
	}}
}

// reported returns a report. Its sequence is that of a snowflake ID, which an agent increments.
func reported(cluster string, generation, sequence int64, conditions ...metav1.Condition) *workv1.ManifestWork {
	report := testWork(cluster, generation)
	report.Annotations = map[string]string{common.CloudEventsSequenceIDAnnotationKey: fmt.Sprint(sequence << 22)}
	report.Status.Conditions = conditions
	return report
}

func condition(kind string, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: generation}
}

func conditionTypes(work *workv1.ManifestWork) []string {
	kinds := []string{}
	for _, c := range work.Status.Conditions {
		kinds = append(kinds, c.Type)
	}
	return kinds
}

// Generations must grow over restarts: an agent ignores a generation that is lower than its own, and a hub forgets the generations when it
// restarts.
func TestGenerationsGrowOverRestarts(t *testing.T) {
	s, clk := newTestStore()
	first := s.nextGeneration("c1", 0)
	require.Greater(t, first, int64(0))
	require.Less(t, first, int64(1)<<31, "an event holds 32 bits of it")
	second := s.nextGeneration("c1", 0)
	require.Greater(t, second, first, "also where the first one was never stored: the agent may have seen it")
	require.Equal(t, second+100, s.nextGeneration("c1", second+100))
	require.Equal(t, second+101, s.nextGeneration("c1", 0))

	clk.SetTime(noon.Add(time.Hour))
	restarted := newStore(clk)
	require.Greater(t, restarted.nextGeneration("c1", 0), second)

	clk.SetTime(noon.Add(-time.Hour))
	backward := newStore(clk)
	backward.put(testWork("c1", second))
	require.Greater(t, backward.nextGeneration("c1", 0), second, "also where the clock went back")
}

func TestReports(t *testing.T) {
	uid := workUID("c1", "web")
	gone := condition(common.ResourceDeleted, 0)
	deleting := testWork("c1", 5)
	deleting.DeletionTimestamp = &metav1.Time{Time: noon}
	for name, test := range map[string]struct {
		known   *workv1.ManifestWork
		report  *workv1.ManifestWork
		verdict verdict
		wanted  []string // conditions afterwards; nil if the work no longer exists
	}{
		"of a work that is not known":        {nil, reported("c1", 5, 2), unknown, nil},
		"that an unknown work is gone":       {nil, reported("c1", 5, 2, gone), noted, nil},
		"of today's generation":              {testWork("c1", 5), reported("c1", 5, 2, condition("Applied", 5)), noted, []string{"Applied"}},
		"of an older generation":             {testWork("c1", 5), reported("c1", 4, 2, condition("Applied", 4)), noted, []string{"Applied"}},
		"of a generation that is to come":    {testWork("c1", 5), reported("c1", 6, 2, condition("Applied", 6)), unexpectedGeneration, []string{}},
		"that a work which should be, isn't": {testWork("c1", 5), reported("c1", 5, 2, gone), unexpectedGeneration, []string{}},
		"that a deleted work is gone":        {deleting, reported("c1", 5, 2, gone), noted, nil},
		"of a work that is being deleted":    {deleting, reported("c1", 6, 2, condition("Applied", 6)), noted, []string{"Applied"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newTestStore()
			if test.known != nil {
				s.put(test.known.DeepCopy())
			}
			require.Equal(t, test.verdict, s.report(test.report))
			if test.wanted == nil {
				require.Nil(t, s.get(uid))
				return
			}
			require.Equal(t, test.wanted, conditionTypes(s.get(uid)))
		})
	}
}

func TestReportsComeInAnyOrder(t *testing.T) {
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	uid := workUID("c1", "web")
	require.Equal(t, noted, s.report(reported("c1", 5, 3, condition("Applied", 5))))
	version := s.get(uid).ResourceVersion
	require.Equal(t, noted, s.report(reported("c1", 5, 2, condition("Available", 5))))
	require.Equal(t, []string{"Applied"}, conditionTypes(s.get(uid)), "an older report says nothing")
	require.Equal(t, noted, s.report(reported("c1", 5, 4, condition("Applied", 5))))
	require.Equal(t, version, s.get(uid).ResourceVersion, "nor one that tells nothing new")
	require.Equal(t, []string{workv1.ManifestWorkFinalizer}, s.get(uid).Finalizers, "it is on the cluster")
}

// A report that changes only messages, or parts that no decision uses, does not cause an event (P7).
func TestUnchangedReportIsNoEvent(t *testing.T) {
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	manifest := workv1.ManifestCondition{Conditions: []metav1.Condition{condition("Applied", 5), condition("Degraded", 5)}}
	manifest.ResourceMeta.Name = "demo"
	first := reported("c1", 5, 2, condition("Applied", 5))
	first.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{manifest}
	require.Equal(t, noted, s.report(first))
	version := s.get(first.UID).ResourceVersion
	w, err := s.watch(version)
	require.NoError(t, err)
	defer w.Stop()

	again := reported("c1", 5, 3, condition("Applied", 5))
	again.Status.Conditions[0].Message = "in other words"
	other := *manifest.DeepCopy()
	other.Conditions[0].Status, other.Conditions[1].Message = metav1.ConditionFalse, "in other words"
	other.StatusFeedbacks.Values = []workv1.FeedbackValue{{Name: "replicas"}}
	again.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{other}
	require.Equal(t, noted, s.report(again))
	require.Equal(t, version, s.get(first.UID).ResourceVersion)

	better := reported("c1", 5, 4, condition("Applied", 5))
	other.Conditions[1].Status = metav1.ConditionFalse
	better.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{other}
	require.Equal(t, noted, s.report(better))
	event := <-w.ResultChan()
	require.Empty(t, event.Object.(*workv1.ManifestWork).Status.ResourceStatus.Manifests, "the first event is of what decides (R10)")
}

// A caller may change a copy of a work from the store. The store, and the other works of the revision, do not change.
func TestWhatIsHandedOutMayBeChanged(t *testing.T) {
	s, _ := newTestStore()
	for _, cluster := range []string{"c1", "c2"} {
		work := testWork(cluster, 5)
		work.Spec = spec("v1")
		work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{ResourceIdentifier: workv1.ResourceIdentifier{Name: "demo"}}}
		s.put(work)
	}
	one, other := s.get(workUID("c1", "web")), s.get(workUID("c2", "web"))
	require.Same(t, &one.Spec.Workload.Manifests[0], &other.Spec.Workload.Manifests[0], "one content for both")
	listed := s.list(metav1.NamespaceAll, labels.Everything())
	for _, work := range []*workv1.ManifestWork{&listed.Items[0], copyOf(one)} {
		work.Spec.Workload.Manifests[0] = workv1.Manifest{}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{})
		work.Spec.ManifestConfigs[0].ResourceIdentifier.Name = "other"
		work.Labels = map[string]string{"a": "b"}
		work.Status.Conditions = nil
	}
	for _, work := range []*workv1.ManifestWork{one, other} {
		require.Equal(t, spec("v1").Workload, work.Spec.Workload)
		require.Equal(t, "demo", work.Spec.ManifestConfigs[0].ResourceIdentifier.Name)
	}
	changed := *copyOf(one)
	changed.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	s.put(&changed)
	require.NotNil(t, s.get(one.UID).Spec.DeleteOption, "the same manifests with another option are another content")
	require.Nil(t, s.get(other.UID).Spec.DeleteOption)
}

// A restarted agent repeats its earlier report piece by piece. The parts that are still missing stay.
func TestRestartedAgentTakesNothingBack(t *testing.T) {
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	manifest := func(kinds ...string) workv1.ManifestResourceStatus {
		m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Resource: "configmaps", Name: "demo"}}
		for _, kind := range kinds {
			m.Conditions = append(m.Conditions, condition(kind, 5))
		}
		return workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{m}}
	}
	full := reported("c1", 5, 2, condition("Applied", 5), condition("Available", 5), condition("Progressing", 5), condition("Old", 4))
	full.Status.ResourceStatus = manifest("Applied", "Degraded")
	s.report(full)
	part := reported("c1", 5, 3, condition("Applied", 5))
	part.Status.ResourceStatus = manifest("Applied")
	s.report(part)
	work := s.get(workUID("c1", "web"))
	require.Equal(t, []string{"Applied", "Available", "Progressing"}, conditionTypes(work))
	require.NotNil(t, meta.FindStatusCondition(work.Status.ResourceStatus.Manifests[0].Conditions, "Degraded"))

	// The first report of a restarted agent is empty.
	s.report(reported("c1", 5, 4))
	work = s.get(workUID("c1", "web"))
	require.Equal(t, []string{"Applied", "Available", "Progressing"}, conditionTypes(work))
	require.Len(t, work.Status.ResourceStatus.Manifests, 1)

	// A new generation begins without conditions.
	next := work.DeepCopy()
	next.Generation = 6
	s.put(next)
	s.report(reported("c1", 6, 5, condition("Applied", 6)))
	work = s.get(workUID("c1", "web"))
	require.Equal(t, []string{"Applied"}, conditionTypes(work))
	require.Empty(t, work.Status.ResourceStatus.Manifests)
}

// A report that arrives while the hub writes the work is kept.
func TestAWriteLeavesTheStatusAlone(t *testing.T) {
	s, _ := newTestStore()
	before := s.put(testWork("c1", 5)).DeepCopy()
	s.report(reported("c1", 5, 2, condition("Applied", 5)))
	before.Labels = map[string]string{"a": "b"}
	after := s.put(before)
	require.Equal(t, []string{"Applied"}, conditionTypes(after))
	require.Equal(t, "b", after.Labels["a"])
}

func TestWatchMissesNothing(t *testing.T) {
	s, _ := newTestStore()
	s.put(testWork("c1", 5))
	listed := s.list(metav1.NamespaceAll, labels.Everything())
	require.Len(t, listed.Items, 1)
	s.put(testWork("c2", 5))
	w, err := s.watch(listed.ResourceVersion)
	require.NoError(t, err)
	defer w.Stop()
	s.put(testWork("c1", 6))
	s.remove(workUID("c2", "web"))
	var seen []string
	for range 3 {
		event := <-w.ResultChan()
		seen = append(seen, fmt.Sprint(event.Type, " ", event.Object.(*workv1.ManifestWork).Namespace))
	}
	require.Equal(t, []string{"MODIFIED c2", "MODIFIED c1", "DELETED c2"}, seen)

	_, err = s.watch(listed.ResourceVersion)
	require.Error(t, err, "a deletion in between is not known any more: list again")
	w.Stop()
	for event := range w.ResultChan() {
		require.NotEqual(t, watch.Error, event.Type)
	}
	require.Empty(t, s.watchers)
}
