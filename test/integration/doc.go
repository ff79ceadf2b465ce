// Package integration tests the hub on a real etcd and kube-apiserver. Most tests simulate the agents, to make them succeed, fail, lie and
// fall silent at will. The tests in real_test.go run OCM's own work agent and placement controller.
package integration
