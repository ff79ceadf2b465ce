package cloudevents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
)

// steps is a rig whose driver performs tasks only when the test requests it.
type steps struct {
	*stepped
	t     *testing.T
	clock *clocktesting.FakeClock
	wire  *wire
	// meanwhile is called while the driver waits for agents.
	meanwhile func()
}

func newSteps(t *testing.T) *steps {
	t.Helper()
	s := &steps{t: t, clock: clocktesting.NewFakeClock(noon), wire: &wire{}, meanwhile: func() {}}
	s.stepped = newStepped(Options{
		Connection: &fakeConnection{}, AgentReturn: time.Minute, Clock: s.clock, Owners: fakeOwners{"ns/web": nil}, Metrics: newRefusals(),
	}, s.wire,
		func(_ context.Context, patience time.Duration, done func() bool) bool {
			s.meanwhile()
			s.work()
			if !done() {
				s.clock.Step(patience)
			}
			return done()
		})
	require.NoError(t, s.Connect(t.Context()))
	s.work()
	return s
}

// work performs all tasks that are due.
func (s *steps) work() {
	for s.step(s.t.Context()) {
	}
}

func (s *steps) after(wait time.Duration) {
	s.clock.Step(wait)
	s.work()
}

func (s *steps) create(work *workv1.ManifestWork) *workv1.ManifestWork {
	s.t.Helper()
	created, err := s.Works().WorkV1().ManifestWorks(work.Namespace).Create(s.t.Context(), work, metav1.CreateOptions{})
	require.NoError(s.t, err)
	return created
}

// tell makes the agent report a work as applied and available. underWay is the status of the condition Progressing.
func (s *steps) tell(work *workv1.ManifestWork, underWay metav1.ConditionStatus) {
	s.t.Helper()
	told := work.DeepCopy()
	progressing := condition(workv1.WorkProgressing, work.Generation)
	progressing.Status = underWay
	told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, work.Generation), condition(workv1.WorkAvailable, work.Generation), progressing}
	s.Receive(s.t.Context(), s.wire.report(s.t, told))
	s.work()
}

// If the last report of a rollout is lost, the cluster seems to be in progress forever. The hub asks the agent at intervals until the work
// has settled.
func TestClusterThatIsUnderWayForLongIsAsked(t *testing.T) {
	s := newSteps(t)
	work := s.create(owned("c1", "v1"))
	s.tell(work, metav1.ConditionTrue)
	asked := func() int { return count(s.wire.said(), "status resync_request c1") }
	s.after(confirmAfter)
	require.Zero(t, asked(), "most clusters are there soon")
	s.after(unsettledAfter)
	require.Equal(t, 1, asked())
	s.after(unsettledAfter)
	require.Equal(t, 1, asked(), "each time after twice as long")
	s.after(unsettledAfter)
	require.Equal(t, 2, asked())
	s.tell(work, metav1.ConditionFalse)
	for range 4 {
		s.after(longestPause)
		s.tell(work, metav1.ConditionFalse)
	}
	require.Equal(t, 2, asked(), "it is there")
	require.Zero(t, count(s.wire.said(), "spec resync_response c1"), "nor is it sent again")
}

// An agent answers for all of its works, so the hub asks it only once.
func TestWorksOfOneClusterShareAQuestion(t *testing.T) {
	s := newSteps(t)
	for _, name := range []string{"one", "other"} {
		work := owned("c1", "v1")
		work.Name = name
		s.tell(s.create(work), metav1.ConditionTrue)
	}
	s.after(confirmAfter)
	s.after(unsettledAfter)
	require.Equal(t, 1, count(s.wire.said(), "status resync_request c1"))
}

// An agent that was restarted has lost its works. If its own question is lost, too, the hub sends the works because the agent does not
// answer.
func TestAgentThatHasLostItsWorks(t *testing.T) {
	s := newSteps(t)
	lost, kept := s.create(owned("c1", "v1")), s.create(owned("c2", "v1"))
	for _, work := range []*workv1.ManifestWork{lost, kept} {
		s.tell(work, metav1.ConditionFalse)
	}
	s.after(confirmAfter)
	require.Equal(t, 1, count(s.wire.said(), "status resync_request"))
	s.after(auditInterval - confirmAfter)
	require.Equal(t, 2, count(s.wire.said(), "status resync_request"), "all are asked now and then")
	s.tell(kept, metav1.ConditionFalse)
	s.after(confirmAfter)
	require.Zero(t, count(s.wire.said(), "spec resync_response c1"), "it may be on its way back, and asks then")
	s.after(time.Minute)
	require.Equal(t, 1, count(s.wire.said(), "spec resync_response c1"))
	require.Zero(t, count(s.wire.said(), "spec resync_response c2"))
	s.tell(lost, metav1.ConditionFalse)
	s.after(5 * time.Minute)
	require.Equal(t, 1, count(s.wire.said(), "spec resync_response c1"))

	require.NoError(t, s.Disconnect(t.Context()))
	require.NoError(t, s.Connect(t.Context()))
	s.work()
	s.after(time.Minute + confirmAfter)
	require.Equal(t, 2, count(s.wire.said(), "spec resync_response c1"), "the question may have come while the hub was away")
}

// A question that is lost is repeated before a failure counts.
func TestGetAsksAgain(t *testing.T) {
	s := newSteps(t)
	work := s.create(owned("c1", "v1"))
	waits := 0
	s.meanwhile = func() {
		if waits++; waits == questions {
			s.tell(work, metav1.ConditionFalse)
		}
	}
	got, err := s.Works().WorkV1().ManifestWorks("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, settled(got))
	require.Equal(t, questions, count(s.wire.said(), "status resync_request c1"))
}

// A driver that is controlled step by step reports each change, and the time of its next task.
func TestStepped(t *testing.T) {
	s := newSteps(t)
	require.Equal(t, noon.Add(auditInterval), s.next())
	work := s.create(owned("c1", "v1"))
	require.Equal(t, noon.Add(confirmAfter), s.next())
	require.False(t, s.step(t.Context()))
	s.tell(work, metav1.ConditionFalse)
	var changes []watch.EventType
	for _, change := range s.changes() {
		changes = append(changes, change.Type)
	}
	require.Equal(t, []watch.EventType{watch.Added, watch.Modified}, changes)
	require.Empty(t, s.changes())
	require.True(t, s.Knows(t.Context(), nil))
	require.False(t, s.Knows(t.Context(), map[string]int{"ns.web": 2}))
	s.after(restorePatience)
	require.True(t, s.Knows(t.Context(), map[string]int{"ns.web": 2}))
}
