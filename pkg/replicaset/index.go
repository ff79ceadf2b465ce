package replicaset

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// ByPlacement finds ManifestWorkReplicaSets and PlacementDecisions by the "namespace/name" of a Placement, so a pass
// does not read decisions of other Placements (P8).
const ByPlacement = "work-rollback-by-placement"

// ByCluster finds PlacementDecisions by a cluster that they name.
const ByCluster = "work-rollback-by-cluster"

// PlacementIndexers returns the index by Placement.
func PlacementIndexers() cache.Indexers { return cache.Indexers{ByPlacement: indexByPlacement} }

// DecisionIndexers returns the indexes of PlacementDecisions.
func DecisionIndexers() cache.Indexers {
	return cache.Indexers{ByPlacement: indexByPlacement, ByCluster: indexByCluster}
}

func indexByCluster(obj any) ([]string, error) {
	decision, ok := obj.(*clusterv1beta1.PlacementDecision)
	if !ok {
		return nil, fmt.Errorf("there is no index by cluster of %T", obj)
	}
	clusters := make([]string, 0, len(decision.Status.Decisions))
	for i := range decision.Status.Decisions {
		clusters = append(clusters, decision.Status.Decisions[i].ClusterName)
	}
	return clusters, nil
}

func indexByPlacement(obj any) ([]string, error) {
	switch o := obj.(type) {
	case *Object:
		keys := make([]string, 0, len(o.Spec.PlacementRefs))
		for i := range o.Spec.PlacementRefs {
			keys = append(keys, o.Namespace+"/"+o.Spec.PlacementRefs[i].Name)
		}
		return keys, nil
	case *clusterv1beta1.PlacementDecision:
		return DecisionKeys(o), nil
	default:
		return nil, fmt.Errorf("there is no index by placement of %T", obj)
	}
}

// DecisionKeys returns the "namespace/name" of the Placement that a decision belongs to; none if its label is missing.
func DecisionKeys(decision *clusterv1beta1.PlacementDecision) []string {
	placement, ok := decision.Labels[clusterv1beta1.PlacementLabel]
	if !ok {
		return nil
	}
	return []string{decision.Namespace + "/" + placement}
}
