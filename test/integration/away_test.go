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

// awayDeadline is the deadline of the tests that take the hub away, for longer than that.
const awayDeadline = 6 * time.Second

// waiting makes a fleet whose c1 has v2, and says nothing.
func (f *fleet) waiting(namespace string) *fleet {
	f.t.Helper()
	g := f.in(namespace)
	g.create("v1", ref("p1", progressive(1, awayDeadline.String(), 0, abortAll)))
	g.complete()
	g.agentsReport("c1", "v2", silent)
	return g
}

// away takes the hub's manager away from its API server for longer than every deadline. One agent answers in that time, one when the
// manager is back, and one never: only that is a failure, and not before its agent had the time to report. back begins the
// time.
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

// The connection is dead, and nobody notices: watches are silent, and requests are not answered.
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

// The process is stopped, and the agents are away for as long, and come back after it.
func TestStoppedForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "stopped")
	stop := w.startManager(t.Context(), settle)
	defer func() { stop() }()
	away(t, w, stop, func() { stop = w.startManager(context.WithoutCancel(t.Context()), settle) })
}

// The hub's machine is suspended or migrated: no request fails, and what the agents reported meanwhile is read only after that.
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

// The API server itself is away: the agents can't report either. When it is back they do, at their own pace, and nothing is aborted that
// only waited for it. These agents ask: after some seconds without a server the watch of a client-go informer is tried again every half
// to whole minute only, which is more than this test's deadline.
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
