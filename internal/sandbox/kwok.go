package sandbox

import (
	"context"
	_ "embed"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// NodeName is the node that every managed cluster has. Pods have to ask for it, because no scheduler runs.
const NodeName = "node-1"

//go:embed kwok.yaml
var kwokStages []byte

// StartKwok makes a node on a cluster and starts the kwok that plays its kubelet.
func StartKwok(ctx context.Context, group *process.Group, binary string, server *controlplane.APIServer) (*process.Process, error) {
	if err := createNode(ctx, server); err != nil {
		return nil, err
	}
	kubeconfig, err := server.Kubeconfig("")
	if err != nil {
		return nil, err
	}
	stages := group.Path(server.Name, "kwok.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of kwok: %w", err)
	}
	child, err := group.Start(process.Command{
		Name: server.Name + "-kwok",
		Path: binary,
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--config=" + stages,
			"--manage-all-nodes=true",
			// A lease per node would have kwok share its nodes with other kwoks. There are none.
			"--node-lease-duration-seconds=0",
		},
		// Otherwise it would keep its files in the home directory.
		Env:    []string{"KWOK_WORKDIR=" + group.Path(server.Name, "kwok")},
		Abrupt: true,
	})
	if err != nil {
		return nil, fmt.Errorf("nodes of %s: %w", server.Name, err)
	}
	return child, nil
}

func createNode(ctx context.Context, server *controlplane.APIServer) error {
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		return fmt.Errorf("making a client of %s: %w", server.Name, err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating a node on %s: %w", server.Name, err)
	}
	return nil
}
