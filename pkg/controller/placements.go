package controller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// observeRefs reads the Placements that placementRefs refer to, and their decisions.
func (c *Controller) observeRefs(namespace string, specs []workv1alpha1.LocalPlacementReference) ([]rollout.Ref, error) {
	refs := make([]rollout.Ref, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		ref := rollout.Ref{Name: spec.Name, Field: fmt.Sprintf("spec.placementRefs[%d]", i), Strategy: spec.RolloutStrategy}
		placement, err := c.placement.Placements(namespace).Get(spec.Name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading Placement %s/%s: %w", namespace, spec.Name, err)
		default:
			if ref.Placement, err = c.observePlacement(placement); err != nil {
				return nil, err
			}
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (c *Controller) observePlacement(placement *clusterv1beta1.Placement) (*rollout.Placement, error) {
	objects, err := c.decisionIndex.ByIndex(byPlacement, placement.Namespace+"/"+placement.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the decisions of Placement %s/%s: %w", placement.Namespace, placement.Name, err)
	}
	decisions := make([]*clusterv1beta1.PlacementDecision, 0, len(objects))
	for _, object := range objects {
		decisions = append(decisions, object.(*clusterv1beta1.PlacementDecision))
	}
	return c.selections.Of(placement, decisions), nil
}
