package controlplane

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// Controllers of kube-controller-manager that callers use.
const (
	GarbageCollector = "garbage-collector-controller"
	Namespaces       = "namespace-controller"
	Deployments      = "deployment-controller"
	ReplicaSets      = "replicaset-controller"
)

// controllerManagerUser is the user of the controllers that have no ServiceAccount of their own.
const controllerManagerUser = "system:kube-controller-manager"

// StartControllerManager starts the named controllers of kube-controller-manager and no others.
func StartControllerManager(group *process.Group, binary string, server *APIServer, controllers ...string) (*process.Process, error) {
	// It has its own user name, because the policies of deploy/ recognize the garbage collector by name. It has the permissions of an
	// administrator.
	config, err := server.UserConfig(controllerManagerUser, "system:masters")
	if err != nil {
		return nil, err
	}
	kubeconfig := group.Path(server.Name, "kube-controller-manager.kubeconfig")
	if err := WriteKubeconfig(kubeconfig, server.Name, config); err != nil {
		return nil, err
	}
	child, err := group.Start(process.Command{
		Name: server.Name + "-kube-controller-manager",
		Path: binary,
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--controllers=" + strings.Join(controllers, ","),
		},
		Abrupt: true,
	})
	if err != nil {
		return nil, fmt.Errorf("controllers of %s: %w", server.Name, err)
	}
	return child, nil
}
