package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// run runs the world for a time, with heartbeats of the hub.
func (s *teller) run(during time.Duration) {
	s.t.Helper()
	s.must(s.runFor(during))
}

// notAborted checks that nothing was aborted.
func (s *teller) notAborted() {
	s.t.Helper()
	require.Nil(s.t, s.Object().Status.AbortedTime, s.story())
}

// R10, R11: a hub takes over in the middle of a rollout. If its clock is behind, deadlines count from when it first saw the works. If its
// clock is ahead, no deadline fires in the grace period.
func TestHubThatTakesOverWithAWrongClock(t *testing.T) {
	for name, test := range map[string]struct{ ahead, fails time.Duration }{
		"right":             {0, 9 * time.Minute},
		"20 minutes behind": {-20 * time.Minute, 10 * time.Minute},
		"20 minutes ahead":  {20 * time.Minute, 2 * time.Minute},
		"a day ahead":       {24 * time.Hour, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2")
			s.hangs("v2", "c1")
			s.run(time.Minute)
			s.HubAhead = test.ahead
			s.Tell("another hub leads")
			s.Restart()
			s.run(test.fails - 10*time.Second)
			s.notAborted()
			s.run(20 * time.Second)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.settle(time.Hour)
			s.everywhere("v1")
		})
	}
}

// R10: a hub whose clock was an hour ahead, and which could not detect that, began the rollout. The next hub counts from when it first saw
// the rollout.
func TestRolloutBegunByAClockAhead(t *testing.T) {
	for name, test := range map[string]struct {
		outcome Outcome
		want    string
	}{
		"it succeeds": {Succeeds, workv1alpha1.ReasonNewManifestWorkAvailable}, "it hangs": {Hangs, workv1alpha1.ReasonProgressDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "2m", 0, false), "c1", "c2", "c3")
			s.Update("v2")
			s.quiet()
			s.HubAhead = time.Hour
			s.Restart()
			s.Report("c2", "v1", test.outcome)
			s.Update("v1")
			s.settle(2 * time.Second)
			s.HubAhead = 0
			s.Tell("another hub leads")
			s.Restart()
			s.run(6 * time.Minute)
			require.Equal(t, test.want, s.says(workv1alpha1.ConditionProgressing).Reason, s.story())
			version := s.API.version
			s.run(2 * time.Minute)
			require.Equal(t, version, s.API.version, "and it is quiet")
		})
	}
}

// R10: a hub whose clock was ahead, and which could not detect that, wrote works. Their times count from when the next hub first saw them.
func TestWorksWrittenByAClockAhead(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2")
	s.HubAhead = time.Hour
	s.Restart()
	s.hangs("v2", "c1")
	s.run(time.Minute)
	s.HubAhead = 0
	s.Tell("another hub leads")
	s.Restart()
	s.run(9*time.Minute + 30*time.Second)
	s.notAborted()
	s.run(time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.quiet()
	s.everywhere("v1")
}

// R11: a hub that does not run for 6 s in every 100 s still aborts, once the deadline and about as much time as it missed have passed.
func TestHubWithGapsAborts(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2")
	s.hangs("v2", "c1")
	s.run(time.Second)
	began := s.Clock.Now()
	for s.Object().Status.AbortedTime == nil {
		require.Less(t, s.Clock.Since(began), 11*time.Minute, s.story())
		s.run(94 * time.Second)
		s.stall(6 * time.Second)
	}
	require.GreaterOrEqual(t, s.Object().Status.AbortedTime.Sub(began), 10*time.Minute-2*time.Second)
	s.quiet()
	s.everywhere("v1")
}

// R12: the time of an abort by hand is the hub's, regardless of the user's clock. Otherwise the restoration would seem to end before the
// abort began, or a retry annotation that is older than the abort would retry it.
func TestAbortByHandWithAnotherClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "10m", 0, false), "c1", "c2")
			s.hangs("v2", "c1")
			s.run(time.Minute)
			began := s.Clock.Now()
			given := metav1.NewTime(began.Add(ahead))
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"abortedTime": given}}, true)
			s.Tell("user: sets status.abortedTime to a time %s %s", ahead.Abs(), name)
			s.quiet()
			s.everywhere("v1")
			abort := s.ledger().Abort
			require.WithinDuration(t, began, abort.At, 2*time.Second)
			require.WithinDuration(t, abort.At, abort.Restored, 10*time.Second)
			require.False(t, abort.Restored.Before(abort.At))
			require.True(t, s.Object().Status.AbortedTime.Time.Equal(abort.At))
			require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State, "the corrected time is no other command")
		})
	}
}
