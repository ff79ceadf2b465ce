package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/process"
)

// WorkWebhook is the Deployment that the operator makes for the admission webhook of works, from the same image as WorkController.
const WorkWebhook = ClusterManagerName + "-work-webhook"

// WebhookServer is this project's admission webhook, a process of its own. It is a Workload.
type WebhookServer struct {
	group  *process.Group
	binary string

	mu      sync.Mutex
	child   *process.Process
	address string
	health  string
}

// NewWebhookServer returns a server that doesn't run yet: Deploy says how it runs, and with which rights.
func NewWebhookServer(group *process.Group, binary string) (*WebhookServer, error) {
	absolute, err := findBinary(binary)
	if err != nil {
		return nil, err
	}
	return &WebhookServer{group: group, binary: absolute}, nil
}

// Deploy runs the server as the container of a Deployment instead of how it ran before, and returns when it serves. It differs from the
// Deployment in its ports, which a Pod has for itself and a process of this machine doesn't.
func (w *WebhookServer) Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error {
	command, err := PodCommand(ctx, w.group, hub, deployment, w.binary)
	if err != nil {
		return err
	}
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
	command.Args = append(command.Args, fmt.Sprintf("--port=%d", port), "--health-probe-bind-address="+health, "--metrics-bind-address=0")
	child, err := w.group.Start(command)
	if err != nil {
		return err
	}
	if err := child.WaitReady(ctx, time.Minute, func(ctx context.Context) error { return probe(ctx, "http://"+health+"/readyz") }); err != nil {
		return errors.Join(err, child.Kill())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.child, w.address, w.health = child, fmt.Sprintf("127.0.0.1:%d", port), "http://"+health
	return nil
}

// Address is where the webhooks are served, a host and a port; empty before the first Deploy.
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
	return probe(ctx, health+"/healthz")
}

// Process is the child process that runs now or ran last; nil before the first Deploy.
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

// probe is the HTTP probe of a kubelet.
func probe(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s", url, response.Status)
	}
	return nil
}
