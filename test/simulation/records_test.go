package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestZeroTimeInTheRecords: the API server accepts a record that has the zero time. The hub reads it, and continues.
func TestZeroTimeInTheRecords(t *testing.T) {
	s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
	s.Refuse("c3", Denied)
	for _, field := range []string{"failures", "rejections"} {
		s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{field: []any{
			map[string]any{"cluster": "c1", "placement": "p1", "reason": "DeadlineExceeded", "since": "0001-01-01T00:00:00Z"},
			map[string]any{"cluster": "c3", "placement": "p1", "reason": "Rejected", "since": "0001-01-01T00:00:00Z"},
		}}}, true)
		s.settle(5 * time.Minute)
		require.Contains(t, s.failed(), "c1")
		require.Equal(t, "v1", s.held("c4"), s.story())
	}
	require.NoError(t, s.checkSilence())
}

// TestRestoredStatusBeginsNoRolloutAgain: a status from a backup is older than the copy of the ledger. An aborted revision stays aborted, a
// completed one is not aborted to an earlier revision, and a stalled rollout starts no further cluster.
func TestRestoredStatusBeginsNoRolloutAgain(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run("aborted, "+name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			saved := s.status()
			s.hangs("v2", "c1")
			s.quiet()
			before := s.Object().Status
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			s.everywhere("v1")
			require.True(t, before.AbortedTime.Equal(s.Object().Status.AbortedTime), s.story())
			require.Equal(t, before.UpdateRevision, s.Object().Status.UpdateRevision)
			s.quiet()
		})
		t.Run("complete, "+name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			saved := s.status()
			for _, version := range []string{"v2", "v3"} {
				s.Update(version)
				s.quiet()
			}
			before := s.Object().Status
			s.Report("c1", "v3", Degrades)
			s.settle(5 * time.Minute)
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			s.everywhere("v3")
			require.Equal(t, before.CurrentRevision, s.Object().Status.CurrentRevision, s.story())
			s.Report("c1", "v3", Succeeds)
			s.quiet()
		})
		t.Run("in progress, "+name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			saved := s.status()
			s.Update("v2")
			s.quiet()
			s.hangs("v3", "c1")
			s.settle(10 * time.Second)
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v2")
		})
		t.Run("with a new template, "+name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			saved := s.status()
			s.Update("v2")
			s.quiet()
			s.hangs("v3", "c1")
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v2")
		})
		t.Run("stalled, "+name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			saved := s.status()
			s.quiet()
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			require.Equal(t, "v1", s.held("c2"), s.story())
		})
	}
}

// TestStatusIsNotOlderDuringAPause: a user deletes the aborted revision during a pause. The update revision stays until the pause ends.
// A status from a backup that is restored during a pause begins no aborted rollout after the pause.
func TestStatusIsNotOlderDuringAPause(t *testing.T) {
	t.Run("a deleted revision", func(t *testing.T) {
		s, _ := abortedStory(t)
		before := s.Object().Status.UpdateRevision
		s.Update("v1")
		s.Pause(true)
		s.quiet()
		s.deleteRevisionOf("v2")
		s.quiet()
		require.Equal(t, before, s.Object().Status.UpdateRevision, s.story())
		s.Pause(false)
		s.quiet()
		s.everywhere("v1")
		require.Equal(t, s.Object().Status.CurrentRevision, s.Object().Status.UpdateRevision, s.story())
	})
	t.Run("a restored status", func(t *testing.T) {
		s, saved := abortedStory(t)
		update := s.Object().Status.UpdateRevision
		s.Pause(true)
		s.quiet()
		s.restore(saved, false)
		s.settle(time.Minute)
		s.Pause(false)
		s.settle(5 * time.Minute)
		s.everywhere("v1")
		require.Equal(t, update, s.Object().Status.UpdateRevision, s.story())
		require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	})
}

// abortedStory returns a fleet at v1 after the rollout of v2 was aborted, and the status from before that rollout.
func abortedStory(t *testing.T) (s *teller, saved *workv1alpha1.ManifestWorkReplicaSetStatus) {
	s = &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	saved = s.status()
	s.hangs("v2", "c1")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	return s, saved
}

// TestErrorIsNotTheLastTryOfARejectedWrite: the API server rejects a write, and answers the retry after the deadline with a temporary
// error. Only a rejection leads to an abort.
func TestErrorIsNotTheLastTryOfARejectedWrite(t *testing.T) {
	for _, answer := range []Fault{Refused, Throttled, Conflicted} {
		t.Run(string(answer), func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 1, "45s", 0, true), "c1", "c2")
			s.Refuse("c1", Denied)
			s.Update("v2")
			s.settle(43 * time.Second)
			s.Refuse("c1", answer)
			s.settle(time.Minute)
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			s.Refuse("c1", NoFault)
			s.quiet()
			s.everywhere("v2")
			require.Nil(t, s.Object().Status.AbortedTime)
		})
	}
}

// TestFailureWithoutARevisionOfTheTemplate: the API server rejects the revision of a new template, and the previous rollout continues. A
// cluster that fails in the meantime stays failed, even after the hub restarts.
func TestFailureWithoutARevisionOfTheTemplate(t *testing.T) {
	s := checkedStory(t)
	clusters := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	s.stable(progressive("p1", 2, "30s", 0, false), clusters...)
	s.hangs("v2", "c1")
	s.settle(6 * time.Second)
	permit := s.refusing("create revision", Denied)
	s.Update("v3")
	s.settle(2 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	require.NoError(t, s.checkIdle(time.Hour))
	permit()
	s.Restart()
	s.Update("v2")
	s.settle(10 * time.Minute)
	s.stays(map[string]string{"c1": "v2", "c4": "v1", "c5": "v1", "c6": "v1"})
	s.Report("c1", "v2", Succeeds)
	s.quiet()
	s.everywhere("v2")
}

// TestAbortWithoutARevisionOfTheTemplateLooksLive: in this case, too, a cache whose watch is dead leads to no abort.
func TestAbortWithoutARevisionOfTheTemplateLooksLive(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	permit := s.refusing("create revision", Denied)
	s.Update("v3")
	s.settle(5 * time.Second)
	dead := true
	s.Lag = func(waiting int) int {
		if dead {
			return 0
		}
		return waiting
	}
	s.Report("c1", "v2", Succeeds)
	for range 100 {
		s.step()
		s.Clock.Step(time.Second)
		s.due = true
	}
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	dead = false
	permit()
	s.quiet()
	s.everywhere("v3")
}

// TestStalledStatusKeepsTheRecords: a process that has just started reports a stalled rollout as if it had watched it for long. In the
// meantime, a success that has not settled revokes no failure, and deadlines that do not apply yet cause none.
func TestStalledStatusKeepsTheRecords(t *testing.T) {
	s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
	s.Restart()
	s.settle(10 * time.Second)
	appliedAt := s.workOf("c2").Annotations[workv1alpha1.AnnotationAppliedAt]
	s.Report("c2", "v2", Flaps)
	for range 60 {
		s.settle(time.Second)
		require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
	}
	require.Equal(t, appliedAt, s.workOf("c2").Annotations[workv1alpha1.AnnotationAppliedAt], "nobody retried it")
	s.stays(map[string]string{"c3": "v1", "c4": "v1"})
}

// TestAbortInALostStatus: an abort by hand in a lost status is ignored, and does not count as a retry. The failures that this process knows
// stay.
func TestAbortInALostStatus(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2"})
	s.Report("c1", "v1", Hangs)
	s.Create("v1", progressive("p1", 1, "30s", 0, false))
	s.settle(2 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.Edit("waits without a limit", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs[0].RolloutStrategy.Progressive.ProgressDeadline = "None"
	})
	s.settle(time.Second)
	s.API.NoHistory = true
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
	s.AbortByHand()
	s.settle(10 * time.Second)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	require.Empty(t, s.held("c2"), s.story())
}
