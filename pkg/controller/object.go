package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// replicaSet is a ManifestWorkReplicaSet as far as it can be decoded. Upstream's CRD lets values through that the
// types can't hold; with a typed informer one such object would hide all others of the hub.
type replicaSet struct {
	*workv1alpha1.ManifestWorkReplicaSet
	// decodeErr says what can't be decoded. Then the spec is empty, and metadata and status are what could be read.
	decodeErr error
}

func decodeReplicaSet(u *unstructured.Unstructured) *replicaSet {
	out := &replicaSet{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if out.decodeErr = convert(u.Object, out.ManifestWorkReplicaSet); out.decodeErr == nil {
		return out
	}
	readable := map[string]any{}
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		if value, ok := u.Object[key]; ok {
			readable[key] = value
		}
	}
	out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
	if convert(readable, out.ManifestWorkReplicaSet) != nil {
		delete(readable, "status")
		out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
		if err := convert(readable, out.ManifestWorkReplicaSet); err != nil {
			out.Name, out.Namespace = u.GetName(), u.GetNamespace()
			out.UID, out.ResourceVersion, out.Generation = u.GetUID(), u.GetResourceVersion(), u.GetGeneration()
		}
	}
	return out
}

// NewReplicaSetInformer makes the informer of ManifestWorkReplicaSets that survives objects which the types can't hold.
func NewReplicaSetInformer(client dynamic.Interface) (cache.SharedIndexInformer, error) {
	resource := client.Resource(workv1alpha1.ManifestWorkReplicaSetResource)
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			FreshList(&options)
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			FreshList(&options)
			return resource.Watch(ctx, options)
		},
	}, client)
	informer := cache.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, resyncPeriod, cache.Indexers{byPlacement: indexByPlacement})
	err := informer.SetTransform(TransformReplicaSet)
	return informer, err
}

// TransformReplicaSet makes of an unstructured ManifestWorkReplicaSet what a Controller's store holds.
func TransformReplicaSet(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return decodeReplicaSet(u), nil
	}
	return obj, nil
}

// FreshList asks for the newest state where a reflector would take any: right after a restart a decision must not
// rest on what an API server remembered from before this hub's own last writes (R15).
func FreshList(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
		options.ResourceVersionMatch = ""
		if options.SendInitialEvents != nil && *options.SendInitialEvents {
			options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
}

// replicaSetClient patches ManifestWorkReplicaSets, also those that the types can't hold, and notes its writes.
type replicaSetClient struct {
	dynamic.ResourceInterface
	wrote func(*unstructured.Unstructured)
}

// Patch is what sdk-go's patcher calls.
func (c *replicaSetClient) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	answer, err := c.ResourceInterface.Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patching ManifestWorkReplicaSet %s: %w", name, err)
	}
	c.wrote(answer)
	return decodeReplicaSet(answer).ManifestWorkReplicaSet, nil
}
