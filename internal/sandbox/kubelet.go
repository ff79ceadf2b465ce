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

// Kubelet plays the kubelets of a hub for one Deployment: what it is to run runs while the Deployment is there, and again when its Pod
// template changes.
type Kubelet struct {
	cancel  context.CancelFunc
	started chan struct{}
	done    chan struct{}
	err     error
}

// Workload is what a Kubelet can run: the WorkHub and the WebhookServer.
type Workload interface {
	// Deploy runs it as the container of a Deployment, instead of how it ran before, and returns when it is ready.
	Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error
	// Stop ends it. Stopping what doesn't run does nothing.
	Stop(ctx context.Context) error
}

// StartKubelet follows a Deployment, which may not be there yet, until Stop.
func StartKubelet(hub *controlplane.APIServer, namespace, name string, workload Workload) (*Kubelet, error) {
	client, err := kubernetes.NewForConfig(hub.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", hub.Name, err)
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

// WaitRunning waits until the Deployment is there and runs.
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

// Done is closed when the kubelet has ended, after Stop or because it could not run the Deployment.
func (k *Kubelet) Done() <-chan struct{} { return k.done }

// Err says why the kubelet ended by itself, once Done is closed.
func (k *Kubelet) Err() error {
	<-k.done
	return k.err
}

// Stop ends the following; what runs goes on.
func (k *Kubelet) Stop() {
	k.cancel()
	<-k.done
}

// follower is the kubelet's own state.
type follower struct {
	hub             *controlplane.APIServer
	client          kubernetes.Interface
	namespace, name string
	workload        Workload
	// running is the template of what runs, nil for nothing.
	running *corev1.PodTemplateSpec
	started chan struct{}
	once    bool
	// failingSince is when it could not be run for the first time.
	failingSince time.Time
}

// look compares what runs with the Deployment. A hub that doesn't answer for a moment changes nothing.
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

// failed returns an error that lasts: what a Deployment needs, such as a Secret, may come a moment after it.
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
