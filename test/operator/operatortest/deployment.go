package operatortest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// Workload can run as a Deployment. Its implementations are sandbox.WorkHub and sandbox.WebhookServer.
type Workload interface {
	sandbox.Workload
	Process() *process.Process
}

// BuildWork builds this project's binary, which both workloads run, for one test.
func BuildWork(t *testing.T) string {
	t.Helper()
	return BuildRelease(t, "")
}

// BuildRelease builds this project's binary as a released version; empty for a development build.
func BuildRelease(t *testing.T, version string) string {
	t.Helper()
	binary, err := tools.BuildRelease(t.Context(), t.TempDir(), version)
	require.NoError(t, err)
	return binary
}

// RunDeployment runs a workload as one of the operator's Deployments until the test ends, regardless of the Deployment's image. The
// Deployment may not exist yet. A test that fails shows the end of the workload's log.
func (h *Hub) RunDeployment(t *testing.T, deployment string, workload Workload) *sandbox.Kubelet {
	t.Helper()
	kubelet, err := sandbox.StartKubelet(h.Plane.APIServer, sandbox.HubNamespace, deployment, workload)
	require.NoError(t, err)
	t.Cleanup(func() {
		kubelet.Stop()
		if child := workload.Process(); t.Failed() && child != nil {
			t.Log("the end of the log of " + deployment + ":\n" + child.LogTail(40))
		}
	})
	return kubelet
}
