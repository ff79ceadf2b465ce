package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// NodeName is the name of the node of each managed cluster. Pods must request it, because no scheduler runs.
const NodeName = "node-1"

const (
	// readyAfter is the time that a Pod takes to become ready.
	readyAfter = time.Second
	// brokenImage is the word in the name of an image that can't be pulled.
	brokenImage = "broken"
	// resyncPods is the maximum time until the failed status update of a Pod is retried.
	resyncPods = 10 * time.Second
)

// Node simulates the kubelet of a managed cluster. Its Pods become ready, unless the name of an image contains the word "broken", and
// disappear when they are deleted. No container runs.
type Node struct {
	client kubernetes.Interface
	pods   cache.Indexer
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	cancel context.CancelFunc
	done   chan struct{}
}

// StartNode creates the node of a managed cluster, and simulates its kubelet until Stop.
func StartNode(ctx context.Context, server *controlplane.APIServer) (*Node, error) {
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", server.Name, err)
	}
	if err := createNode(ctx, client); err != nil {
		return nil, fmt.Errorf("creating the node of %s: %w", server.Name, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, resyncPods, informers.WithTweakListOptions(func(list *metav1.ListOptions) {
		list.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", NodeName).String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	n := &Node{
		client: client, pods: informer.GetIndexer(), done: make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    n.enqueue,
		UpdateFunc: func(_, pod any) { n.enqueue(pod) },
	}); err != nil {
		return nil, fmt.Errorf("watching the Pods of %s: %w", server.Name, err)
	}
	running, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	factory.Start(running.Done())
	go n.run(running, factory)
	return n, nil
}

// Stop ends the kubelet. The node and its Pods stay.
func (n *Node) Stop() {
	n.cancel()
	n.queue.ShutDown()
	<-n.done
}

func (n *Node) enqueue(object any) {
	pod := object.(*corev1.Pod)
	wait := readyAfter
	if pod.DeletionTimestamp != nil {
		wait = 0
	}
	n.queue.AddAfter(cache.MetaObjectToName(pod), wait)
}

func (n *Node) run(ctx context.Context, factory informers.SharedInformerFactory) {
	defer close(n.done)
	defer factory.Shutdown()
	for {
		key, stopped := n.queue.Get()
		if stopped {
			return
		}
		// Errors belong in the log of the sandbox. Here, each error is retried.
		if err := n.sync(ctx, key); err != nil {
			n.queue.AddRateLimited(key)
		} else {
			n.queue.Forget(key)
		}
		n.queue.Done(key)
	}
}

func (n *Node) sync(ctx context.Context, key cache.ObjectName) error {
	cached, exists, err := n.pods.GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	pod := cached.(*corev1.Pod)
	pods := n.client.CoreV1().Pods(pod.Namespace)
	switch {
	case pod.DeletionTimestamp != nil:
		err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	case len(pod.Status.ContainerStatuses) == 0:
		played := pod.DeepCopy()
		played.Status = podStatus(pod, metav1.Now())
		_, err = pods.UpdateStatus(ctx, played, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // A newer state of the Pod is about to arrive.
	}
	return err
}

// podStatus returns the status of a Pod: running, or waiting for an image that can't be pulled.
func podStatus(pod *corev1.Pod, now metav1.Time) corev1.PodStatus {
	broken := brokenIn(&pod.Spec)
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now}
	ready := corev1.PodCondition{Status: corev1.ConditionTrue, LastTransitionTime: now}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	if broken {
		status.Phase = corev1.PodPending
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `the sandbox can't pull images whose names contain the word "broken"`,
		}}
	}
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		ready.Type = kind
		status.Conditions = append(status.Conditions, ready)
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: !broken, Started: ptr.To(!broken), State: state,
		})
	}
	return status
}

// brokenIn reports whether a Pod has an image that can't be pulled.
func brokenIn(spec *corev1.PodSpec) bool { return hasImage(spec, brokenImage) }

// hasImage reports whether the name of one of a Pod's images contains a word.
func hasImage(spec *corev1.PodSpec, word string) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, word) })
}

func createNode(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	node.Status = corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "the sandbox plays this node",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}}
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}
