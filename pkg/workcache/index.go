package workcache

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// ByOwner finds ManifestWorks and ControllerRevisions by the "namespace/name" of the ManifestWorkReplicaSet that owns
// them, so a pass does not read objects of other owners (P8).
const ByOwner = "work-rollback-by-owner"

// OwnerIndexers are the indexers of a cache of ControllerRevisions.
func OwnerIndexers() cache.Indexers {
	return cache.Indexers{ByOwner: func(obj any) ([]string, error) { return OwnerKeys(obj), nil }}
}

// Unowned finds ManifestWorks that have the hash of a revision and no owner label, under the key "".
const Unowned = "work-rollback-unowned"

// WorkIndexers are the indexers of a cache of ManifestWorks.
func WorkIndexers() cache.Indexers {
	indexers := OwnerIndexers()
	indexers[Unowned] = func(obj any) ([]string, error) {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return nil, nil //nolint:nilerr // Nothing else is in the cache.
		}
		if _, hashed := accessor.GetLabels()[workv1alpha1.LabelControllerHash]; work.HasOwner(accessor) || !hashed {
			return nil, nil
		}
		return []string{""}, nil
	}
	return indexers
}

// OwnerKeys returns the keys in the owner labels. An object without valid owner labels has no owner.
func OwnerKeys(obj any) []string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	namespace, name, ok := workv1alpha1.OwnerOf(accessor)
	if !ok {
		return nil
	}
	return []string{namespace + "/" + name}
}
