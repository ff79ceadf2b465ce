package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

const (
	workers = 5
	// gcSync is the interval at which the garbage collector looks for new resources, and gcStart is the time that it waits for its first
	// caches.
	gcSync, gcStart = 30 * time.Second, 30 * time.Second
	namespaceSync   = 5 * time.Minute
	resync          = 12 * time.Hour
)

// newControllersCommand returns the command that runs a few controllers of kube-controller-manager. The whole program would account for a
// third of the code that this module compiles, because it imports packages of the scheduler and the kubelet.
func newControllersCommand() *cobra.Command {
	var kubeconfig string
	var names []string
	command := &cobra.Command{
		Use:  "kube-controllers",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			config.QPS, config.Burst = 100, 200
			return runControllers(cmd.Context(), config, names)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the API server to connect to, and its credentials")
	command.Flags().StringSliceVar(&names, "controllers", nil,
		"the controllers to run: garbage-collector-controller, namespace-controller, deployment-controller, replicaset-controller")
	return command
}

// controllers holds the clients and informers that the controllers share.
type controllers struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
	objects   metadatainformer.SharedInformerFactory
	// started is closed when the informers have started.
	started chan struct{}
}

// runControllers runs the named controllers until ctx ends.
func runControllers(ctx context.Context, config *rest.Config, names []string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	c := &controllers{
		client: client, metadata: objects, started: make(chan struct{}),
		informers: informers.NewSharedInformerFactory(client, resync),
		objects:   metadatainformer.NewSharedInformerFactory(objects, resync),
	}
	starts := map[string]func(context.Context) (func(), error){
		"garbage-collector-controller": c.garbageCollector,
		"namespace-controller":         c.namespaces,
		"deployment-controller":        c.deployments,
		"replicaset-controller":        c.replicaSets,
	}
	runs := make([]func(), 0, len(names))
	for _, name := range names {
		start, known := starts[name]
		if !known {
			return fmt.Errorf("--controllers: no controller is called %q", name)
		}
		run, err := start(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, run)
	}
	c.informers.Start(ctx.Done())
	c.objects.Start(ctx.Done())
	close(c.started)
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(run)
	}
	running.Wait()
	return nil
}

func (c *controllers) garbageCollector(ctx context.Context) (func(), error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(c.client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, c.client, c.metadata, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(c.informers, c.objects), c.started)
	if err != nil {
		return nil, err
	}
	return func() {
		go collector.Sync(ctx, c.client.Discovery(), gcSync)
		collector.Run(ctx, workers, gcStart)
	}, nil
}

func (c *controllers) namespaces(ctx context.Context) (func(), error) {
	controller := namespace.NewNamespaceController(ctx, c.client, c.metadata, c.client.Discovery().ServerPreferredNamespacedResources,
		c.informers.Core().V1().Namespaces(), namespaceSync, corev1.FinalizerKubernetes)
	return func() { controller.Run(ctx, workers) }, nil
}

func (c *controllers) deployments(ctx context.Context) (func(), error) {
	apps := c.informers.Apps().V1()
	controller, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), c.informers.Core().V1().Pods(),
		c.client)
	if err != nil {
		return nil, err
	}
	return func() { controller.Run(ctx, workers) }, nil
}

func (c *controllers) replicaSets(ctx context.Context) (func(), error) {
	controller := replicaset.NewReplicaSetController(ctx, c.informers.Apps().V1().ReplicaSets(), c.informers.Core().V1().Pods(), c.client,
		replicaset.BurstReplicas)
	return func() { controller.Run(ctx, workers) }, nil
}
