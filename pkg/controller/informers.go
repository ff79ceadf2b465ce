package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Runner runs a Controller.
type Runner struct {
	name       string
	controller *Controller
	queue      *queue.Queue
	synced     []cache.InformerSynced
	// notes are the last notes about the permission to read ManagedClusters, and about another hub.
	notes [2]string
}

// Run waits for the caches, and then makes passes with a number of workers for rollouts and the same number for aborts. It returns when
// the context has ended.
func (r *Runner) Run(ctx context.Context, workers int) {
	logger := klog.FromContext(ctx).WithName(r.name)
	ctx = klog.NewContext(ctx, logger)
	if !cache.WaitForCacheSync(ctx.Done(), r.synced...) {
		return // The context has ended.
	}
	logger.Info("Starting", "workers", workers)
	go wait.UntilWithContext(ctx, r.followNotes, historyInterval)
	r.queue.Run(ctx, workers)
	logger.Info("Stopped")
}

// New returns a Runner for a controller that is registered with its informers. The caller starts the informers.
func New(config Config) (*Runner, error) {
	c, err := newWithInformers(config)
	if err != nil {
		return nil, err
	}
	const name = "ManifestWorkReplicaSetController"
	r := &Runner{name: name, controller: c, queue: queue.New(name, c.laneOf, c.Sync)}
	c.abortsWait = func() bool { return r.queue.Waiting(queue.Aborts) }
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{config.WorkInformer.Informer(), workcache.OwnerEvents(r.queue.Add, c.memory.Releases.Begun)},
		{config.ReplicaSetInformer, r.leading(objectQueueKeys)},
		{optionalInformer{config.RevisionInformer.Informer(), c.history}, r.leading(ownerQueueKeys)},
		{config.PlacementInformer.Informer(), r.leading(c.placementQueueKeys)},
		{config.DecisionInformer.Informer(), r.leading(c.placementQueueKeys)},
	} {
		if _, err := watched.informer.AddEventHandler(watched.handler); err != nil {
			return nil, fmt.Errorf("watching an informer: %w", err)
		}
		r.synced = append(r.synced, watched.informer.HasSynced)
	}
	return r, r.watchClusters(c, config.ClusterInformer)
}

// watchClusters queues the objects with works on a cluster whose availability changes. Without the permission to read ManagedClusters, the
// controller does not wait for them.
func (r *Runner) watchClusters(c *Controller, informer cache.SharedIndexInformer) error {
	if informer == nil {
		return nil
	}
	lead := func(keys []string) {
		for _, key := range keys {
			r.queue.Add(key)
		}
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { lead(c.NoteCluster(obj)) },
		UpdateFunc: func(_, after any) { lead(c.NoteCluster(after)) },
		DeleteFunc: func(obj any) { lead(c.ForgetCluster(obj)) },
	})
	if err != nil {
		return fmt.Errorf("watching an informer: %w", err)
	}
	c.clustersSeen = handler.HasSynced
	r.synced = append(r.synced, func() bool { return handler.HasSynced() || !informer.HasSynced() && c.clustersNote() != "" })
	return nil
}

// followNotes queues every object if the hub gets or loses the permission to read ManagedClusters, or another hub comes or goes: their
// conditions report that, and no event follows.
func (r *Runner) followNotes(context.Context) {
	notes := [2]string{r.controller.clustersNote(), r.controller.hubNote()}
	if notes == r.notes {
		return
	}
	r.notes = notes
	for _, key := range r.controller.replicaSets.ListKeys() {
		r.queue.Add(key)
	}
}

// laneOf returns the lane of the next pass over an object. An abort begins and ends with a status that reports it. While paused, or without
// a revision to go back to, it restores nothing.
func (c *Controller) laneOf(key string) queue.Lane {
	switch c.aborting.Of(key) {
	case memory.AbortUnderWay:
		return queue.Aborts
	case memory.AbortStuck:
		return queue.Rollouts
	}
	cached, exists, err := c.replicaSets.GetByKey(key)
	if err != nil || !exists {
		return queue.Rollouts
	}
	object := cached.(*replicaset.Object)
	underWay := object.Status.AbortedTime != nil && object.DeletionTimestamp.IsZero() && !object.Spec.Paused
	if underWay && object.Status.State != workv1alpha1.StateAborted {
		return queue.Aborts
	}
	return queue.Rollouts
}

// leading returns a handler that queues the objects that an informer's events are about.
func (r *Runner) leading(keysOf func(runtime.Object) []string) cache.ResourceEventHandler {
	lead := func(obj any) {
		if object, ok := workcache.UnwrapTombstone(obj).(runtime.Object); ok {
			for _, key := range keysOf(object) {
				r.queue.Add(key)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: lead, UpdateFunc: func(_, after any) { lead(after) }, DeleteFunc: lead}
}

// newWithInformers returns a controller that reads the informers' caches, and forgets objects when the informers report their deletion.
func newWithInformers(config Config) (*Controller, error) {
	if err := index(config); err != nil {
		return nil, err
	}
	c := NewWithStores(config, Stores{
		ReplicaSets: config.ReplicaSetInformer.GetIndexer(),
		Works:       config.WorkInformer.Informer().GetIndexer(),
		Revisions:   config.RevisionInformer.Informer().GetIndexer(),
		Placements:  config.PlacementInformer.Informer().GetIndexer(),
		Decisions:   config.DecisionInformer.Informer().GetIndexer(),
	})
	for _, informer := range []cache.SharedIndexInformer{
		config.WorkInformer.Informer(), config.RevisionInformer.Informer(), config.ReplicaSetInformer,
	} {
		if _, err := informer.AddEventHandler(c.forgetting()); err != nil {
			return nil, fmt.Errorf("watching an informer for deletions: %w", err)
		}
	}
	return c, nil
}

func index(config Config) error {
	for _, add := range []struct {
		informer cache.SharedIndexInformer
		indexers cache.Indexers
	}{
		{config.WorkInformer.Informer(), workcache.WorkIndexers()},
		{config.RevisionInformer.Informer(), workcache.OwnerIndexers()},
		{config.DecisionInformer.Informer(), replicaset.DecisionIndexers()},
	} {
		if err := add.informer.AddIndexers(add.indexers); err != nil {
			return fmt.Errorf("adding an index to an informer: %w", err)
		}
	}
	return nil
}

// ownerQueueKeys returns the key of a revision's owner.
func ownerQueueKeys(obj runtime.Object) []string { return workcache.OwnerKeys(obj) }

// objectQueueKeys returns the key of a ManifestWorkReplicaSet.
func objectQueueKeys(obj runtime.Object) []string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil
	}
	return []string{key}
}

// placementQueueKeys returns the keys of the ManifestWorkReplicaSets that refer to a Placement, or to the Placement of a decision.
func (c *Controller) placementQueueKeys(obj runtime.Object) []string {
	var placements []string
	switch o := obj.(type) {
	case *clusterv1beta1.PlacementDecision:
		placements = replicaset.DecisionKeys(o)
	default:
		placements = objectQueueKeys(obj)
	}
	var keys []string
	for _, placement := range placements {
		owners, err := c.replicaSets.IndexKeys(replicaset.ByPlacement, placement)
		if err == nil {
			keys = append(keys, owners...)
		}
	}
	return keys
}

// Forget drops the state of an object that was deleted from a cache. Each informer calls it from its own goroutine, while passes are in
// progress. State of a bounded size (specs, digests) needs no call, and Sync drops the metrics if it finds no object.
func (c *Controller) Forget(obj any) {
	object, err := meta.Accessor(workcache.UnwrapTombstone(obj))
	if err != nil {
		return
	}
	switch object.(type) {
	case *replicaset.Object:
		owner := cache.MetaObjectToName(object).String()
		c.contents.Forget(object.GetUID())
		c.memory.ForgetOwner(owner)
		c.pace.Forget(owner)
		c.aborting.Note(owner, memory.NoAbort)
		c.expectations.Gone(owner, c.replicaSets, object)
	case *appsv1.ControllerRevision:
		c.contents.Forget(object.GetUID())
		c.gone(c.revisionIndex, object)
	case *workv1.ManifestWork:
		c.memory.ForgetWork(object.GetUID())
		c.gone(c.workIndex, object)
	}
}

// forgetting returns the handler of an informer for deleted objects. If an object was replaced by one of the same name while the informer
// did not watch, client-go reports an update.
func (c *Controller) forgetting() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if uidOf(before) != uidOf(after) {
				c.Forget(before)
			}
		},
		DeleteFunc: c.Forget,
	}
}

func uidOf(obj any) types.UID {
	object, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

func (c *Controller) gone(store cache.Store, object metav1.Object) {
	for _, owner := range workcache.OwnerKeys(object) {
		c.expectations.Gone(owner, store, object)
	}
}

// optionalInformer is an informer that counts as synced even if its objects may not be read.
type optionalInformer struct {
	cache.SharedIndexInformer
	history func() History
}

// HasSynced reports whether a controller need not wait for the informer.
func (i optionalInformer) HasSynced() bool {
	return i.SharedIndexInformer.HasSynced() || i.history().Unavailable
}

// NewRevisionTransform returns the transform of an informer of ControllerRevisions. It removes data that no pass reads: the managed
// fields, and the copy of the whole object that kubectl apply leaves in an annotation. Both are as large as the template.
func NewRevisionTransform() cache.TransformFunc {
	return func(obj any) (any, error) {
		if rev, ok := obj.(*appsv1.ControllerRevision); ok {
			rev.ManagedFields = nil
			delete(rev.Annotations, corev1.LastAppliedConfigAnnotation)
		}
		return obj, nil
	}
}
