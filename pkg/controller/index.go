package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// byPlacement finds ManifestWorkReplicaSets and PlacementDecisions by the "namespace/name" of a Placement: a pass reads no decision of another
// Placement (P8).
const byPlacement = "work-rollback-by-placement"

func placementIndexers() cache.Indexers { return cache.Indexers{byPlacement: indexByPlacement} }

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

// ownerQueueKeys leads an event of a revision to its owner.
func ownerQueueKeys(obj runtime.Object) []string { return workcache.OwnerKeys(obj) }

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
