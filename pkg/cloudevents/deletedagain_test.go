package cloudevents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
)

// A deletion that no agent has confirmed is sent again. If it is confirmed in the meantime and the work is recreated (because its cluster
// was selected again), the old deletion must not be sent last: an agent deletes the work regardless of the generation in the event.
func TestDeletionThatIsSentAgainAfterANewCreation(t *testing.T) {
	s := newSteps(t)
	s.after(2 * time.Minute) // Agents count as returned.
	work := s.create(owned("c1", "v1"))
	s.tell(work, metav1.ConditionFalse)
	works := s.Works().WorkV1().ManifestWorks("c1")
	require.NoError(t, works.Delete(t.Context(), "web", metav1.DeleteOptions{}))

	s.after(confirmAfter)
	recreated, deletions := false, 0
	s.available = func(context.Context, string) (bool, bool) {
		if !recreated {
			recreated = true
			gone := work.DeepCopy()
			gone.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, work.Generation)}
			s.Receive(t.Context(), s.wire.report(t, gone))
			s.work()
			require.Nil(t, s.store.get(work.UID))
			s.create(owned("c1", "v2"))
			deletions = s.wire.deletions()
		}
		return true, true
	}
	s.after(2 * confirmAfter)
	require.True(t, recreated)
	require.Equal(t, deletions, s.wire.deletions(), "no deletion follows the creation")
}

// A report that arrives again after the work is gone does not restore the work, even if its owner still selects the cluster.
func TestReportAfterTheEndRestoresNothing(t *testing.T) {
	s, v1 := newSteps(t), spec("v1")
	s.owners = fakeOwners{"ns/web": nil, "ns/web/v1": &v1}
	s.after(2 * time.Minute) // Agents count as returned.
	work := s.create(owned("c1", "v1"))
	s.tell(work, metav1.ConditionFalse)
	require.NoError(t, s.Works().WorkV1().ManifestWorks("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	gone := work.DeepCopy()
	gone.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, work.Generation)}
	s.Receive(t.Context(), s.wire.report(t, gone))
	s.tell(work, metav1.ConditionFalse)
	require.Nil(t, s.store.get(work.UID))
	s.after(confirmAfter)
	s.tell(work, metav1.ConditionFalse)
	require.NotNil(t, s.store.get(work.UID), "later, the agent must have got it from another process")
}
