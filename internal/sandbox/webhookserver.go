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

// WorkWebhook is the Deployment that the operator creates for the admission webhook of works, with the same image as WorkController.
const WorkWebhook = ClusterManagerName + "-work-webhook"

// WebhookServer is this project's admission webhook, in a separate process. It is a Workload.
type WebhookServer struct {
	group *process.Group

	mu      sync.Mutex
	binary  string
	command process.Command
	child   *process.Process
	address string
	health  string
}

// NewWebhookServer returns a server that is not running yet. Deploy or Start determines how it runs, and with which permissions.
func NewWebhookServer(group *process.Group, binary string) (*WebhookServer, error) {
	absolute, err := findBinary(binary)
	if err != nil {
		return nil, err
	}
	return &WebhookServer{group: group, binary: absolute}, nil
}

// Deploy runs the server as the container of a Deployment, instead of the current process, and returns once it serves.
func (w *WebhookServer) Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error {
	command, err := PodCommand(ctx, w.group, hub, deployment, "")
	if err != nil {
		return err
	}
	return w.Start(ctx, command)
}

// Start runs the server, instead of the current process, and returns once it serves. The path of the command is always the server's own
// binary. Start adds flags for unused ports, because the process shares the ports of this machine. Another process can take a free port, so
// the caller should retry after an error.
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

// Address returns the host and port of the webhooks; empty if the server has never run.
func (w *WebhookServer) Address() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.address
}

// Healthy requests /healthz, as a kubelet does.
func (w *WebhookServer) Healthy(ctx context.Context) error {
	w.mu.Lock()
	health := w.health
	w.mu.Unlock()
	return process.HTTPOK(ctx, health+"/healthz")
}

// Process returns the current or last child process; nil if the server has never run.
func (w *WebhookServer) Process() *process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.child
}

// Stop ends the server. It has no effect on a server that is not running.
func (w *WebhookServer) Stop(ctx context.Context) error {
	if child := w.Process(); child != nil {
		return child.Stop(ctx)
	}
	return nil
}
