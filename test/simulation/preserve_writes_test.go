package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// leaves begins a story on three clusters whose workloads shall stay.
func leaves(t *testing.T) *teller {
	t.Helper()
	s := checkedStory(t)
	s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
	s.Preserve(true)
	s.quiet()
	return s
}

// A deletion that leaves its workloads writes each work once and deletes it once, and reads it live once after its agent answered (R20).
func TestPreservingWritesEachWorkTwice(t *testing.T) {
	s := leaves(t)
	reads, began := 0, len(s.Story)
	s.Hub.Reads = func() { reads++ }
	s.Delete()
	s.gone()
	require.Equal(t, 6, s.wrote(began, "patch work")+s.wrote(began, "delete work"))
	require.Equal(t, 3, reads)
	require.Contains(t, s.story(), "event: "+workv1alpha1.EventWorkloadsReleased)
}

// A process that starts while agents are waited for reads nothing of the works one by one, and writes nothing (P7).
func TestRestartWhilePreservingWaits(t *testing.T) {
	s := leaves(t)
	for _, cluster := range []string{"c1", "c2", "c3"} {
		s.Report(cluster, "", Silent)
	}
	s.Delete()
	s.settle(time.Hour)
	said := s.deleting()
	require.Contains(t, said, "0 of 3 clusters are done; waiting for the agents of 3 clusters (c1, c2, c3) to release")
	began := len(s.Story)
	s.Restart()
	s.Hub.Reads = func() { require.Fail(t, "a work is read") }
	s.settle(time.Hour)
	require.Empty(t, s.Story[began:])
	require.Equal(t, said, s.deleting())
	s.Hub.Reads = nil
	for _, cluster := range []string{"c1", "c2", "c3"} {
		s.Report(cluster, "", Succeeds)
	}
	s.gone()
}

// An API server that refuses to write a work is named, asked again every minute, and the deletion goes on once it permits (P7).
func TestPreservingWhileAWriteIsRefused(t *testing.T) {
	s := leaves(t)
	permit := s.refusing("patch work c2/web", Denied)
	s.Delete()
	s.settle(10 * time.Second)
	said := s.deleting()
	require.Contains(t, said, "2 of 3 clusters are done")
	require.Contains(t, said, "1 ManifestWork can't be written; fix the cause, the hub retries each write at least once a minute: cluster c2: ")
	version := s.Object().ResourceVersion
	s.settle(10 * time.Minute)
	require.Equal(t, version, s.Object().ResourceVersion, "other words are no news")
	permit()
	s.settle(time.Minute)
	s.gone()
}

// An API server that stores something else is not asked all the time, and its cause is looked for.
func TestPreservingWhereWorksAreStoredOtherwise(t *testing.T) {
	s := leaves(t)
	s.API.Mutate = func(spec map[string]any) { delete(spec, "deleteOption") }
	began := len(s.Story)
	s.Delete()
	s.settle(10 * time.Minute)
	require.LessOrEqual(t, s.wrote(began, "patch work")+s.wrote(began, "delete work"), 3*12)
	require.Contains(t, s.deleting(), "the API server stores the ManifestWork differently from what the hub writes")
	s.API.Mutate = nil
	s.settle(2 * time.Minute)
	s.gone()
}

// What appears while the object is being deleted is found before it goes, and what has a name that no hub gives is not waited for (R18).
func TestPreservingFindsOtherWorksAtItsEnd(t *testing.T) {
	s := leaves(t)
	s.Report("c3", "", Silent)
	s.Delete()
	s.settle(time.Minute)
	_, err := s.API.Create(Works, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": "c4", "name": "another", "finalizers": []any{"theirs"}, "labels": map[string]any{workv1alpha1.LabelReplicaSet: "default.web"},
	}}})
	require.NoError(t, err)
	s.Report("c4", "", Silent)
	s.settle(time.Minute)
	s.Report("c3", "", Succeeds)
	s.settle(Forever)
	require.Nil(t, s.Object(), s.story())
	require.Len(t, s.Works(), 1)
	require.NotNil(t, s.Works()[0].DeletionTimestamp)
}

// deleting returns what the condition Deleting says.
func (s *teller) deleting() string {
	return meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionDeleting).Message
}
