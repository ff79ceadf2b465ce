package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// objects writes the ManifestWorkReplicaSets as a user does, and follows their status.
type objects struct {
	client versioned.Interface

	mu   sync.Mutex
	seen map[string][]sighting
}

// sighting is the state of a ManifestWorkReplicaSet at a time.
type sighting struct {
	at     time.Time
	object *workv1alpha1.ManifestWorkReplicaSet
}

func watchObjects(ctx context.Context, config *rest.Config) (*objects, error) {
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := &objects{client: client, seen: map[string][]sighting{}}
	replicaSets := client.WorkV1alpha1().ManifestWorkReplicaSets(metav1.NamespaceAll)
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return replicaSets.List(ctx, options)
		},
		WatchFuncWithContext: replicaSets.Watch,
	}, &workv1alpha1.ManifestWorkReplicaSet{}, 0, cache.Indexers{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: o.see, UpdateFunc: func(_, object any) { o.see(object) },
	}); err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return o, nil
}

func (o *objects) see(object any) {
	seen, ok := object.(*workv1alpha1.ManifestWorkReplicaSet)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[seen.Name] = append(o.seen[seen.Name], sighting{time.Now(), seen})
}

// since returns the time since which an object has been as wanted without interruption, or an error with its actual state.
func (o *objects) since(name string, wanted func(*workv1alpha1.ManifestWorkReplicaSet) error) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen[name]
	if len(seen) == 0 {
		return time.Time{}, fmt.Errorf("%s has not been seen yet", name)
	}
	if err := wanted(seen[len(seen)-1].object); err != nil {
		return time.Time{}, err
	}
	i := len(seen) - 1
	for i > 0 && wanted(seen[i-1].object) == nil {
		i--
	}
	return seen[i].at, nil
}

// aborts returns the number of rollouts of an object that were aborted since a time.
func (o *objects) aborts(name string, since time.Time) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	var last *metav1.Time
	found := 0
	for _, seen := range o.seen[name] {
		now := seen.object.Status.AbortedTime
		if now != nil && !now.Equal(last) && seen.at.After(since) {
			found++
		}
		if now != nil {
			last = now
		}
	}
	return found
}

// create creates a ManifestWorkReplicaSet with a version.
func (o *objects) create(ctx context.Context, name string, version int, strategy workv1alpha1.RolloutStrategy) error {
	object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: fleet.Namespace}}
	object.Spec.ManifestWorkTemplate = fleet.Template(version)
	object.Spec.PlacementRefs = refs(strategy)
	_, err := o.client.WorkV1alpha1().ManifestWorkReplicaSets(fleet.Namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// edit sets the version and the strategy in one write.
func (o *objects) edit(ctx context.Context, name string, version int, strategy workv1alpha1.RolloutStrategy) error {
	return o.change(ctx, fleet.Namespace, name, map[string]any{"manifestWorkTemplate": fleet.Template(version), "placementRefs": refs(strategy)})
}

// change changes fields of a spec in one write.
func (o *objects) change(ctx context.Context, namespace, name string, fields map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": fields})
	if err != nil {
		return err
	}
	_, err = o.client.WorkV1alpha1().ManifestWorkReplicaSets(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func refs(strategy workv1alpha1.RolloutStrategy) []workv1alpha1.LocalPlacementReference {
	return []workv1alpha1.LocalPlacementReference{{Name: fleet.Placement, RolloutStrategy: strategy}}
}
