// Package sandbox runs a whole Open Cluster Management hub and its managed clusters on this machine, of real
// parts: etcd and kube-apiservers, controllers of kube-controller-manager, OCM's operator, placement controller and work agents, and this
// project's work hub as its own process. Only the nodes are played. On managed clusters, Node sets the Pods ready or not as their image
// says, and no container runs. On the hub, Kubelet runs the Deployments of this project as processes.
//
// It is a test rig and a demo, and no part of the product: cmd/sandbox and the tests use it, and no package of the hub imports it.
package sandbox
