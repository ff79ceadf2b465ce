package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// reporting returns a placementRef with ReportAbort if it has AbortAll.
func reporting(ref workv1alpha1.LocalPlacementReference) workv1alpha1.LocalPlacementReference {
	if ref.RolloutStrategy.FailureStrategy == workv1alpha1.AbortAll {
		ref.RolloutStrategy.FailureStrategy = workv1alpha1.ReportAbort
	}
	return ref
}

// TestReportAbort: ReportAbort reports exactly what AbortAll decides in the same story, and restores nothing. The hub stops after each of
// its writes in turn.
func TestReportAbort(t *testing.T) {
	play := func(report bool, write int) *teller {
		s := checkedStory(t)
		ref := progressive("p1", 2, "30s", 1, true)
		if report {
			ref = reporting(ref)
		}
		s.stable(ref, "c1", "c2", "c3", "c4", "c5")
		s.hangs("v2", "c2", "c3", "c4")
		s.Fault = nth(write, KilledAfter)
		s.quiet()
		s.Fault = nil
		s.quiet()
		return s
	}
	for write := range 12 {
		aborted, s := play(false, write), play(true, write)
		abort, would := aborted.ledger().Abort, s.ledger().WouldAbort
		require.NotNil(t, abort)
		require.NotNil(t, would, s.story())
		require.Equal(t, abort.Reason, would.Reason)
		require.Equal(t, abort.At, would.At)
		reached := 0
		for _, work := range s.Works() {
			if Version(work) == "v2" {
				reached++
			}
		}
		require.Equal(t, reached, would.Clusters)
		require.Nil(t, aborted.ledger().WouldAbort)

		status := s.Object().Status
		require.Nil(t, status.AbortedTime)
		require.Nil(t, s.ledger().Abort)
		require.Equal(t, workv1alpha1.StateWouldAbort, status.State, s.story())
		require.Equal(t, "v2", s.held("c2"))
		require.Less(t, reached, 5, "the rollout is halted")
		s.says(workv1alpha1.ConditionProgressing, "ReportAbort: AbortAll would have aborted it at ", fmt.Sprintf("with %d clusters on the new version: %s", reached, would.Reason))
		require.LessOrEqual(t, counts(s.events)[workv1alpha1.EventRolloutWouldAbort], 1)
		if write >= 11 {
			require.Equal(t, 1, counts(s.events)[workv1alpha1.EventRolloutWouldAbort], s.story())
		}

		for _, cluster := range []string{"c2", "c3", "c4"} {
			s.Report(cluster, "v2", Succeeds)
		}
		s.Restart()
		s.quiet()
		s.everywhere("v2")
		require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State)
		require.Equal(t, would, s.ledger().WouldAbort, "a recovery does not revoke it")
		s.says(workv1alpha1.ConditionProgressing, "would have aborted it at", fmt.Sprintf("; %d more got it since", 5-reached))

		s.Update("v3")
		s.quiet()
		require.Nil(t, s.ledger().WouldAbort, s.story())
		recorded := false
		for _, rev := range s.Revisions() {
			found := revision.RecordOf(rev).WouldAbort
			recorded = recorded || found != nil && found.At.Equal(would.At)
		}
		require.True(t, recorded, s.story())
	}
}

// TestReportAbortBlocked: ReportAbort reports no abort if AbortAll would not abort: without a stable revision, during a pause, and for an
// undo.
func TestReportAbortBlocked(t *testing.T) {
	ref := reporting(progressive("p1", 1, "30s", 0, true))
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2"})
	s.Report("c1", "v1", Hangs)
	s.Create("v1", ref)
	s.quiet()
	require.Nil(t, s.ledger().WouldAbort)
	require.Equal(t, workv1alpha1.StateStalled, s.Object().Status.State)
	s.says(workv1alpha1.ConditionProgressing, "failureStrategy ReportAbort has no effect: there is no stable revision")

	s = checkedStory(t)
	s.stable(ref, "c1", "c2")
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	s.Pause(true)
	s.quiet()
	require.Nil(t, s.ledger().WouldAbort, s.story())
	s.Pause(false)
	s.quiet()
	require.NotNil(t, s.ledger().WouldAbort, s.story())

	s = checkedStory(t)
	s.stable(ref, "c1", "c2")
	s.Update("v2")
	s.quiet()
	s.hangs("v1", "c1")
	s.quiet()
	require.Nil(t, s.ledger().WouldAbort, s.story())
}
