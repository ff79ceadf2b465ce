package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

// Two hubs with leader election: the leader is killed during an abort, and the other hub finishes the abort.
func TestOtherHubFinishesTheAbortOfAKilledLeader(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "leader")
	ctx := t.Context()
	require.NoError(t, w.fleet.Namespace(ctx, sandbox.HubNamespace))
	binary := hubBinary(t)

	start := func() *sandbox.WorkHub {
		process, err := sandbox.NewWorkHub(env.Group, binary, w.plane.APIServer, "--disable-leader-election=false", "--success-settle=400ms",
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
	f.has("c2", "v2")
	clear := f.obstruct("c2")
	f.aborting()
	f.has("c1", "v1")
	require.NoError(t, leader.Kill())
	clear()
	f.everywhere("v1")
	f.aborted()
	f.quiet()
}
