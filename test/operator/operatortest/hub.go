// Package operatortest starts a hub for tests of this project in its real environment: a hub that OCM's ClusterManager operator set up,
// with managed clusters that have OCM's own work agents. The operator's Deployments run as child processes, without a kubelet. The tests
// decide whether and how to apply deploy/.
package operatortest

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
)

// Hub is a hub as `clusteradm init` creates it and, after Join, with the clusters of `clusteradm join`. Its clients have all permissions.
type Hub struct {
	Env      *controlplane.Env
	Plane    *controlplane.ControlPlane
	Operator *sandbox.Operator
	Fleet    *sandbox.Fleet

	Kube        kubernetes.Interface
	Works       workclient.Interface
	ReplicaSets versioned.Interface
	// Clusters are clients of the managed clusters, by name, and Agents are their work agents; empty before Join.
	Clusters map[string]kubernetes.Interface
	Agents   map[string]*sandbox.Agent
}

// Start starts a hub that runs until the test ends. It is an upstream hub, without anything of deploy/. The arguments are added to the
// flags of its API server. The logger of the whole process becomes the hub's logger.
func Start(t *testing.T, arguments ...string) *Hub {
	t.Helper()
	ctx := t.Context()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop(context.Background())) })
	require.NoError(t, sandbox.LogToFile(env.Group.Path("logs", "operator-and-agents.log")))
	h := &Hub{Env: env, Clusters: map[string]kubernetes.Interface{}, Agents: map[string]*sandbox.Agent{}}
	h.Plane, err = env.StartHub(ctx, controlplane.HubOptions{Bare: true, GarbageCollection: true, APIServerArgs: arguments})
	require.NoError(t, err)
	config := h.Plane.RESTConfig()
	h.Kube, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	h.Works, err = workclient.NewForConfig(config)
	require.NoError(t, err)
	h.ReplicaSets, err = versioned.NewForConfig(config)
	require.NoError(t, err)
	h.Fleet, err = sandbox.NewFleet(config)
	require.NoError(t, err)
	h.Operator, err = sandbox.StartOperator(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Operator.Stop()) })
	return h
}
