package workcache

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// ByOwner finds ManifestWorks and ControllerRevisions by the "namespace/name" of the ManifestWorkReplicaSet that owns them: a pass reads no
// object of another owner (P8).
const ByOwner = "work-rollback-by-owner"

// OwnerIndexers are the indexers of a cache of ManifestWorks or ControllerRevisions.
func OwnerIndexers() cache.Indexers {
	return cache.Indexers{ByOwner: func(obj any) ([]string, error) { return OwnerKeys(obj), nil }}
}

// OwnerKeys reads the owner label. What has none, or one that no owner can have written, has no owner.
func OwnerKeys(obj any) []string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	namespace, name, ok := workv1alpha1.ParseOwnerLabelValue(accessor.GetLabels()[workv1alpha1.LabelReplicaSet])
	if !ok {
		return nil
	}
	return []string{namespace + "/" + name}
}
