// Package controlplane starts Kubernetes control planes on loopback for the sandbox and the integration
// tests: etcd, kube-apiservers that share it, and, where a caller wants them, controllers of
// kube-controller-manager. Every one is a child process of a process.Group, which ends them and removes
// their files whatever happens to the caller.
//
// A test needs three lines:
//
//	env, err := controlplane.NewEnv(ctx, os.Stderr)
//	hub, err := env.StartHub(ctx, controlplane.HubOptions{})
//	defer env.Stop(ctx)
package controlplane
