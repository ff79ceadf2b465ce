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

// A report that crosses the deletion of its work restores the work, because the owner still exists. When the agent confirms the deletion,
// the hub does not send the work again: no controller would delete it.
func TestReportThatCrossesTheEndOfItsOwner(t *testing.T) {
	s, v1 := newSteps(t), spec("v1")
	s.owners = fakeOwners{"ns/web": nil, "ns/web/v1": &v1}
	work := s.create(owned("c1", "v1"))
	require.NoError(t, s.Works().WorkV1().ManifestWorks("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	s.tell(work, metav1.ConditionFalse)
	require.NotNil(t, s.store.get(work.UID))
	s.owners = fakeOwners{}
	gone := work.DeepCopy()
	gone.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, work.Generation)}
	before := len(s.wire.said())
	s.Receive(t.Context(), s.wire.report(t, gone))
	s.after(2 * time.Minute)
	require.Nil(t, s.store.get(work.UID))
	require.NotContains(t, s.wire.said()[before:], "spec update_request c1")
	require.NotContains(t, s.wire.said()[before:], "spec resync_response c1")
}

// If the broker loses the deletion of a work that no agent had reported, the agent reports the work later, and the hub deletes it again.
func TestLostDeletionOfAWorkThatWasNotReported(t *testing.T) {
	s := newSteps(t)
	s.owners = fakeOwners{}
	work := s.create(owned("c1", "v1"))
	require.NoError(t, s.Works().WorkV1().ManifestWorks("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	before := s.wire.deletions()
	s.tell(work, metav1.ConditionFalse)
	s.after(unwantedFor)
	require.Equal(t, before+1, s.wire.deletions())
}

// If a work is restored while the deletion of its owner ends, no controller deletes the work, because the owner is gone. The hub deletes it
// from the cluster like any other unwanted work.
func TestWorkIsRestoredAsItsOwnerGoes(t *testing.T) {
	s, v1 := newSteps(t), spec("v1")
	s.owners = fakeOwners{"ns/web": nil, "ns/web/v1": &v1}
	report := owned("c1", "v1")
	s.tell(report, metav1.ConditionFalse)
	require.NotNil(t, s.store.get(report.UID))
	s.owners = fakeOwners{}
	s.after(auditInterval)
	s.tell(report, metav1.ConditionFalse)
	s.after(unwantedFor - time.Second)
	require.Zero(t, s.wire.deletions())
	s.after(2 * unknownInterval)
	require.Equal(t, 1, s.wire.deletions())
	s.after(auditInterval)
	require.NotNil(t, s.store.get(report.UID), "its agent has not deleted it yet")
}
