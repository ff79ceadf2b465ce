package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// window sets spec.rollbackWindow.
func (s *teller) window(size int32) {
	s.Edit("sets rollbackWindow", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.RollbackWindow = &workv1alpha1.RollbackWindow{Revisions: ptr.To(size)}
	})
}

// TestRollbackWindowIsAskedOnce: when an undo begins, the hub decides whether it reaches every cluster at once. If the window is set later,
// a revision that fails on the first cluster is not sent to all clusters.
func TestRollbackWindowIsAskedOnce(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3", "c4")
	s.Update("v2")
	s.quiet()
	s.hangs("v1", "c1")
	s.settle(time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.window(3)
	s.settle(time.Minute)
	s.Restart()
	s.settle(time.Minute)
	require.Equal(t, "v2", s.held("c2"), s.story())
	require.Equal(t, "v2", s.held("c4"), s.story())

	s.Report("c1", "v1", Succeeds)
	s.quiet()
	s.Update("v2")
	s.quiet()
	s.Update("v1")
	s.settle(2 * time.Second)
	s.everywhere("v1")
}

// TestRetryOfAnUndoAtOnce: the retry of an undo that was aborted follows the strategies.
func TestRetryOfAnUndoAtOnce(t *testing.T) {
	for name, retry := range map[string]func(s *teller){
		"by hand":       func(s *teller) { s.Retry() },
		"by annotation": func(s *teller) { s.RetryByAnnotation(s.Clock.Now()) },
		"by a template that returns": func(s *teller) {
			s.Update("v2")
			s.settle(10 * time.Second)
			s.Update("v1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Place("p1", []string{"c1", "c2", "c3", "c4"})
			s.Create("v1", progressive("p1", 1, "10m", 0, true))
			s.window(3)
			s.quiet()
			s.Update("v2")
			s.quiet()
			s.hangs("v1", "")
			s.settle(10 * time.Second)
			s.everywhere("v1")
			s.AbortByHand()
			s.settle(20 * time.Second)
			s.everywhere("v2")
			retry(s)
			s.settle(20 * time.Second)
			require.Equal(t, "v1", s.held("c1"), s.story())
			require.Equal(t, "v2", s.held("c2"), s.story())
			require.Equal(t, "v2", s.held("c4"), s.story())
		})
	}
}

// TestUndoAfterTheClockWasSetBack: an undo is recognized, and is not aborted automatically, even if the API server's clock was set back
// between the two revisions.
func TestUndoAfterTheClockWasSetBack(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.settle(time.Minute)
	s.Clock.SetTime(s.Clock.Now().Add(-time.Hour))
	s.Tell("the clock is set back by an hour")
	s.Restart()
	s.settle(10 * time.Second)
	s.Update("v2")
	s.settle(time.Minute)
	require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision, s.story())
	revisions := s.Revisions()
	require.True(t, revisions[1].CreationTimestamp.Before(&revisions[0].CreationTimestamp), s.story())
	s.Report("c1", "v1", Silent)
	s.Update("v1")
	s.settle(5 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}
