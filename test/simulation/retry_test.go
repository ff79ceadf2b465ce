package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// nth returns the fault of the nth write, counted from 0.
func nth(n int, fault Fault) func(string) Fault {
	return func(string) Fault {
		if n--; n == -1 {
			return fault
		}
		return NoFault
	}
}

// wrote returns how often the story mentions a write by the hub, from a given line on.
func (s *teller) wrote(from int, what string) (n int) {
	for _, line := range s.Story[from:] {
		if strings.Contains(line, "hub: ") && strings.Contains(line, what) {
			n++
		}
	}
	return n
}

// checkedAbort returns a fleet at v1 after the rollout of v2 was aborted because it hung on every cluster. Each write is checked.
func checkedAbort(t *testing.T, clusters ...string) *teller {
	t.Helper()
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", 0, true), clusters...)
	s.hangs("v2", "")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	return s
}

// TestRetryByAnnotation: an annotation retries an aborted rollout once. The hub stops after each of its writes in turn.
func TestRetryByAnnotation(t *testing.T) {
	for write := range 6 {
		s := checkedAbort(t, "c1", "c2", "c3")
		began := len(s.Story)

		s.RetryByAnnotation(s.Clock.Now())
		s.Fault = nth(write, KilledAfter)
		s.quiet()
		s.Fault = nil
		require.NotNil(t, s.Object().Status.AbortedTime, "it was aborted again\n%s", s.story())
		s.everywhere("v1")
		require.Equal(t, 1, s.wrote(began, "work c1/web (v2)"), "it was retried once\n%s", s.story())
		for range 2 {
			s.settle(time.Hour)
			s.Restart()
			s.quiet()
			require.Equal(t, 1, s.wrote(began, "work c1/web (v2)"), "the same value retries nothing\n%s", s.story())
		}

		s.Report("", "v2", Succeeds)
		s.RetryByAnnotation(s.Clock.Now())
		s.quiet()
		s.everywhere("v2")
		require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
	}
}

// TestRetryByAnnotationOfARejectedWork: the write is retried at once, with a new deadline.
func TestRetryByAnnotationOfARejectedWork(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "10m", 0, false), "c1", "c2")
	s.Refuse("c1", Denied)
	s.Update("v2")
	s.settle(15 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.RetryByAnnotation(s.Clock.Now())
	s.settle(2 * time.Second)
	require.Empty(t, s.failed(), s.story())
	s.settle(9 * time.Minute)
	require.Empty(t, s.failed(), s.story())
	s.settle(3 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	began := len(s.Story)
	s.settle(10 * time.Second)
	s.Refuse("c1", NoFault)
	s.RetryByAnnotation(s.Clock.Now())
	s.settle(2 * time.Second)
	require.Equal(t, 1, s.wrote(began, "work c1/web (v2)"), s.story())
	s.quiet()
	s.everywhere("v2")
}

// TestRetryByAnnotationOnAnOlderCRD: the revisions hold the state that the status can't hold.
func TestRetryByAnnotationOnAnOlderCRD(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.OlderCRD = true
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.settle(12 * time.Minute)
	s.hangs("v2", "")
	s.settle(12 * time.Minute)
	s.everywhere("v1")
	began := len(s.Story)
	s.RetryByAnnotation(s.Clock.Now())
	s.settle(12 * time.Minute)
	s.Restart()
	s.settle(12 * time.Minute)
	require.Equal(t, 1, s.wrote(began, "work c1/web (v2)"), s.story())
	s.everywhere("v1")
}

// TestRetryByAnnotationThatIsNone: an invalid time retries nothing, and one event reports this. The hub waits for a future time.
func TestRetryByAnnotationThatIsNone(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", 0, true), "c1")
	s.hangs("v2", "c1")
	s.quiet()
	s.annotateRetry("now")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	require.Equal(t, 1, counts(s.events)[workv1alpha1.EventRetryIgnored], s.story())
	began := len(s.Story)
	s.Report("c1", "v2", Succeeds)
	s.RetryByAnnotation(s.Clock.Now().Add(time.Hour))
	s.settle(59 * time.Minute)
	require.Zero(t, s.wrote(began, "work c1/web (v2)"), s.story())
	require.Equal(t, 2, counts(s.events)[workv1alpha1.EventRetryIgnored], s.story())
	s.settle(2 * time.Minute)
	s.everywhere("v2")
}
