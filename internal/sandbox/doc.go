// Package sandbox runs a whole Open Cluster Management hub and its managed clusters on this machine, of real
// parts: etcd and kube-apiservers, kube-controller-manager, OCM's operator, placement controller and work agents, and this
// project's work hub as its own process. Only the nodes are played: on managed clusters by kwok, where Pods get ready or not as their
// image says and no container runs, and on the hub by Kubelet, which runs what this project's Deployments there are to run.
//
// It is a test rig and a demo, and no part of the product: cmd/sandbox and the tests use it, and no package of the hub imports it.
package sandbox
