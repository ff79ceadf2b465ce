package cloudevents

import (
	"context"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	agentcodec "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
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
	recreated := false
	s.available = func(context.Context, string) bool {
		if !recreated {
			recreated = true
			gone := work.DeepCopy()
			gone.Status.Conditions = []metav1.Condition{condition(common.ResourceDeleted, work.Generation)}
			s.Receive(t.Context(), s.wire.report(t, gone))
			s.work()
			require.Nil(t, s.store.get(work.UID))
			s.create(owned("c1", "v2"))
		}
		return true
	}
	s.after(2 * confirmAfter)
	require.True(t, recreated)
	require.Zero(t, s.lastEvent(t).DeletionTimestamp, "the last event about the work is its creation")
}

// lastEvent is the last event about a work that was sent.
func (s *steps) lastEvent(t *testing.T) (last *workv1.ManifestWork) {
	t.Helper()
	for i, said := range s.wire.said() {
		if len(said) > 4 && said[:4] == "spec" {
			event := s.wire.sent[i]
			work, err := agentDecode(event)
			require.NoError(t, err)
			last = work
		}
	}
	return last
}

func agentDecode(event cloudevents.Event) (*workv1.ManifestWork, error) {
	return agentcodec.NewManifestBundleCodec().Decode(&event)
}
