package cloudevents

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Owners finds ManifestWorkReplicaSets.
type Owners interface {
	// Find returns the owner that a work of a cluster names.
	Find(ctx context.Context, claim Claim) (Owner, error)
	// Gone asks the API server now whether there is no such owner.
	Gone(ctx context.Context, namespace, name string) (bool, error)
}

// Claim is the content of the labels of a reported work, which its agent may have invented.
type Claim struct {
	// Namespace and Name identify the owner.
	Namespace, Name string
	// Hash is the hash of the revision; empty if there is none.
	Hash string
	// Cluster is the cluster of the work.
	Cluster string
}

// Owner is the part of a claim that is true.
type Owner struct {
	// Exists is true if there is such an owner.
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
	// Selected means that a Placement does, or that the owner keeps the work because the cluster is away.
	Selected
)

// ownerFreshness is the time for which data from the API server is used: all agents answer at the same time when a hub starts.
const ownerFreshness = 10 * time.Second

// maxRevisions limits the number of remembered revisions: agents can invent any number of them.
const maxRevisions = 10000

// LiveOwners finds owners in the hub's informers. Before these have synced, it lists the objects itself.
type LiveOwners struct {
	client dynamic.Interface
	kube   kubernetes.Interface
	clock  clock.PassiveClock
	// caches are the hub's informers; nil before UseCaches.
	caches atomic.Pointer[Caches]

	// listing is held while the objects are listed. listed is the last list; nil for none.
	listing sync.Mutex
	listed  *view

	// revisions caches recent reads of revisions, including that a revision does not exist.
	revisions *cache.LRUExpireCache
}

// revisionKey identifies a revision, and the owner that has to control it.
type revisionKey struct {
	namespace, name string
	owner           types.UID
}

// NewLiveOwners returns LiveOwners without informers.
func NewLiveOwners(client dynamic.Interface, kube kubernetes.Interface, clk clock.PassiveClock) *LiveOwners {
	return &LiveOwners{client: client, kube: kube, clock: clk, revisions: cache.NewLRUExpireCacheWithClock(maxRevisions, clk)}
}

// Find implements Owners. It returns no template of a revision that the owner does not control, and none for a cluster that the owner does
// not select. An agent can invent any number of owners, so a lookup costs no request, and delays no other report.
func (o *LiveOwners) Find(ctx context.Context, claim Claim) (Owner, error) {
	v, err := o.view(ctx)
	if err != nil {
		return Owner{}, err
	}
	found, exists, err := v.replicaSets.GetByKey(claim.Namespace + "/" + claim.Name)
	if err != nil || !exists {
		return Owner{}, err
	}
	object, owner := found.(*replicaset.Object), Owner{Exists: true}
	if owner.Selection, err = v.selection(object, claim.Cluster); err != nil {
		return Owner{}, err
	}
	if claim.Hash == "" || owner.Selection != Selected || !v.hasRevision(claim) {
		return owner, nil
	}
	owner.Template, err = o.template(ctx, claim, object.UID)
	return owner, err
}

// Gone implements Owners.
func (o *LiveOwners) Gone(ctx context.Context, namespace, name string) (bool, error) {
	_, err := o.client.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return false, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return true, nil
	}
	// If an API server does not know ManifestWorkReplicaSets at all, that does not mean that this one is gone.
	return false, fmt.Errorf("asking for ManifestWorkReplicaSet %s/%s: %w", namespace, name, err)
}

// template returns the content of the owner's revision with a hash; nil if there is none that the owner controls.
func (o *LiveOwners) template(ctx context.Context, claim Claim, owner types.UID) (*workv1.ManifestWorkSpec, error) {
	key := revisionKey{claim.Namespace, revision.Name(claim.Name, claim.Hash), owner}
	if known, ok := o.revisions.Get(key); ok {
		return known.(*workv1.ManifestWorkSpec), nil
	}
	object, err := o.kube.AppsV1().ControllerRevisions(key.namespace).Get(ctx, key.name, metav1.GetOptions{})
	var template *workv1.ManifestWorkSpec
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("asking for ControllerRevision %s/%s: %w", key.namespace, key.name, err)
	case metav1.IsControlledBy(object, &metav1.ObjectMeta{UID: owner}):
		if decoded := revision.Decode(object); decoded.Err == nil && decoded.Hash == claim.Hash {
			template = decoded.Template
		}
	}
	o.revisions.Add(key, template, ownerFreshness)
	return template, nil
}

// Expected returns the number of works that each owner's status counts, by the value of the owner label. If the status was lost, the number
// is unknown, and 0 is expected: the object still has its finalizer.
func (o *LiveOwners) Expected(ctx context.Context) (map[string]int, error) {
	list, err := o.client.Resource(workv1alpha1.ManifestWorkReplicaSetResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the ManifestWorkReplicaSets: %w", err)
	}
	expected := map[string]int{}
	for i := range list.Items {
		object := &list.Items[i]
		total, counted, _ := unstructured.NestedInt64(object.Object, "status", "summary", "total")
		update, _, _ := unstructured.NestedString(object.Object, "status", "updateRevision")
		if counted || update != "" || slices.Contains(object.GetFinalizers(), workv1alpha1.Finalizer) {
			expected[workv1alpha1.OwnerLabelValue(object.GetNamespace(), object.GetName())] = int(total)
		}
	}
	return expected, nil
}
