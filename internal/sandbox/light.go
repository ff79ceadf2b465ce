package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// lightWorkers is the number of ManifestWorks that the light agents handle at the same time.
const lightWorkers = 4

// LightAgents simulates the work agents of clusters that have no API server. The part on the hub is real: each cluster has a ManagedCluster
// and a namespace, and its agent watches ManifestWorks, sets and removes their finalizer, and reports their status. OCM's own evaluator
// reads the condition rules. Only the cluster is simulated: the manifests exist in memory only, the status of a Deployment depends on the
// name of its image, like the Pods of a Node, and other objects exist at once. There are no Pods, no status feedback and no
// AppliedManifestWorks.
type LightAgents struct {
	client   workclient.Interface
	works    cache.Indexer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	reader   *conditions.ConditionReader
	cancel   context.CancelFunc
	stopped  sync.WaitGroup
	mu       sync.Mutex
	clusters map[string]map[string]*lightObject
	// offline are the clusters whose agents are disconnected from the hub.
	offline map[string]bool
}

// StartLightAgents runs the agents of the named clusters until Stop.
func StartLightAgents(hub *rest.Config, names ...string) (*LightAgents, error) {
	client, err := workclient.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	reader, err := conditions.NewConditionReader()
	if err != nil {
		return nil, fmt.Errorf("creating the evaluator of condition rules: %w", err)
	}
	factory := workinformers.NewSharedInformerFactory(client, 0)
	informer := factory.Work().V1().ManifestWorks().Informer()
	l := &LightAgents{
		client: client, works: informer.GetIndexer(), reader: reader, clusters: map[string]map[string]*lightObject{}, offline: map[string]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	for _, name := range names {
		l.clusters[name] = map[string]*lightObject{}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: l.enqueue, UpdateFunc: func(_, work any) { l.enqueue(work) }})
	if err != nil {
		return nil, fmt.Errorf("watching the ManifestWorks: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = func() {
		cancel()
		l.queue.ShutDown()
		factory.Shutdown()
	}
	factory.Start(ctx.Done())
	for range lightWorkers {
		l.stopped.Go(func() { l.run(ctx) })
	}
	return l, nil
}

// Stop ends the agents. Their reports stay.
func (l *LightAgents) Stop() {
	l.cancel()
	l.stopped.Wait()
}

// SetOnline connects the agent of a cluster to the hub, or disconnects it: it sees and reports nothing until it is connected again. A write
// that was already sent still arrives.
func (l *LightAgents) SetOnline(name string, online bool) {
	l.mu.Lock()
	l.offline[name] = !online
	l.mu.Unlock()
	for _, work := range l.works.List() {
		l.enqueue(work)
	}
}

func (l *LightAgents) isOffline(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offline[name]
}

func (l *LightAgents) enqueue(object any) {
	work, ok := object.(*workv1.ManifestWork)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ours := l.clusters[work.Namespace]; ours {
		l.queue.Add(cache.MetaObjectToName(work))
	}
}

func (l *LightAgents) run(ctx context.Context) {
	for {
		key, stopped := l.queue.Get()
		if stopped {
			return
		}
		// Each error is retried: the hub may be away for a moment.
		if again, err := l.sync(ctx, key); err != nil {
			l.queue.AddRateLimited(key)
		} else {
			l.queue.Forget(key)
			if again > 0 {
				l.queue.AddAfter(key, again)
			}
		}
		l.queue.Done(key)
	}
}

// sync takes the next step of an agent for a ManifestWork. It returns the time until the next check; zero if only a change to the work
// requires one.
func (l *LightAgents) sync(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	cached, exists, err := l.works.GetByKey(key.String())
	if err != nil || !exists || l.isOffline(key.Namespace) {
		return 0, err
	}
	work, ok := cached.(*workv1.ManifestWork)
	if !ok {
		return 0, fmt.Errorf("the cache of ManifestWorks holds a %T", cached)
	}
	work = work.DeepCopy()
	client := l.client.WorkV1().ManifestWorks(work.Namespace)
	switch kept := hasFinalizer(work); {
	case !work.DeletionTimestamp.IsZero() && !kept:
		return 0, nil
	case !work.DeletionTimestamp.IsZero():
		l.deleteOthers(work, nil)
		work.Finalizers = withoutFinalizer(work.Finalizers)
		_, err = client.Update(ctx, work, metav1.UpdateOptions{})
		return 0, superseded(err)
	case !kept:
		work.Finalizers = append(work.Finalizers, workv1.ManifestWorkFinalizer)
		_, err = client.Update(ctx, work, metav1.UpdateOptions{})
		return 0, superseded(err)
	}
	before := work.Status.DeepCopy()
	again, err := l.report(ctx, work, time.Now())
	if err != nil || equality.Semantic.DeepEqual(*before, work.Status) {
		return again, err
	}
	_, err = client.UpdateStatus(ctx, work, metav1.UpdateOptions{})
	return again, superseded(err)
}

// superseded drops an error that means that a newer state of the work is about to arrive.
func superseded(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// startLight makes the light clusters join the hub.
func (s *Sandbox) startLight(ctx context.Context, options Options) error {
	if options.Light == 0 {
		return nil
	}
	s.LightClusters = clusterNames(options.Clusters + options.Light)[options.Clusters:]
	for _, name := range s.LightClusters {
		if err := s.Fleet.Join(ctx, name, "https://"+name+".invalid"); err != nil {
			return err
		}
	}
	var err error
	s.LightAgents, err = StartLightAgents(s.Hub.RESTConfig(), s.LightClusters...)
	return err
}
