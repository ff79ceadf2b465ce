package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// answerers is the number of reports that are in progress at the same time: the agents of a real fleet don't wait for each other.
	answerers = 64
	// onlyMetadata makes the API server omit the unused contents of a response.
	onlyMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

var worksResource = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}

// Fleet simulates the agents of all clusters. It watches only the metadata of the works, to leave the machine's resources to the
// controller.
type Fleet struct {
	// report sends the status of a work to the hub.
	report func(ctx context.Context, at cache.ObjectName, status *workv1.ManifestWorkStatus) error
	delay  time.Duration
	queue  workqueue.TypedDelayingInterface[string]
	// agents are the agents on a broker; nil if works go through the API server.
	agents *Agents

	mu    sync.Mutex
	works map[string]*work
	// outcome returns the outcome of each report.
	outcome func(cluster string) Outcome
	phase   *Phase
	err     error
	// touched is the number of times an agent repeated a report.
	touched int
}

// work is an agent's state of its work.
type work struct {
	generation int64
	answered   int64
	status     workv1.ManifestWorkStatus
}

// Start starts agents that report success after a delay when a work is written. They end with the context.
func Start(ctx context.Context, config *rest.Config, delay time.Duration) (*Fleet, error) {
	works, err := workclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	f := newFleet(delay)
	f.report = patchStatus(works.WorkV1().RESTClient())
	informer := metadatainformer.NewSharedInformerFactory(metadataClient, 0).
		ForResource(worksResource).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f.see, UpdateFunc: func(_, object any) { f.see(object) }, DeleteFunc: f.lose,
	}); err != nil {
		return nil, fmt.Errorf("watching the works: %w", err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, context.Cause(ctx)
	}
	f.run(ctx)
	return f, nil
}

func newFleet(delay time.Duration) *Fleet {
	f := &Fleet{delay: delay, works: map[string]*work{}, phase: newPhase(""), queue: workqueue.NewTypedDelayingQueue[string]()}
	f.Report(func(string) Outcome { return Succeeds })
	return f
}

// run reports until the context ends.
func (f *Fleet) run(ctx context.Context) {
	for range answerers {
		go f.answerAll(ctx)
	}
	go func() {
		<-ctx.Done()
		f.queue.ShutDown()
	}()
}

// Report sets the outcome of all works that the agents receive after this call.
func (f *Fleet) Report(outcome func(cluster string) Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome = outcome
}

// Begin begins a phase. Earlier observations belong to the previous phase.
func (f *Fleet) Begin() *Phase { return f.BeginOf("") }

// BeginOf begins a phase about the works with one name, or about all works if the name is empty.
func (f *Fleet) BeginOf(name string) *Phase {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.phase = newPhase(name)
	return f.phase
}

// Err returns the error of the first report that failed.
func (f *Fleet) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *Fleet) see(object any) {
	seen, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	f.notice(cache.MetaObjectToName(seen).String(), seen.Generation)
}

// notice records that an agent has a generation of its work.
func (f *Fleet) notice(key string, generation int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.works[key]
	if known == nil {
		known = &work{}
		f.works[key] = known
	}
	if known.generation == generation {
		return
	}
	known.generation = generation
	f.phase.wrote(key, time.Now())
	f.queue.AddAfter(key, f.delay)
}

func (f *Fleet) lose(object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.works, key)
}

func (f *Fleet) answerAll(ctx context.Context) {
	for {
		key, quit := f.queue.Get()
		if quit {
			return
		}
		if err := f.answer(ctx, key); err != nil && ctx.Err() == nil {
			f.fail(fmt.Errorf("answering for %s: %w", key, err))
		}
		f.queue.Done(key)
	}
}

func (f *Fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *Fleet) answer(ctx context.Context, key string) error {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return err
	}
	f.mu.Lock()
	known := f.works[key]
	if known == nil || known.answered == known.generation {
		f.mu.Unlock()
		return nil
	}
	generation, outcome, phase := known.generation, f.outcome(name.Namespace), f.phase
	Answer(&known.status, outcome, generation, time.Now())
	status := known.status.DeepCopy()
	known.answered = generation
	f.mu.Unlock()
	if err := f.report(ctx, name, status); err != nil {
		return err
	}
	phase.answers(key, time.Now())
	return nil
}

// patchStatus reports through the API server.
func patchStatus(client rest.Interface) func(context.Context, cache.ObjectName, *workv1.ManifestWorkStatus) error {
	return func(ctx context.Context, name cache.ObjectName, status *workv1.ManifestWorkStatus) error {
		data, err := statusPatch(status)
		if err != nil {
			return err
		}
		return client.Patch(types.MergePatchType).SetHeader("Accept", onlyMetadata).
			Namespace(name.Namespace).Resource("manifestworks").Name(name.Name).SubResource("status").
			Body(data).Do(ctx).Error()
	}
}

// Touch makes an agent repeat its report with another message: an event that changes nothing.
func (f *Fleet) Touch(ctx context.Context, cluster, name string) error {
	// If a status is exactly the same, the API server writes nothing and sends no event.
	return f.change(ctx, cluster, name, func(known *work) {
		f.touched++
		known.status.Conditions[0].Message = fmt.Sprintf("Apply manifest work complete, report %d", f.touched)
	})
}

// Degrade makes an agent report that its work has been degraded since a time.
func (f *Fleet) Degrade(ctx context.Context, cluster, name string, since time.Time) error {
	return f.change(ctx, cluster, name, func(known *work) { Degrade(&known.status, known.generation, since) })
}

func (f *Fleet) change(ctx context.Context, cluster, name string, change func(*work)) error {
	at := cache.NewObjectName(cluster, name)
	f.mu.Lock()
	known := f.works[at.String()]
	if known == nil || len(known.status.Conditions) == 0 {
		f.mu.Unlock()
		return fmt.Errorf("the agent has not reported on a work %s", at)
	}
	change(known)
	status := known.status.DeepCopy()
	f.mu.Unlock()
	return f.report(ctx, at, status)
}
