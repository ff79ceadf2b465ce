package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// WorkWebhook is the Deployment that the operator makes for the admission webhook of works, from the same image as WorkController.
const WorkWebhook = ClusterManagerName + "-work-webhook"

// WebhookServer is this project's admission webhook, a process of its own. It is a Workload.
type WebhookServer struct {
	group *process.Group

	mu      sync.Mutex
	binary  string
	command process.Command
	child   *process.Process
	address string
	health  string
}

// NewWebhookServer returns a server that doesn't run yet: Deploy or Start says how it runs, and with which rights.
func NewWebhookServer(group *process.Group, binary string) (*WebhookServer, error) {
	absolute, err := findBinary(binary)
	if err != nil {
		return nil, err
	}
	return &WebhookServer{group: group, binary: absolute}, nil
}

// Deploy runs the server as the container of a Deployment instead of how it ran before, and returns when it serves.
func (w *WebhookServer) Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error {
	command, err := PodCommand(ctx, w.group, hub, deployment, "")
	if err != nil {
		return err
	}
	return w.Start(ctx, command)
}

// Start runs the server instead of how it ran before, and returns when it serves. The path of the command is the server's own binary,
// whatever it says; and the arguments get flags for ports of its own, which a Pod has for itself and a process of this machine doesn't.
// Another process can take a port that was free, so an error is worth another try.
func (w *WebhookServer) Start(ctx context.Context, command process.Command) error {
	if err := w.Stop(ctx); err != nil {
		return err
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	healthPort, err := process.FreePort()
	if err != nil {
		return err
	}
	health := fmt.Sprintf("127.0.0.1:%d", healthPort)
	given := command
	w.mu.Lock()
	command.Path = w.binary
	w.mu.Unlock()
	command.Args = slices.Concat(command.Args, []string{
		fmt.Sprintf("--port=%d", port), fmt.Sprintf("--health-probe-port=%d", healthPort), "--metrics-port=0",
	})
	child, err := w.group.Start(command)
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) error { return process.HTTPOK(ctx, "http://"+health+"/readyz") }
	if err := child.WaitReady(ctx, time.Minute, ready); err != nil {
		return errors.Join(err, child.Kill())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.command, w.child, w.address, w.health = given, child, fmt.Sprintf("127.0.0.1:%d", port), "http://"+health
	return nil
}

// Address is where the webhooks are served, a host and a port; empty before it ran first.
func (w *WebhookServer) Address() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.address
}

// Healthy asks what a kubelet would ask: /healthz.
func (w *WebhookServer) Healthy(ctx context.Context) error {
	w.mu.Lock()
	health := w.health
	w.mu.Unlock()
	return process.HTTPOK(ctx, health+"/healthz")
}

// Process is the child process that runs now or ran last; nil before it ran first.
func (w *WebhookServer) Process() *process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.child
}

// Stop ends the server. Stopping one that doesn't run does nothing.
func (w *WebhookServer) Stop(ctx context.Context) error {
	if child := w.Process(); child != nil {
		return child.Stop(ctx)
	}
	return nil
}
