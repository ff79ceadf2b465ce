package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCompletionOnlyInTheStatus: v2 completes while its revision can't be written, so only the status records the completion.
// v3 then begins and fails, and the abort must return to v2.
func TestCompletionOnlyInTheStatus(t *testing.T) {
	for name, play := range map[string]func(s *teller){
		"a webhook is away, v3 is pushed meanwhile": func(s *teller) {
			s.Fault = func(what string) Fault {
				if strings.Contains(what, " revision ") {
					return Refused
				}
				return NoFault
			}
			s.settle(time.Minute)
			require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision, s.story())
			s.hangs("v3", "c1")
			s.settle(time.Minute)
			s.Fault = nil
			s.Tell("the webhook is back")
		},
		"patches are denied for an hour, v3 is pushed as they are permitted": func(s *teller) {
			permit := s.refusing("patch revision", Denied)
			s.settle(time.Hour)
			require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision)
			s.Report("c1", "v3", Hangs)
			permit()
			s.Update("v3")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rolledOut(t)
			s.Update("v2")
			s.settle(time.Second)
			play(s)
			s.settle(5 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime)
			require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision)
			s.everywhere("v2")
		})
	}
}
