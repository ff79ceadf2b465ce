package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

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

// Run waits for the caches, and then makes passes with a number of workers for rollouts and the same number for aborts. It returns once
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
	works, revisions := config.WorkInformer.Informer(), config.RevisionInformer.Informer()
	placements, decisions := config.PlacementInformer.Informer(), config.DecisionInformer.Informer()
	c := NewWithStores(config, Stores{
		ReplicaSets: config.ReplicaSetInformer.GetIndexer(), Works: works.GetIndexer(), Revisions: revisions.GetIndexer(),
		Placements: placements.GetIndexer(), Decisions: decisions.GetIndexer(),
	})
	const name = "ManifestWorkReplicaSetController"
	r := &Runner{name: name, controller: c, queue: queue.New(name, c.laneOf, c.passOrDefer)}
	c.abortsWait = func() bool { return r.queue.Waiting(queue.Aborts) }
	never, unreadable := func() bool { return false }, func() bool { return c.HistoryNote() != "" }
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		indexers cache.Indexers
		handler  cache.ResourceEventHandler
		missing  func() bool
	}{
		{works, workcache.WorkIndexers(), workcache.OwnerEvents(r.queue.Add, c.readsLive), never},
		{config.ReplicaSetInformer, nil, r.leading(objectQueueKeys), never},
		{revisions, workcache.OwnerIndexers(), r.leading(workcache.OwnerKeys), unreadable},
		{placements, nil, r.leading(c.placementQueueKeys), never},
		{decisions, replicaset.DecisionIndexers(), r.leading(c.placementQueueKeys), never},
	} {
		if err := watched.informer.AddIndexers(watched.indexers); err != nil {
			return nil, fmt.Errorf("adding an index to an informer: %w", err)
		}
		if _, err := watched.informer.AddEventHandler(watched.handler); err != nil {
			return nil, fmt.Errorf("watching an informer: %w", err)
		}
		r.synced = append(r.synced, func() bool { return watched.informer.HasSynced() || watched.missing() })
	}
	return r, r.watchClusters(c, config.ClusterInformer)
}

// readsLive reports whether passes over an object read its works from the API server, because its workloads are being
// released.
func (c *Controller) readsLive(key string) bool {
	known := c.owners.Find(key)
	return known != nil && known.Releases.Begun()
}

// watchClusters queues the objects with works on a cluster whose availability changes. Without the permission to read ManagedClusters, the
// controller does not wait for them.
func (r *Runner) watchClusters(c *Controller, informer cache.SharedIndexInformer) error {
	if informer == nil {
		return nil
	}
	handle := r.leading(c.NoteCluster)
	handle.DeleteFunc = r.leading(c.ForgetCluster).DeleteFunc
	handler, err := informer.AddEventHandler(handle)
	if err != nil {
		return fmt.Errorf("watching an informer: %w", err)
	}
	c.clustersSeen = handler.HasSynced
	r.synced = append(r.synced, func() bool { return handler.HasSynced() || !informer.HasSynced() && c.ClustersNote() != "" })
	return nil
}

// followNotes queues every object if the hub gains or loses the permission to read ManagedClusters, or if another hub
// appears or disappears. The conditions of all objects report this, but no watch event triggers a pass.
func (r *Runner) followNotes(context.Context) {
	notes := [2]string{r.controller.ClustersNote(), r.controller.HubNote()}
	if notes == r.notes {
		return
	}
	r.notes = notes
	for _, key := range r.controller.stores.ReplicaSets.ListKeys() {
		r.queue.Add(key)
	}
}

// laneOf returns the lane of the next pass over an object. An abort begins and ends with a status that reports it. An
// abort restores nothing while the object is paused, or if there is no revision to roll back to.
func (c *Controller) laneOf(key string) queue.Lane {
	switch c.owners.Find(key).Abort() {
	case memory.AbortUnderWay:
		return queue.Aborts
	case memory.AbortStuck:
		return queue.Rollouts
	}
	cached, exists, err := c.stores.ReplicaSets.GetByKey(key)
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

// leading returns a handler that queues the objects affected by a changed or deleted object.
func (r *Runner) leading(keysOf func(any) []string) cache.ResourceEventHandlerFuncs {
	lead := func(obj any) {
		for _, key := range keysOf(workcache.UnwrapTombstone(obj)) {
			r.queue.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: lead, UpdateFunc: func(_, after any) { lead(after) }, DeleteFunc: lead}
}

// objectQueueKeys returns the key of a ManifestWorkReplicaSet.
func objectQueueKeys(obj any) []string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil
	}
	return []string{key}
}

// placementQueueKeys returns the keys of the ManifestWorkReplicaSets that refer to a Placement, or to the Placement of a decision.
func (c *Controller) placementQueueKeys(obj any) []string {
	var placements []string
	switch o := obj.(type) {
	case *clusterv1beta1.PlacementDecision:
		placements = replicaset.DecisionKeys(o)
	default:
		placements = objectQueueKeys(obj)
	}
	var keys []string
	for _, placement := range placements {
		owners, err := c.stores.ReplicaSets.IndexKeys(replicaset.ByPlacement, placement)
		if err == nil {
			keys = append(keys, owners...)
		}
	}
	return keys
}

// NewRevisionTransform returns the transform of an informer of ControllerRevisions. The transform removes data that no
// pass reads: the managed fields, and the copy of the whole object that kubectl apply leaves in an annotation. Both are
// as large as the template.
func NewRevisionTransform() cache.TransformFunc {
	return func(obj any) (any, error) {
		if rev, ok := obj.(*appsv1.ControllerRevision); ok {
			rev.ManagedFields = nil
			delete(rev.Annotations, corev1.LastAppliedConfigAnnotation)
		}
		return obj, nil
	}
}
