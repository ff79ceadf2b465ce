package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// rejects begins the rollout of v2, which the API server rejects on c1.
func rejects(t *testing.T) *teller {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "1m", 0, true), "c1", "c2", "c3")
	s.Refuse("c1", Denied)
	s.Update("v2")
	return s
}

// TestDeadlineOfARejectedWork: the deadline runs from the first rejected write of the revision. An edit elsewhere in the spec does not
// renew it.
func TestDeadlineOfARejectedWork(t *testing.T) {
	s := rejects(t)
	s.settle(50 * time.Second)
	s.Edit("sets revisionHistoryLimit", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](3) })
	s.settle(5 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.settle(10 * time.Second)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
}

// TestDeadlineOfAWorkThatAPauseHeldBack: a write that a pause held back does not count as an attempt.
func TestDeadlineOfAWorkThatAPauseHeldBack(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "1m", 0, true), "c1", "c2", "c3")
	s.Report("c1", "v2", Succeeds)
	s.Refuse("c2", Denied)
	s.Update("v2")
	s.settle(2 * time.Second)
	require.Equal(t, "v2", s.held("c1"), s.story())
	s.Pause(true)
	s.settle(10 * time.Minute)
	s.Restart()
	s.settle(time.Minute)
	s.Pause(false)
	s.settle(55 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.settle(10 * time.Second)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
}

// TestDeadlineOfARejectedWorkDuringAPause: the deadline continues during the pause, and the first rejected write after the pause makes the
// cluster fail.
func TestDeadlineOfARejectedWorkDuringAPause(t *testing.T) {
	s := rejects(t)
	s.settle(5 * time.Second)
	s.Pause(true)
	s.settle(10 * time.Minute)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.Pause(false)
	s.settle(2 * time.Second)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
}
