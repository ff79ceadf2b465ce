package cloudevents

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Owners knows ManifestWorkReplicaSets.
type Owners interface {
	// Find says whether there is such an owner, and what the revision with this hash holds; nil when there is none.
	Find(ctx context.Context, namespace, name, hash string) (found bool, template *workv1.ManifestWorkSpec, err error)
}

// ownerFreshness is how long an owner that was seen counts as there: all agents answer at once when a hub starts.
const ownerFreshness = 10 * time.Second

// LiveOwners asks the API server.
type LiveOwners struct {
	replicaSets dynamic.NamespaceableResourceInterface
	kube        kubernetes.Interface
	clock       clock.PassiveClock

	mu   sync.Mutex
	seen map[string]time.Time
	// templates by "namespace/name" of the revision, whose data never changes.
	templates map[string]*workv1.ManifestWorkSpec
}

// NewLiveOwners makes one.
func NewLiveOwners(client dynamic.Interface, kube kubernetes.Interface, clk clock.PassiveClock) *LiveOwners {
	return &LiveOwners{
		replicaSets: client.Resource(workv1alpha1.ManifestWorkReplicaSetResource), kube: kube, clock: clk,
		seen: map[string]time.Time{}, templates: map[string]*workv1.ManifestWorkSpec{},
	}
}

// Find implements Owners.
func (o *LiveOwners) Find(ctx context.Context, namespace, name, hash string) (found bool, template *workv1.ManifestWorkSpec, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found, err = o.exists(ctx, namespace, name); !found || err != nil || hash == "" {
		return found, nil, err
	}
	template, err = o.template(ctx, namespace, revision.Name(name, hash), hash)
	return true, template, err
}

func (o *LiveOwners) exists(ctx context.Context, namespace, name string) (bool, error) {
	key := namespace + "/" + name
	if seen, ok := o.seen[key]; ok && o.clock.Since(seen) < ownerFreshness {
		return true, nil
	}
	delete(o.seen, key)
	_, err := o.replicaSets.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		o.seen[key] = o.clock.Now()
		return true, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return false, nil
	}
	// Also where the API server does not know ManifestWorkReplicaSets at all: that says nothing of this one.
	return false, fmt.Errorf("asking for ManifestWorkReplicaSet %s: %w", key, err)
}

func (o *LiveOwners) template(ctx context.Context, namespace, name, hash string) (*workv1.ManifestWorkSpec, error) {
	key := namespace + "/" + name
	if template := o.templates[key]; template != nil {
		return template, nil
	}
	object, err := o.kube.AppsV1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking for ControllerRevision %s: %w", key, err)
	}
	if decoded := revision.Decode(object); decoded.Err == nil && decoded.Hash == hash {
		o.templates[key] = decoded.Template
	}
	return o.templates[key], nil
}

// Expected tells of each owner that was rolled out, by the value of its works' owner label, how many works it is said to have.
func (o *LiveOwners) Expected(ctx context.Context) (map[string]int, error) {
	list, err := o.replicaSets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the ManifestWorkReplicaSets: %w", err)
	}
	expected := map[string]int{}
	for i := range list.Items {
		object := &list.Items[i]
		total, counted, _ := unstructured.NestedInt64(object.Object, "status", "summary", "total")
		update, _, _ := unstructured.NestedString(object.Object, "status", "updateRevision")
		if counted || update != "" {
			expected[workv1alpha1.OwnerLabelValue(object.GetNamespace(), object.GetName())] = int(total)
		}
	}
	return expected, nil
}
