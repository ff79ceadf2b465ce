package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/simulation"
)

// leaves begins a life whose workloads shall stay.
func leaves(t *testing.T) *life {
	t.Helper()
	l := begin(t)
	l.Preserve(true)
	l.quiet()
	return l
}

// ends waits until the object and its works are gone.
func (l *life) ends() {
	l.t.Helper()
	l.must(l.Settle(simulation.Forever))
	require.Nil(l.t, l.Object(), strings.Join(l.Story, "\n"))
	l.must(l.CheckQuiet())
}

// written counts the writes of works in the story from a line on.
func (l *life) written(from int) (n int) {
	for _, line := range l.Story[from:] {
		if strings.Contains(line, "hub: patch work") || strings.Contains(line, "hub: delete work") {
			n++
		}
	}
	return n
}

// A deletion that leaves its workloads writes each work once and deletes it once, and reads it live once after its agent answered (R20).
func TestLifeThatLeavesItsWorkloads(t *testing.T) {
	l := leaves(t)
	reads, began := 0, len(l.Story)
	l.Hub.Reads = func() { reads++ }
	l.Delete()
	l.ends()
	require.Equal(t, 6, l.written(began))
	require.Equal(t, 3, reads)
	l.said(workv1alpha1.EventWorkloadsReleased)
}

// A process that starts while agents are waited for reads nothing of the works one by one, and writes nothing (P7).
func TestLifeThatIsRestartedWhileItWaits(t *testing.T) {
	l := leaves(t)
	for _, cluster := range []string{"c1", "c2", "c3"} {
		l.Report(cluster, "", simulation.Silent)
	}
	l.Delete()
	l.passes(time.Hour)
	said := l.condition(workv1alpha1.ConditionDeleting)
	require.Contains(t, said, "0 of 3 clusters are done; waiting for the agents of 3 clusters (c1, c2, c3) to release")
	began := len(l.Story)
	l.Restart()
	l.Hub.Reads = func() { require.Fail(t, "a work is read") }
	l.passes(time.Hour)
	require.Empty(t, l.Story[began:])
	require.Equal(t, said, l.condition(workv1alpha1.ConditionDeleting))
	l.Hub.Reads = nil
	for _, cluster := range []string{"c1", "c2", "c3"} {
		l.Report(cluster, "", simulation.Succeeds)
	}
	l.ends()
}

// An API server that refuses to write a work is named, asked again every minute, and the deletion goes on once it permits (P7).
func TestLifeWhoseReleaseIsRefused(t *testing.T) {
	l := leaves(t)
	permit := l.refuse("patch work c2/web", simulation.Denied)
	l.Delete()
	l.passes(10 * time.Second)
	said := l.condition(workv1alpha1.ConditionDeleting)
	require.Contains(t, said, "2 of 3 clusters are done")
	require.Contains(t, said, "1 ManifestWork can't be written; fix the cause, the hub retries each write at least once a minute: cluster c2: ")
	version := l.Object().ResourceVersion
	l.passes(10 * time.Minute)
	require.Equal(t, version, l.Object().ResourceVersion, "other words are no news")
	permit()
	l.passes(time.Minute)
	l.ends()
}

// An API server that stores something else is not asked all the time, and its cause is looked for.
func TestLifeWhoseReleaseIsStoredDifferently(t *testing.T) {
	l := leaves(t)
	l.API.Mutate = func(spec map[string]any) { delete(spec, "deleteOption") }
	began := len(l.Story)
	l.Delete()
	l.passes(10 * time.Minute)
	require.LessOrEqual(t, l.written(began), 3*12)
	require.Contains(t, l.condition(workv1alpha1.ConditionDeleting), "the API server stores the ManifestWork differently from what the hub writes")
	l.API.Mutate = nil
	l.passes(2 * time.Minute)
	l.ends()
}

// What appears while the object is being deleted is found before it goes, and what has a name that no hub gives is not waited for (R18).
func TestLifeThatFindsOtherWorksAtItsEnd(t *testing.T) {
	l := leaves(t)
	l.Report("c3", "", simulation.Silent)
	l.Delete()
	l.passes(time.Minute)
	_, err := l.API.Create(simulation.Works, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": "c4", "name": "another", "finalizers": []any{"theirs"}, "labels": map[string]any{workv1alpha1.LabelReplicaSet: "default.web"},
	}}})
	require.NoError(t, err)
	l.Report("c4", "", simulation.Silent)
	l.passes(time.Minute)
	l.Report("c3", "", simulation.Succeeds)
	l.must(l.Settle(simulation.Forever))
	require.Nil(t, l.Object(), strings.Join(l.Story, "\n"))
	require.Len(t, l.Works(), 1)
	require.NotNil(t, l.Works()[0].DeletionTimestamp)
}
