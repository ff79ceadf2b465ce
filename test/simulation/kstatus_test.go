package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func (s *teller) kstatus(want status.Status) {
	s.t.Helper()
	got, err := s.Kstatus()
	s.must(err)
	require.Equal(s.t, want, got, s.story())
}

// A template that is changed during an abort waits for the abort. Until then, the status does not observe its generation, so that no tool
// takes the abort of the older template for a failure of the new one.
func TestKstatusOfATemplateThatWaitsForAnAbort(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2")
	s.kstatus(status.CurrentStatus)
	s.hangs("v2", "")
	s.Fault = func(what string) Fault {
		if what == "patch work c2/web" && s.Object().Status.AbortedTime != nil {
			return Refused
		}
		return NoFault
	}
	s.settle(time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.kstatus(status.InProgressStatus)
	observed := s.Object().Status.ObservedGeneration
	require.Equal(t, s.Object().Generation, observed)

	seen := 0
	s.Check = func(what string) {
		if what == "patch replicaset web/status" && s.Object().Generation > observed {
			seen++
			got, err := s.Kstatus()
			s.must(err)
			require.NotEqual(t, status.FailedStatus, got, s.story())
		}
	}
	s.Update("v3")
	s.settle(10 * time.Second)
	require.Equal(t, observed, s.Object().Status.ObservedGeneration, "v3 waits for the abort")
	s.kstatus(status.InProgressStatus)
	s.Fault = nil
	s.settle(10 * time.Second)
	require.Equal(t, s.Object().Generation, s.Object().Status.ObservedGeneration)
	require.Nil(t, s.Object().Status.AbortedTime)
	s.Check = nil
	require.NotZero(t, seen)
	s.quiet()
	s.kstatus(status.CurrentStatus)
}

// If the API server temporarily rejects a revision, the write is retried. No user has to act, and the rollout has not failed.
func TestKstatusOfARevisionThatCannotBeWritten(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1"})
	s.Fault = func(what string) Fault {
		if strings.HasPrefix(what, "create revision ") {
			return Refused
		}
		return NoFault
	}
	s.Create("v1", all("p1", "30s", true))
	s.settle(10 * time.Second)
	s.kstatus(status.InProgressStatus)
	s.Fault = nil
	s.quiet()
	s.kstatus(status.CurrentStatus)
}
