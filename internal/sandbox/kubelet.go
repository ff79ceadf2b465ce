package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// Kubelet simulates the kubelets of a hub for one Deployment: it runs the workload while the Deployment exists, and restarts it when the
// Pod template changes.
type Kubelet struct {
	cancel  context.CancelFunc
	started chan struct{}
	done    chan struct{}
	err     error
}

// Workload is a workload that a Kubelet can run: the WorkHub or the WebhookServer.
type Workload interface {
	// Deploy runs the workload as the container of a Deployment, instead of the current process, and returns once it is ready.
	Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error
	// Stop ends the workload. It has no effect if the workload is not running.
	Stop(ctx context.Context) error
}

// StartKubelet follows a Deployment, which may not exist yet, until Stop.
func StartKubelet(hub *controlplane.APIServer, namespace, name string, workload Workload) (*Kubelet, error) {
	client, err := kubernetes.NewForConfig(hub.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", hub.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kubelet{cancel: cancel, started: make(chan struct{}), done: make(chan struct{})}
	f := &follower{hub: hub, client: client, namespace: namespace, name: name, workload: workload, started: k.started}
	go func() {
		defer close(k.done)
		err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, f.look)
		if ctx.Err() == nil {
			k.err = fmt.Errorf("running the Deployment %s in the kubelet's place: %w", name, err)
		}
	}()
	return k, nil
}

// WaitRunning waits until the Deployment exists and its workload runs.
func (k *Kubelet) WaitRunning(ctx context.Context) error {
	select {
	case <-k.started:
		return nil
	case <-k.done:
		return k.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when the kubelet has stopped, after Stop or because it could not run the Deployment.
func (k *Kubelet) Done() <-chan struct{} { return k.done }

// Err returns the reason why the kubelet exited on its own, after Done is closed.
func (k *Kubelet) Err() error {
	<-k.done
	return k.err
}

// Stop stops following the Deployment. The workload continues to run.
func (k *Kubelet) Stop() {
	k.cancel()
	<-k.done
}

// follower is the internal state of the kubelet.
type follower struct {
	hub             *controlplane.APIServer
	client          kubernetes.Interface
	namespace, name string
	workload        Workload
	// running is the template of the running workload; nil for none.
	running *corev1.PodTemplateSpec
	started chan struct{}
	once    bool
	// failingSince is the time of the first failed attempt to run the template.
	failingSince time.Time
}

// look compares the running workload with the Deployment. If the hub does not respond for a moment, nothing changes.
func (f *follower) look(ctx context.Context) (bool, error) {
	deployment, err := f.client.AppsV1().Deployments(f.namespace).Get(ctx, f.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if f.running == nil {
			return false, nil
		}
		f.running = nil
		return false, f.workload.Stop(ctx)
	case err != nil:
		return false, nil
	case f.running != nil && equality.Semantic.DeepEqual(*f.running, deployment.Spec.Template):
		return false, nil
	}
	if err := f.workload.Deploy(ctx, f.hub, deployment); err != nil {
		return false, f.failed(errors.Join(err, f.workload.Stop(ctx)))
	}
	f.running, f.failingSince = &deployment.Spec.Template, time.Time{}
	if !f.once {
		f.once = true
		close(f.started)
	}
	return false, nil
}

// failed returns an error only if it persists. A dependency of a Deployment, such as a Secret, may appear a moment later.
func (f *follower) failed(err error) error {
	f.running = nil
	if f.failingSince.IsZero() {
		f.failingSince = time.Now()
	}
	if time.Since(f.failingSince) < 30*time.Second {
		return nil
	}
	return err
}
