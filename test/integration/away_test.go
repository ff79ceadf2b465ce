package integration

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
)

// awayDeadline is the deadline in the tests that disconnect the hub for longer than the deadline.
const awayDeadline = 6 * time.Second

// waiting returns a fleet in which c1 has v2, and its agent reports nothing.
func (f *fleet) waiting(namespace string) *fleet {
	f.t.Helper()
	g := f.in(namespace)
	g.create("v1", ref("p1", progressive(1, awayDeadline.String(), 0, abortAll)))
	g.complete()
	g.agentsReport("c1", "v2", silent)
	return g
}

// away disconnects the hub's manager from its API server for longer than every deadline. One agent reports in that time, one after the
// manager has returned, and one never. Only the last one is a failure, and only after its agent had time to report. back starts that time.
func away(t *testing.T, w *world, leave, back func()) {
	t.Helper()
	root := &fleet{t: t, w: w, name: "web"}
	answered, late, gone := root.waiting("answered"), root.waiting("late"), root.waiting("gone")
	fleets := []*fleet{answered, late, gone}
	for _, f := range fleets {
		f.update("v2")
	}
	for _, f := range fleets {
		f.has("c1", "v2")
	}
	leave()
	always(t, "the hub is away", awayDeadline+2*time.Second, func() error {
		for _, f := range fleets {
			if mwrs := f.get(); mwrs.Status.AbortedTime != nil {
				return errors.New(describe(mwrs))
			}
		}
		return nil
	})
	answered.agentsReport("c1", "v2", succeeds)
	answered.hears("c1", "v2")
	began := time.Now()
	back()
	late.agentsReport("c1", "v2", succeeds)

	gone.aborted()
	require.GreaterOrEqual(t, gone.get().Status.AbortedTime.Sub(began), awayDeadline-time.Second, "no deadline fires before that")
	gone.everywhere("v1")
	for _, f := range []*fleet{answered, late} {
		f.complete()
		f.everywhere("v2")
		f.neverAborted()
	}
}

// hears waits until an agent has reported a version as successful.
func (f *fleet) hears(short, version string) {
	f.t.Helper()
	eventually(f.t, short+" reports "+version, func() error {
		for _, seen := range f.w.history.ofFleet(f) {
			if seen.cluster == f.cluster(short) && seen.version == version && seen.succeeded {
				return nil
			}
		}
		return errors.New("it does not")
	})
}

// The connection is cut: every request fails at once.
func TestCutOffForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "cut")
	line := newLine(t, strings.TrimPrefix(w.plane.Host(), "https://"))
	t.Cleanup(line.through(w).startManager(context.WithoutCancel(t.Context()), settle))
	away(t, w, line.cut, line.mend)
}

// The connection is dead, but stays open: watches are silent, and requests get no response.
func TestSilentForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "silent")
	line := newLine(t, strings.TrimPrefix(w.plane.Host(), "https://"))
	t.Cleanup(line.through(w).startManager(context.WithoutCancel(t.Context()), settle))
	t.Cleanup(line.mend)
	root := &fleet{t: t, w: w, name: "web"}
	f := root.waiting("unheard")
	f.update("v2")
	f.has("c1", "v2")
	line.silence()
	f.agentsReport("c1", "v2", succeeds)
	f.hears("c1", "v2")
	always(t, "the hub hears nothing", awayDeadline+2*time.Second, func() error {
		if mwrs := f.get(); mwrs.Status.CurrentRevision != f.hash("v1") || mwrs.Status.AbortedTime != nil {
			return errors.New(describe(mwrs))
		}
		return nil
	})
	line.mend()
	f.complete()
	f.everywhere("v2")
	f.neverAborted()
}

// The process is stopped. The agents are offline for the same time, and return after it.
func TestStoppedForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "stopped")
	stop := w.startManager(t.Context(), settle)
	defer func() { stop() }()
	away(t, w, stop, func() { stop = w.startManager(context.WithoutCancel(t.Context()), settle) })
}

// The hub's machine is suspended or migrated: no request fails, and the reports from that time are read only afterwards.
func TestMachineSuspendedForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "suspended")
	process, err := sandbox.NewWorkHub(env.Group, hubBinary(t), w.plane.APIServer, "--success-settle=400ms")
	require.NoError(t, err)
	require.NoError(t, process.Start(t.Context()))
	t.Cleanup(func() { _ = process.Kill() })
	signal := func(s syscall.Signal) func() {
		return func() { require.NoError(t, syscall.Kill(process.Process().PID(), s)) }
	}
	away(t, w, signal(syscall.SIGSTOP), signal(syscall.SIGCONT))
}

// The API server itself is unavailable, so the agents can't report either. When it is available again, they report at their own pace, and a
// rollout that only waited for it is not aborted. These agents poll: after some seconds without a server, a client-go informer retries its
// watch only after 30 to 60 seconds, which exceeds this test's deadline.
func TestAPIServerAwayForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "away")
	w.agents = agents.New(w.works)
	go w.agents.Poll(t.Context(), pollInterval)
	t.Cleanup(w.startManager(context.WithoutCancel(t.Context()), settle))
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	const deadline = 10 * time.Second
	f.create("v1", ref("p1", progressive(1, deadline.String(), 0, abortAll)))
	f.complete()
	f.agentsReport("", "v2", silent)
	f.update("v2")
	f.has("c1", "v2")
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	require.NoError(t, w.plane.Stop())
	always(t, "the API server is away", deadline+time.Second, func() error {
		if _, err := w.kube.Discovery().ServerVersion(); err == nil {
			return errors.New("it answers")
		}
		return nil
	})
	f.agentsReport("", "v2", succeeds)
	require.NoError(t, w.plane.Start(t.Context()))
	require.Nil(t, f.complete().Status.AbortedTime)
	f.everywhere("v2")
	f.neverAborted()
}
