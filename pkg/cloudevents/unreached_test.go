package cloudevents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reachRig is a driver whose clock and tasks are controlled by the test.
type reachRig struct {
	*stepped
	t       *testing.T
	clock   *clocktesting.FakeClock
	wire    *wire
	metrics *refusals
	// available is the API server's answer for every cluster; it knows all of them.
	available bool
}

func newReachRig(t *testing.T) *reachRig {
	t.Helper()
	r := &reachRig{t: t, clock: clocktesting.NewFakeClock(noon), wire: &wire{}, metrics: newRefusals()}
	r.stepped = newStepped(Options{
		Owners: fakeOwners{"ns/web": nil}, Connection: &fakeConnection{}, AgentReturn: time.Minute, Clock: r.clock, Metrics: r.metrics,
		Available: func(context.Context, string) (bool, bool) { return r.available, true },
	}, r.wire, func(_ context.Context, _ time.Duration, done func() bool) bool { return done() })
	require.NoError(t, r.Connect(t.Context()))
	r.pass(2 * time.Minute) // Agents had time to reconnect.
	return r
}

// pass advances the time, and lets the driver run the tasks that are due.
func (r *reachRig) pass(d time.Duration, meanwhile ...func()) {
	for end := r.clock.Now().Add(d); r.clock.Now().Before(end); r.clock.Step(time.Second) {
		for _, do := range meanwhile {
			do()
		}
		for r.step(r.t.Context()) {
		}
	}
}

func (r *reachRig) hears(work *workv1.ManifestWork) {
	r.Receive(withSender(r.t.Context(), work.Namespace), r.wire.report(r.t, work))
}

// asks has the agent of a cluster connect and ask for its works, like an agent that shares its client ID with another client.
func (r *reachRig) asks(cluster string) {
	r.Receive(withSender(r.t.Context(), cluster), question(r.t, cluster))
}

func (r *reachRig) write() *workv1.ManifestWork {
	r.t.Helper()
	work, err := r.Works().WorkV1().ManifestWorks("c1").Create(r.t.Context(), owned("c1", "v1"), metav1.CreateOptions{})
	require.NoError(r.t, err)
	r.changes()
	return work
}

func (r *reachRig) echo(work *workv1.ManifestWork) {
	told := work.DeepCopy()
	told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, told.Generation)}
	r.hears(told)
}

// An agent is reported as unreached if it is available but does not confirm a write after the work was sent again and the agent was asked.
// It is available if it is heard over the broker, or if its cluster is available from another source. One change to the work notifies the
// controller.
func TestAgentThatIsNotReached(t *testing.T) {
	for name, there := range map[string]func(*reachRig) []func(){
		"it connects again and again": func(r *reachRig) []func() { return []func(){func() { r.asks("c1") }} },
		"it is deaf, and its cluster is available": func(r *reachRig) []func() {
			r.available = true
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReachRig(t)
			meanwhile := there(r)
			work := r.write()
			r.pass(confirmAfter-time.Second, meanwhile...)
			require.False(t, r.Unreached(work.UID), "it may take so long")
			r.pass(4*time.Minute, meanwhile...)
			require.True(t, r.Unreached(work.UID))
			require.Equal(t, 1, r.metrics.counted("unreached"))
			require.Positive(t, count(r.wire.said(), "status resync_request c1"), "it was asked first")
			changes := r.changes()
			require.Len(t, changes, 1, "one change, whatever the number of times that it is sent again")
			require.Equal(t, work.Generation, changes[0].Object.(*workv1.ManifestWork).Generation)

			r.echo(work)
			r.pass(5 * time.Second)
			require.False(t, r.Unreached(work.UID), "it was restarted")
			require.Zero(t, r.metrics.counted("unreached"))
			r.changes()
			r.pass(2*time.Hour, func() { r.echo(work) })
			require.False(t, r.Unreached(work.UID))
			require.Empty(t, r.changes(), "and nothing is said of it any more (P7)")
		})
	}
}

// A deaf agent is also noticed without a write: it does not answer when all agents are asked for their works.
func TestDeafAgentWithoutAWrite(t *testing.T) {
	r := newReachRig(t)
	work := r.write()
	settled := work.DeepCopy()
	settled.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, work.Generation), condition(workv1.WorkAvailable, work.Generation)}
	r.hears(settled)
	r.available = true
	r.pass(25 * time.Minute)
	require.False(t, r.Unreached(work.UID))
	r.pass(20 * time.Minute)
	require.True(t, r.Unreached(work.UID))
}

// An agent that is offline, answers, is reconnecting, or is slow to delete does not count as unreached.
func TestAgentThatIsReached(t *testing.T) {
	t.Run("offline", func(t *testing.T) {
		r := newReachRig(t)
		work := r.write()
		r.pass(time.Hour)
		require.False(t, r.Unreached(work.UID))
	})
	t.Run("back after a while", func(t *testing.T) {
		r := newReachRig(t)
		work := r.write()
		r.pass(44 * time.Second)
		r.asks("c1")
		r.pass(10 * time.Second)
		require.False(t, r.Unreached(work.UID), "it was sent its work a moment ago")
		r.pass(time.Hour, func() { r.echo(work) })
		require.False(t, r.Unreached(work.UID))
	})
	t.Run("under way", func(t *testing.T) {
		r := newReachRig(t)
		work := r.write()
		r.pass(time.Hour, func() { r.echo(work) })
		require.False(t, r.Unreached(work.UID))
	})
	t.Run("slow to delete", func(t *testing.T) {
		r := newReachRig(t)
		work := r.write()
		r.echo(work)
		r.pass(time.Second)
		require.NoError(t, r.Works().WorkV1().ManifestWorks("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		r.pass(time.Hour, func() { r.echo(work) })
		require.False(t, r.Unreached(work.UID))
	})
	t.Run("the broker was away", func(t *testing.T) {
		r := newReachRig(t)
		r.available = true
		work := r.write()
		r.pass(40 * time.Second)
		require.NoError(t, r.Disconnect(t.Context()))
		require.NoError(t, r.Connect(t.Context()))
		r.pass(30 * time.Second)
		require.False(t, r.Unreached(work.UID))
	})
}
