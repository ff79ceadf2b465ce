package cloudevents

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Owners finds ManifestWorkReplicaSets.
type Owners interface {
	// Find returns the owner that a work of a cluster names.
	Find(ctx context.Context, claim Claim) (Owner, error)
	// Gone reports whether the owner does not exist, by a live request to the API server.
	Gone(ctx context.Context, namespace, name string) (bool, error)
}

// Claim is the content of the labels of a reported work. Its agent may have invented them.
type Claim struct {
	// Namespace and Name identify the owner.
	Namespace, Name string
	// Hash is the hash of the revision; empty if the work has none.
	Hash string
	// Cluster is the cluster of the work.
	Cluster string
}

// Owner is the verified part of a claim.
type Owner struct {
	// Exists is true if the owner exists.
	Exists bool
	// Selection is Selected, Unselected or SelectionUnknown.
	Selection Selection
	// Template is the content of the owner's revision with the hash; nil if there is none.
	Template *workv1.ManifestWorkSpec
}

// Selection is the relation of an owner to a cluster.
type Selection int

const (
	// SelectionUnknown means that a Placement is missing, or has not made all of its decisions.
	SelectionUnknown Selection = iota
	// Unselected means that no Placement of the owner selects the cluster.
	Unselected
	// Selected means that a Placement of the owner selects the cluster, or that the owner keeps the work because the
	// cluster is away.
	Selected
)

// Caches are the hub's informers, used to look up the owners and the clusters of works. They must be synced before the
// driver starts.
type Caches struct {
	// ReplicaSets holds replicaset.Objects. Decisions have the indexes of replicaset.DecisionIndexers.
	ReplicaSets, Placements, Revisions, Decisions cache.Indexer
	// Clusters are ManagedClusters. A hub may lack the permission to read them.
	Clusters cache.SharedInformer
	// Client asks the API server whether an owner is gone.
	Client dynamic.Interface

	decoded *lru.Cache
}

// maxRevisions is the maximum number of decoded revisions that are remembered. It covers the revisions that agents have
// at the same time.
const maxRevisions = 64

// revisionKey identifies a version of a ControllerRevision.
type revisionKey struct {
	uid     types.UID
	version string
}

// NewCaches returns Caches that hold nothing yet.
func NewCaches() *Caches { return &Caches{decoded: lru.New(maxRevisions)} }

// Find implements Owners. It does not return the template of a revision that the owner does not control, or a template
// for a cluster that the owner does not select. An agent can invent any number of owners, so a lookup costs no request,
// and does not delay other reports.
func (c *Caches) Find(_ context.Context, claim Claim) (Owner, error) {
	found, exists, err := c.ReplicaSets.GetByKey(claim.Namespace + "/" + claim.Name)
	if err != nil || !exists {
		return Owner{}, err
	}
	object, owner := found.(*replicaset.Object), Owner{Exists: true}
	if owner.Selection, err = c.selection(object, claim.Cluster); err != nil {
		return Owner{}, err
	}
	if claim.Hash != "" && owner.Selection == Selected {
		owner.Template, err = c.template(object, claim.Hash)
	}
	return owner, err
}

// goneTimeout limits the request that checks whether an owner is gone. The caller holds the lock of a work, and writes may wait
// for that lock.
const goneTimeout = 5 * time.Second

// Gone implements Owners.
func (c *Caches) Gone(ctx context.Context, namespace, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	_, err := c.Client.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return false, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return true, nil
	}
	// If the API server does not serve ManifestWorkReplicaSets at all, this object may still exist.
	return false, fmt.Errorf("asking for ManifestWorkReplicaSet %s/%s: %w", namespace, name, err)
}

// template returns the content of the owner's revision with a hash; nil if the owner does not control such a revision.
func (c *Caches) template(owner *replicaset.Object, hash string) (*workv1.ManifestWorkSpec, error) {
	found, exists, err := c.Revisions.GetByKey(owner.Namespace + "/" + revision.Name(owner.Name, hash))
	if err != nil || !exists {
		return nil, err
	}
	object := found.(*appsv1.ControllerRevision)
	if !metav1.IsControlledBy(object, owner) {
		return nil, nil
	}
	key := revisionKey{object.UID, object.ResourceVersion}
	known, ok := c.decoded.Get(key)
	if !ok {
		known = revision.Decode(object)
		c.decoded.Add(key, known)
	}
	if decoded := known.(revision.Revision); decoded.Err == nil && decoded.Hash == hash {
		return decoded.Template, nil
	}
	return nil, nil
}

// Expected returns the number of works that each owner's status counts, by the value of the owner label. If the status was lost, the number
// is unknown, and 0 is expected: the object still has its finalizer.
func (c *Caches) Expected() map[string]int {
	expected := map[string]int{}
	for _, found := range c.ReplicaSets.List() {
		object := found.(*replicaset.Object)
		total := object.Status.Summary.Total
		if total > 0 || object.Status.UpdateRevision != "" || slices.Contains(object.Finalizers, workv1alpha1.Finalizer) {
			expected[workv1alpha1.OwnerLabelValue(object.Namespace, object.Name)] = total
		}
	}
	return expected
}

// Available reports whether a cluster is available according to its ManagedCluster, independently of its work agent, and whether it exists.
// While the ManagedClusters are unknown, every cluster counts as existing and unavailable.
func (c *Caches) Available(_ context.Context, cluster string) (available, exists bool) {
	if !c.Clusters.HasSynced() {
		return false, true
	}
	found, exists, err := c.Clusters.GetStore().GetByKey(cluster)
	if err != nil || !exists {
		return false, err != nil
	}
	report, exists := availability.ReportOf(found.(*clusterv1.ManagedCluster))
	return report.Available, exists
}

// selection returns whether an owner selects a cluster, or keeps the work of an away cluster.
func (c *Caches) selection(owner *replicaset.Object, cluster string) (Selection, error) {
	if slices.ContainsFunc(owner.Status.Away, func(away workv1alpha1.AwayCluster) bool { return away.Cluster == cluster }) {
		return Selected, nil
	}
	found := Unselected
	if !owner.PlacementsKnown {
		found = SelectionUnknown
	}
	for i := range owner.Spec.PlacementRefs {
		selection, err := c.selectionOf(owner.Namespace+"/"+owner.Spec.PlacementRefs[i].Name, cluster)
		switch {
		case err != nil || selection == Selected:
			return selection, err
		case selection == SelectionUnknown:
			found = SelectionUnknown
		}
	}
	return found, nil
}

// selectionOf returns whether a Placement selects a cluster.
func (c *Caches) selectionOf(placement, cluster string) (Selection, error) {
	found, exists, err := c.Placements.GetByKey(placement)
	if err != nil || !exists {
		return SelectionUnknown, err
	}
	named, err := c.Decisions.ByIndex(replicaset.ByCluster, cluster)
	if err != nil {
		return SelectionUnknown, err
	}
	for _, object := range named {
		if slices.Contains(replicaset.DecisionKeys(object.(*clusterv1beta1.PlacementDecision)), placement) {
			return Selected, nil
		}
	}
	objects, err := c.Decisions.ByIndex(replicaset.ByPlacement, placement)
	if err != nil {
		return SelectionUnknown, err
	}
	decided := sets.New[string]()
	for _, object := range objects {
		for _, decision := range object.(*clusterv1beta1.PlacementDecision).Status.Decisions {
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
