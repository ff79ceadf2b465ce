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
// completed one is not aborted to an earlier revision, and a stalled rollout does not start further clusters.
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

// TestAbortWithoutARevisionOfTheTemplateLooksLive: even if the template has no revision, a cache whose watch is dead does not lead to an
// abort.
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
