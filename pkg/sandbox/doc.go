// Package sandbox runs a whole Open Cluster Management hub and its managed clusters on this machine, of real
// parts: etcd and kube-apiservers, kube-controller-manager, OCM's placement controller and work agents, and this
// project's work hub as its own process. Only the nodes are played, by kwok: Pods get ready or not as their image
// says, and no container runs.
package sandbox
