package operatortest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// Workload is what runs as a Deployment: sandbox.WorkHub and sandbox.WebhookServer.
type Workload interface {
	sandbox.Workload
	Process() *process.Process
}

// BuildWork builds this project's binary, which both workloads run, for one test.
func BuildWork(t *testing.T) string {
	t.Helper()
	return BuildRelease(t, "")
}

// BuildRelease builds it as a released version; empty for none.
func BuildRelease(t *testing.T, version string) string {
	t.Helper()
	binary, err := tools.BuildRelease(t.Context(), t.TempDir(), version)
	require.NoError(t, err)
	return binary
}

// RunDeployment has a workload run as a Deployment of the operator's, which may not be there yet, whatever image it names, until the test
// ends. A test that fails shows the end of its log.
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
