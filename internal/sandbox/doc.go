// Package sandbox runs a complete Open Cluster Management hub and its managed clusters on this machine, with real components: etcd and
// kube-apiservers, controllers of kube-controller-manager, OCM's operator, placement controller and work agents, and this project's work
// hub in a separate process. Only the nodes are simulated. On managed clusters, Node marks the Pods as ready or not, depending on the name
// of their image, and no container runs. On the hub, Kubelet runs the Deployments of this project as processes.
//
// It is a test rig and a demo, and not a part of the product: cmd/sandbox and the tests use it, and no package of the hub imports it.
package sandbox
