package replicaset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// ResyncPeriod is the interval at which the caches resend all objects to the controller. It is the same as upstream's.
const ResyncPeriod = 30 * time.Minute

// NewInformer returns an informer of ManifestWorkReplicaSets that tolerates objects that the types can't hold. Its
// store holds Objects.
func NewInformer(client dynamic.Interface) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, workv1alpha1.ManifestWorkReplicaSetResource, metav1.NamespaceAll,
		ResyncPeriod, PlacementIndexers(), FreshList).Informer()
	return informer, informer.SetTransform(Transform)
}

// Transform returns the Object of an unstructured ManifestWorkReplicaSet, and any other object unchanged.
func Transform(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return Decode(u), nil
	}
	return obj, nil
}

// FreshList requests the newest state, while a reflector would accept any state. Right after a restart, a decision must
// not be based on an API server's cache from before this hub's own last writes.
func FreshList(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
		options.ResourceVersionMatch = ""
		if options.SendInitialEvents != nil && *options.SendInitialEvents {
			options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
}
