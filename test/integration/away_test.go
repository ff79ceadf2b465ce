package integration

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
)

// While the API server is away the agents can't report either. When it is back, also after longer than every deadline, no rollout
// is aborted that only waited for it (R11). The deadline is no shorter because an API server that starts needs some seconds
// until every watch tells what happened.
func TestAPIServerAwayForLongerThanEveryDeadline(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "away")
	t.Cleanup(w.startManager(context.WithoutCancel(t.Context()), settle))
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "20s", 0, abortAll)))
	f.complete()

	f.agentsReport("", "v2", silent)
	f.update("v2")
	f.has("c1", "v2")
	eventually(t, "the agent knows of v2", func() error {
		for _, cached := range w.agents.works.GetStore().List() {
			if work := cached.(*workv1.ManifestWork); work.Namespace == f.cluster("c1") && versionOf(work) == "v2" {
				return nil
			}
		}
		return errors.New("it does not")
	})
	require.NoError(t, w.plane.Stop())
	always(t, "the API server is away", 21*time.Second, func() error {
		if _, err := w.kube.Discovery().ServerVersion(); err == nil {
			return errors.New("it answers")
		}
		return nil
	})
	require.NoError(t, w.plane.Start(t.Context()))
	f.agentsReport("", "v2", succeeds)

	require.Nil(t, f.complete().Status.AbortedTime)
	f.everywhere("v2")
	f.quiet()
}

// Two hubs with leader election: the leader is killed in the middle of an abort, and the other one finishes it.
func TestOtherHubFinishesTheAbortOfAKilledLeader(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "leader")
	ctx := t.Context()
	require.NoError(t, w.fleet.Namespace(ctx, sandbox.HubNamespace))
	binary := filepath.Join(t.TempDir(), "work")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/work")
	build.Stderr = os.Stderr
	require.NoError(t, build.Run())

	start := func() *sandbox.WorkHub {
		process, err := sandbox.NewWorkHub(w.env.Group, binary, w.plane.APIServer, "--disable-leader-election=false", "--success-settle=400ms",
			"--leader-election-lease-duration=4s", "--leader-election-renew-deadline=3s", "--leader-election-retry-period=500ms")
		require.NoError(t, err)
		require.NoError(t, process.Start(ctx))
		t.Cleanup(func() { _ = process.Kill() })
		return process
	}
	leader := start()
	f := newFleetIn(w, t, 3)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("3s", 0, abortAll)))
	f.complete()
	start()

	f.agentsReport("", "v2", hangs)
	f.update("v2")
	clear := f.obstructSoon("c2")
	f.aborting()
	f.has("c1", "v1")
	require.NoError(t, leader.Kill())
	clear()
	f.everywhere("v1")
	f.aborted()
	f.quiet()
}
