package cloudevents

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Caches are the hub's informers for the owners of works. An agent can make up any number of owners. They are looked up in memory, so a
// lookup costs no request and delays no other report.
type Caches struct {
	// ReplicaSets holds Objects; Decisions are indexed by replicaset.ByPlacement.
	ReplicaSets, Placements, Decisions, Revisions cache.SharedIndexInformer
}

// UseCaches makes these informers answer once they have synced. Before that the API server is asked.
func (o *LiveOwners) UseCaches(caches Caches) { o.caches.Store(&caches) }

func (c *Caches) synced() bool {
	return c.ReplicaSets.HasSynced() && c.Placements.HasSynced() && c.Decisions.HasSynced()
}

// findCached is Find from memory. Only an existing revision is read from the API server, because the cache holds no templates.
func (o *LiveOwners) findCached(ctx context.Context, caches *Caches, claim Claim) (Owner, error) {
	found, exists, err := caches.ReplicaSets.GetStore().GetByKey(claim.Namespace + "/" + claim.Name)
	if err != nil || !exists {
		return Owner{}, err
	}
	object, ok := found.(*replicaset.Object)
	if !ok {
		return Owner{Exists: true}, nil
	}
	owner := Owner{Exists: true, Selection: Unselected}
	if !object.PlacementsKnown {
		owner.Selection = SelectionUnknown
	}
	for i := range object.Spec.PlacementRefs {
		selection, err := caches.selection(claim.Namespace, object.Spec.PlacementRefs[i].Name, claim.Cluster)
		if err != nil {
			return Owner{}, err
		}
		if selection == Selected {
			owner.Selection = Selected
			break
		}
		if selection == SelectionUnknown {
			owner.Selection = SelectionUnknown
		}
	}
	if claim.Hash == "" || owner.Selection != Selected || !caches.hasRevision(claim) {
		return owner, nil
	}
	owner.Template, err = o.template(ctx, claim, object.UID)
	return owner, err
}

// hasRevision reports whether there may be a revision with the hash of a claim.
func (c *Caches) hasRevision(claim Claim) bool {
	if !c.Revisions.HasSynced() {
		return true
	}
	_, exists, err := c.Revisions.GetStore().GetByKey(claim.Namespace + "/" + revision.Name(claim.Name, claim.Hash))
	return err != nil || exists
}

// selection reports whether a Placement selects a cluster.
func (c *Caches) selection(namespace, placement, cluster string) (Selection, error) {
	key := namespace + "/" + placement
	found, exists, err := c.Placements.GetStore().GetByKey(key)
	if err != nil || !exists {
		return SelectionUnknown, err
	}
	objects, err := c.Decisions.GetIndexer().ByIndex(replicaset.ByPlacement, key)
	if err != nil {
		return SelectionUnknown, err
	}
	clusters := map[string]bool{}
	for _, object := range objects {
		decision := object.(*clusterv1beta1.PlacementDecision)
		for i := range decision.Status.Decisions {
			clusters[decision.Status.Decisions[i].ClusterName] = true
		}
	}
	delete(clusters, metav1.NamespaceNone)
	selected := found.(*clusterv1beta1.Placement).Status.NumberOfSelectedClusters
	switch {
	case clusters[cluster]:
		return Selected, nil
	case len(objects) > 0 && int(selected) == len(clusters):
		return Unselected, nil
	}
	return SelectionUnknown, nil
}
