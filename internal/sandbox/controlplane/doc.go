// Package controlplane starts Kubernetes control planes on loopback for the sandbox and the integration tests: etcd, kube-apiservers that
// share it, and controllers of kube-controller-manager if a caller requests them. Each of them is a child process of a process.Group, which
// ends them and removes their files, even if the caller crashes.
//
// A test needs three lines:
//
//	env, err := controlplane.NewEnv(ctx, os.Stderr)
//	hub, err := env.StartHub(ctx, controlplane.HubOptions{})
//	defer env.Stop(ctx)
package controlplane
