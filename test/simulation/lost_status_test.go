package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (s *teller) wipeStatus() {
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
	s.Tell("user: wipes the status")
}

// R11, R40: the write that restores a lost status records only failures that were read live. The network lost c1's report of its success.
// The hub learns of the success when it requests the work, before it records a failure.
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
