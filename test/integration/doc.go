// Package integration tests the hub on a real etcd and kube-apiserver. Most tests play the agents, to have them succeed,
// fail, lie and fall silent at will; those in real_test.go run OCM's own work agent and placement controller.
package integration
