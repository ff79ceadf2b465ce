package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func (s *teller) wipeStatus() {
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
	s.Tell("user: wipes the status")
}

// R16: a revision may tell that it is current and be aborted all the same: a cluster relapsed before the status told it. A status that is lost
// after that does not take the fleet forward to it.
func TestLostStatusAfterTheAbortOfWhatWasAlmostCurrent(t *testing.T) {
	s := rolledOut(t)
	s.Fault = func(what string) Fault {
		if !strings.HasPrefix(what, "patch revision ") {
			return NoFault
		}
		s.Fault = nil
		s.Report("c1", "v2", Hangs)
		return KilledAfter
	}
	s.Update("v2")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.everywhere("v1")
	require.NotContains(t, s.Revisions()[1].Annotations, workv1alpha1.AnnotationCurrentSince)
	before := s.Object().Status
	s.wipeStatus()
	s.quiet()
	s.everywhere("v1")
	require.Equal(t, before.CurrentRevision, s.Object().Status.CurrentRevision)
	require.NotNil(t, s.Object().Status.AbortedTime)
}

// R3, R16: an undo to what was current long ago, aborted, leaves what it began from the current one.
func TestLostStatusAfterTheAbortOfAnUndo(t *testing.T) {
	s := rolledOut(t)
	s.Update("v2")
	s.quiet()
	s.Report("c1", "v1", Hangs)
	s.Update("v1")
	s.quiet()
	s.AbortByHand() // An undo is not aborted by itself (R12).
	s.quiet()
	s.everywhere("v2")
	before := s.Object().Status
	s.wipeStatus()
	s.quiet()
	s.everywhere("v2")
	require.Equal(t, before.CurrentRevision, s.Object().Status.CurrentRevision)
}
