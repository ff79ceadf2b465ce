package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// leaves begins a story on three clusters whose workloads must stay.
func leaves(t *testing.T) *teller {
	t.Helper()
	s := checkedStory(t)
	s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
	s.Preserve(true)
	s.quiet()
	return s
}

// A process that starts while the deletion waits for agents does not read the works one by one, and writes nothing (P7).
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

// If the API server rejects the write of a work, the condition names the error, and the write is retried every minute. The deletion
// continues once the API server accepts it (P7).
func TestPreservingWhileAWriteIsRefused(t *testing.T) {
	s := leaves(t)
	permit := s.refusing("patch work c2/web", Denied)
	s.Delete()
	s.settle(10 * time.Second)
	said := s.deleting()
	require.Contains(t, said, "2 of 3 clusters are done")
	require.Contains(t, said, "1 ManifestWork can't be written; fix the cause: the hub retries each write at least once a minute: cluster c2: ")
	version := s.Object().ResourceVersion
	s.settle(10 * time.Minute)
	require.Equal(t, version, s.Object().ResourceVersion, "other words are no news")
	permit()
	s.settle(time.Minute)
	s.gone()
}

// If the API server stores a work with changes, the write is not retried forever, and the hub looks for the cause.
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

// If a work appears while the object is being deleted, the hub finds it before the object is gone. The deletion does not wait for a work
// with a name that no hub uses.
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

// deleting returns the message of the condition Deleting.
func (s *teller) deleting() string {
	return meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionDeleting).Message
}
