package sandbox

import (
	"context"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// ManagedCluster is a separate cluster, with Deployments that work, and OCM's work agent.
type ManagedCluster struct {
	*controlplane.ControlPlane

	// Node simulates the kubelet.
	Node *Node
	// Agent applies the works of the hub.
	Agent *Agent
}

// StartManagedClusters starts clusters that can apply the works of a hub. The caller must make them join the hub (see Fleet), and start
// their agents after that: an agent that finds no CRDs on the hub retries less and less often.
func StartManagedClusters(ctx context.Context, env *controlplane.Env, hub *controlplane.APIServer, names ...string) ([]*ManagedCluster, error) {
	hubKubeconfig, err := hub.Kubeconfig("")
	if err != nil {
		return nil, err
	}
	planes, err := env.StartManagedClusters(ctx, true, names...)
	if err != nil {
		return nil, err
	}
	clusters := make([]*ManagedCluster, len(planes))
	for i, plane := range planes {
		cluster := &ManagedCluster{ControlPlane: plane}
		if cluster.Node, err = StartNode(ctx, plane.APIServer); err != nil {
			return nil, err
		}
		options := AgentOptions{Cluster: plane.Name, HubKubeconfig: hubKubeconfig, Managed: plane.RESTConfig()}
		if cluster.Agent, err = NewAgent(options); err != nil {
			return nil, err
		}
		clusters[i] = cluster
	}
	return clusters, nil
}
