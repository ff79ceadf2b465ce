package cloudevents

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Caches are the hub's informers for the owners and the clusters of works.
type Caches struct {
	// ReplicaSets holds Objects; Decisions are indexed by replicaset.ByPlacement. Clusters are ManagedClusters.
	ReplicaSets, Placements, Decisions, Revisions, Clusters cache.SharedIndexInformer
}

// UseCaches makes these informers answer once they have synced. The works are restored before that: the informers start only after an
// upgrade of the hub has written its objects, which may take a while.
func (o *LiveOwners) UseCaches(caches Caches) { o.caches.Store(&caches) }

// Available reports whether a cluster is available according to its ManagedCluster, independently of its work agent, and whether it exists.
// While the ManagedClusters are unknown, every cluster counts as existing and unavailable.
func (o *LiveOwners) Available(_ context.Context, cluster string) (available, exists bool) {
	caches := o.caches.Load()
	if caches == nil || !caches.Clusters.HasSynced() {
		return false, true
	}
	found, exists, err := caches.Clusters.GetStore().GetByKey(cluster)
	if err != nil || !exists {
		return false, err != nil
	}
	report, exists := availability.Of(found.(*clusterv1.ManagedCluster))
	return report.Available, exists
}

func (c *Caches) synced() bool {
	return c.ReplicaSets.HasSynced() && c.Placements.HasSynced() && c.Decisions.HasSynced()
}

// view is where owners are looked up: the informers' caches, or lists from the API server.
type view struct {
	replicaSets, placements, decisions cache.Indexer
	// revisions is nil if it is unknown which revisions there are.
	revisions cache.Store
	// at is when the lists were requested.
	at time.Time
}

// view returns the informers' caches or, before they have synced, lists that are at most ownerFreshness old.
func (o *LiveOwners) view(ctx context.Context) (*view, error) {
	caches := o.caches.Load()
	o.listing.Lock()
	defer o.listing.Unlock()
	if caches != nil && caches.synced() {
		o.listed = nil
		v := &view{
			replicaSets: caches.ReplicaSets.GetIndexer(),
			placements:  caches.Placements.GetIndexer(),
			decisions:   caches.Decisions.GetIndexer(),
		}
		if caches.Revisions.HasSynced() {
			v.revisions = caches.Revisions.GetStore()
		}
		return v, nil
	}
	if o.listed == nil || o.clock.Since(o.listed.at) >= ownerFreshness {
		listed, err := o.list(ctx)
		if err != nil {
			return nil, err
		}
		o.listed = listed
	}
	return o.listed, nil
}

// list reads what the informers would hold of the owners.
func (o *LiveOwners) list(ctx context.Context) (*view, error) {
	v := &view{
		at: o.clock.Now(), replicaSets: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		placements: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		decisions:  cache.NewIndexer(cache.MetaNamespaceKeyFunc, replicaset.PlacementIndexers()),
	}
	resource := func(name string) schema.GroupVersionResource {
		return clusterv1beta1.Resource(name).WithVersion("v1beta1")
	}
	for _, collection := range []struct {
		resource schema.GroupVersionResource
		into     cache.Indexer
		decode   func(*unstructured.Unstructured) (any, error)
	}{
		{workv1alpha1.ManifestWorkReplicaSetResource, v.replicaSets, decodeOwner},
		{resource("placements"), v.placements, decodeAs[clusterv1beta1.Placement]},
		{resource("placementdecisions"), v.decisions, decodeAs[clusterv1beta1.PlacementDecision]},
	} {
		list, err := o.client.Resource(collection.resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing the %s: %w", collection.resource.Resource, err)
		}
		for i := range list.Items {
			// A Placement or a decision that can't be decoded counts as missing: then the selection is unknown.
			if object, err := collection.decode(&list.Items[i]); err == nil {
				if err := collection.into.Add(object); err != nil {
					return nil, fmt.Errorf("indexing the %s: %w", collection.resource.Resource, err)
				}
			}
		}
	}
	return v, nil
}

// decodeOwner decodes an owner, and drops its template.
func decodeOwner(object *unstructured.Unstructured) (any, error) {
	unstructured.RemoveNestedField(object.Object, "spec", "manifestWorkTemplate")
	return replicaset.Decode(object), nil
}

func decodeAs[T any](object *unstructured.Unstructured) (any, error) {
	decoded := new(T)
	return decoded, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, decoded)
}

// hasRevision reports whether there may be a revision with the hash of a claim.
func (v *view) hasRevision(claim Claim) bool {
	if v.revisions == nil {
		return true
	}
	_, exists, err := v.revisions.GetByKey(claim.Namespace + "/" + revision.Name(claim.Name, claim.Hash))
	return err != nil || exists
}

// selection reports whether an owner selects a cluster, or keeps the work of one that is away.
func (v *view) selection(owner *replicaset.Object, cluster string) (Selection, error) {
	if slices.ContainsFunc(owner.Status.Away, func(away workv1alpha1.AwayCluster) bool { return away.Cluster == cluster }) {
		return Selected, nil
	}
	found := Unselected
	if !owner.PlacementsKnown {
		found = SelectionUnknown
	}
	for i := range owner.Spec.PlacementRefs {
		selection, err := v.selectionOf(owner.Namespace+"/"+owner.Spec.PlacementRefs[i].Name, cluster)
		switch {
		case err != nil || selection == Selected:
			return selection, err
		case selection == SelectionUnknown:
			found = SelectionUnknown
		}
	}
	return found, nil
}

// selectionOf reports whether a Placement selects a cluster.
func (v *view) selectionOf(placement, cluster string) (Selection, error) {
	found, exists, err := v.placements.GetByKey(placement)
	if err != nil || !exists {
		return SelectionUnknown, err
	}
	objects, err := v.decisions.ByIndex(replicaset.ByPlacement, placement)
	if err != nil {
		return SelectionUnknown, err
	}
	for _, object := range objects {
		if slices.ContainsFunc(decisionsOf(object), func(d clusterv1beta1.ClusterDecision) bool { return d.ClusterName == cluster }) {
			return Selected, nil
		}
	}
	decided := sets.New[string]()
	for _, object := range objects {
		for _, decision := range decisionsOf(object) {
			decided.Insert(decision.ClusterName)
		}
	}
	decided.Delete("")
	selected := found.(*clusterv1beta1.Placement).Status.NumberOfSelectedClusters
	if len(objects) > 0 && int(selected) == len(decided) {
		return Unselected, nil
	}
	return SelectionUnknown, nil
}

func decisionsOf(object any) []clusterv1beta1.ClusterDecision {
	return object.(*clusterv1beta1.PlacementDecision).Status.Decisions
}
