package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The indices. All lead to "namespace/name" keys, so that a pass reads no object that is not its own (P8).
const (
	// byOwner finds ManifestWorks and ControllerRevisions by the ManifestWorkReplicaSet that owns them.
	byOwner = "work-rollback-by-owner"
	// byPlacement finds ManifestWorkReplicaSets and PlacementDecisions by Placement.
	byPlacement = "work-rollback-by-placement"
)

func indexByOwner(obj any) ([]string, error) {
	return ownerKeys(obj), nil
}

// ownerKeys reads the owner label. What has none, or one that no owner can have written, has no owner.
func ownerKeys(obj any) []string {
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

func indexByPlacement(obj any) ([]string, error) {
	switch o := obj.(type) {
	case *replicaSet:
		keys := make([]string, 0, len(o.Spec.PlacementRefs))
		for i := range o.Spec.PlacementRefs {
			keys = append(keys, o.Namespace+"/"+o.Spec.PlacementRefs[i].Name)
		}
		return keys, nil
	case *clusterv1beta1.PlacementDecision:
		return decisionKeys(o), nil
	default:
		return nil, fmt.Errorf("there is no index by placement of %T", obj)
	}
}

func decisionKeys(decision *clusterv1beta1.PlacementDecision) []string {
	placement, ok := decision.Labels[clusterv1beta1.PlacementLabel]
	if !ok {
		return nil
	}
	return []string{decision.Namespace + "/" + placement}
}

// ownerQueueKeys leads an event of a work or a revision to its owner.
func ownerQueueKeys(obj runtime.Object) []string {
	return ownerKeys(obj)
}

// objectQueueKeys leads an event of a ManifestWorkReplicaSet to itself.
func objectQueueKeys(obj runtime.Object) []string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil
	}
	return []string{key}
}

// placementQueueKeys leads an event of a Placement or of one of its decisions to whoever refers to it.
func (c *Controller) placementQueueKeys(obj runtime.Object) []string {
	var placements []string
	switch o := obj.(type) {
	case *clusterv1beta1.PlacementDecision:
		placements = decisionKeys(o)
	default:
		placements = objectQueueKeys(obj)
	}
	var keys []string
	for _, placement := range placements {
		owners, err := c.replicaSets.IndexKeys(byPlacement, placement)
		if err == nil {
			keys = append(keys, owners...)
		}
	}
	return keys
}
