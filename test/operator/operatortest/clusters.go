package operatortest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

// ClusterNames are the managed clusters, as the documentation names them.
var ClusterNames = []string{"cluster1", "cluster2"}

// Join starts the managed clusters with OCM's own work agents, and OCM's placement controller, which run until the test ends. A namespace
// must be bound first if its Placements should select the clusters: see Fleet.
func (h *Hub) Join(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	planes, err := h.Env.StartManagedClusters(ctx, false, ClusterNames...)
	require.NoError(t, err)
	kubeconfig, err := h.Plane.Kubeconfig("")
	require.NoError(t, err)
	for _, plane := range planes {
		require.NoError(t, h.Fleet.Join(ctx, plane.Name, plane.Host()))
		agent, err := sandbox.NewAgent(sandbox.AgentOptions{
			Cluster: plane.Name, HubKubeconfig: kubeconfig, Managed: plane.RESTConfig(), StatusSyncInterval: time.Second,
		})
		require.NoError(t, err)
		agent.Start()
		h.Agents[plane.Name] = agent
		t.Cleanup(agent.Stop)
		h.Clusters[plane.Name], err = kubernetes.NewForConfig(plane.RESTConfig())
		require.NoError(t, err)
	}
	stop := sandbox.StartPlacement(h.Plane.RESTConfig())
	t.Cleanup(func() { require.NoError(t, stop()) })
}
