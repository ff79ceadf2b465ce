package plugin

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// decodedSets lists and watches ManifestWorkReplicaSets as the hub does: an object that can't be decoded keeps only the
// fields that can be read. In a typed list, one such object would hide all others.
type decodedSets struct{ dynamic.ResourceInterface }

// allSets returns the lister of the ManifestWorkReplicaSets in the namespace of the clients.
func (c *clients) allSets() decodedSets { return setsIn(c.objects, c.namespace) }

func setsIn(objects dynamic.Interface, namespace string) decodedSets {
	return decodedSets{objects.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace)}
}

// List implements lister.
func (s decodedSets) List(ctx context.Context, options metav1.ListOptions) (*workv1alpha1.ManifestWorkReplicaSetList, error) {
	list, err := s.ResourceInterface.List(ctx, options)
	if err != nil {
		return nil, err
	}
	out := &workv1alpha1.ManifestWorkReplicaSetList{
		ListMeta: metav1.ListMeta{
			ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
		},
		Items: make([]workv1alpha1.ManifestWorkReplicaSet, 0, len(list.Items)),
	}
	for i := range list.Items {
		out.Items = append(out.Items, *replicaset.Decode(&list.Items[i]).ManifestWorkReplicaSet)
	}
	return out, nil
}

// Watch implements lister.
func (s decodedSets) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := s.ResourceInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
		if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Error {
			event.Object = replicaset.Decode(object).ManifestWorkReplicaSet
		}
		return event, true
	}), nil
}
