package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func (s *teller) wipeStatus() {
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
	s.Tell("user: wipes the status")
}

// R40: if the status is lost after an abort, the aborted revision is not rolled out again, even if its rollout was almost complete.
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
	require.Zero(t, revision.RecordOf(s.Revisions()[1]).Ended)
	before := s.Object().Status
	s.wipeStatus()
	s.quiet()
	s.everywhere("v1")
	require.Equal(t, before.CurrentRevision, s.Object().Status.CurrentRevision)
	require.NotNil(t, s.Object().Status.AbortedTime)
}

// R3, R40: an aborted undo to an old revision leaves the revision from which it began as the current one.
func TestLostStatusAfterTheAbortOfAnUndo(t *testing.T) {
	s := rolledOut(t)
	s.Update("v2")
	s.quiet()
	s.hangs("v1", "c1")
	s.quiet()
	s.AbortByHand() // An undo is not aborted automatically.
	s.quiet()
	s.everywhere("v2")
	before := s.Object().Status
	s.wipeStatus()
	s.quiet()
	s.everywhere("v2")
	require.Equal(t, before.CurrentRevision, s.Object().Status.CurrentRevision)
}

// R11, R40: the write that restores a lost status records no failure that was not read live. The network lost the report of the success of
// c1, and the hub learns of it when it requests the work before it records a failure.
func TestLostStatusRecordsNoFailureThatWasNotReadLive(t *testing.T) {
	s := overBroker(t)
	s.stable(progressive("p1", 2, "10s", 0, true), "c1", "c2")
	reports := 0
	s.Network.Fate = func(message string) []time.Duration {
		if message == "from c1: status update_request" {
			if reports++; reports == 2 { // The first report is that the work is applied.
				return nil
			}
		}
		return []time.Duration{0}
	}
	s.Update("v2")
	s.settle(9 * time.Second)
	require.Contains(t, s.story(), "loses a message from c1")
	s.wipeStatus()
	s.Clock.Step(2 * time.Second)
	s.quiet()
	require.Empty(t, s.Object().Status.Failures, s.story())
	require.NotContains(t, s.story(), "aborted")
	s.everywhere("v2")
}

// R13, R42: the status records that a rollout is complete, and the template changes before the copy of the ledger records it. The revision
// is the current one: an abort of the next rollout returns to it, and a return to the revision before it is an undo.
func TestUpdateBeforeTheStatusShowsTheCompletion(t *testing.T) {
	for name, fault := range map[string]Fault{"the write fails": Refused, "the hub dies before it": KilledBefore} {
		for _, next := range []string{"v3", "v1"} {
			t.Run(name+", then "+next, func(t *testing.T) {
				s := rolledOut(t)
				v2 := ""
				s.Fault = func(what string) Fault {
					l := s.ledger()
					if l.Update.Hash != s.hashOf("v2") || !l.Complete() || !strings.HasPrefix(what, "patch revision ") {
						return NoFault
					}
					s.Fault, v2 = nil, l.Update.Hash
					s.Report("c1", next, Hangs)
					s.Update(next)
					return fault
				}
				s.Update("v2")
				s.quiet()
				require.Equal(t, v2, s.Object().Status.CurrentRevision, s.story())
				if next == "v1" {
					s.AbortByHand() // An undo is not aborted automatically.
					s.quiet()
				}
				require.NotNil(t, s.Object().Status.AbortedTime, s.story())
				s.everywhere("v2")
			})
		}
	}
}

// R13: without the permission on revisions, a rollout of an earlier stable revision is not recorded. When the permission returns, and the
// template changes again, that rollout does not count as complete.
func TestUpdateAfterARolloutThatIsNotRecorded(t *testing.T) {
	s := rolledOut(t)
	s.Update("v2")
	s.quiet()
	s.forbid()
	s.Update("v1")
	s.settle(10 * time.Second)
	v1 := s.Object().Status.CurrentRevision
	require.Equal(t, s.Object().Status.UpdateRevision, v1)
	s.hangs("v2", "c1")
	s.settle(5 * time.Second)
	s.allow()
	s.hangs("v3", "c1")
	s.quiet()
	require.Equal(t, v1, s.Object().Status.CurrentRevision, s.story())
	s.everywhere("v1")
}

// R41: a user aborts a rollout at the moment when the hub finds that the name of a new template's revision is taken. The abort is kept, and
// finishes before the new template is rolled out.
func TestAbortBesideACollision(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "c1")
	s.settle(3 * time.Second)
	require.Equal(t, "v2", s.held("c1"), s.story())
	s.takeName("v3", nil)
	s.Update("v3")
	s.AbortByHand()
	s.quiet()
	require.Contains(t, s.story(), "hub: patch work c1/web (v1)")
	s.everywhere("v3")
}

// An abort in a status with an invalid ledger is not a command: the hub restores the status, and a warning names the fields.
func TestCommandInAStatusThatDoesNotCount(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1"})
	s.Create("v1", all("p1", "10m", true))
	s.quiet()
	s.Report("c1", "v2", Hangs)
	before := s.Object().Status.Ledger
	s.Update("v2")
	s.settle(time.Minute)
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{
		"ledger": before, "abortedTime": "2030-01-01T00:00:00Z",
	}}, true)
	s.settle(time.Minute)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	require.Contains(t, s.story(), "event: StatusRestored: the status did not have the latest ledger, and the hub restored status.abortedTime: ")
}
