package sandbox

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// Light clusters take a version that works, one that breaks on every second of them and is aborted, and the way back.
func TestLightClusters(t *testing.T) {
	r := newReader(t)
	s := startSandbox(t, filepath.Join(r.bin, "sandbox"), r.dir, "--clusters=4", "--whole=0", "--operator=false")
	s.waitFor(`^  # 4 light clusters, up to cluster4, `)
	await.Eventually(t, patience, "the sandbox says where it is", func() error {
		_, err := r.shell("bin/sandbox env")
		return err
	})
	output, err := r.shell("kubectl mwrs status web")
	require.NoError(t, err, output)
	output, err = r.shell(`sed 's/web:v1/web:v2-flaky/' "$SAMPLES/web-v1.yaml" | kubectl apply -f -
		kubectl mwrs status web`)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, output)
	require.Equal(t, 3, exit.ExitCode(), output)
	output, err = r.shell("kubectl mwrs why web cluster2")
	require.NoError(t, err, output)
	require.Contains(t, output, "the hub recorded a failure of revision 2: Degraded")
	output, err = r.shell("kubectl mwrs undo web --yes --allow-managed --wait")
	require.NoError(t, err, output)
	await.Eventually(t, patience, "every cluster is back", func() error {
		back, err := r.shell("kubectl mwrs clusters web --state succeeded -o name")
		if err != nil || back == "cluster1\ncluster2\ncluster3\ncluster4\n" {
			return err
		}
		all, err := r.shell("kubectl mwrs clusters web; kubectl get placementdecisions -o yaml")
		return errors.Join(errors.New(all), err)
	})

	require.NoError(t, syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT))
	require.NoError(t, s.cmd.Wait())
}
