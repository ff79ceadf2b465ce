package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
	return c.selections.of(placement, decisions), nil
}

// placementOf sorts decisions into groups. A cluster that is in two slices for a moment is in the first one's group.
func placementOf(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *rollout.Placement {
	out := &rollout.Placement{Selected: int(placement.Status.NumberOfSelectedClusters), Decisions: len(decisions)}
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int {
		return cmp.Or(cmp.Compare(groupIndex(a), groupIndex(b)), cmp.Compare(a.Name, b.Name))
	})
	listed := 0 // The Placement's own count may say anything.
	for _, decision := range decisions {
		listed += len(decision.Status.Decisions)
	}
	seen, groups := make(map[string]bool, listed), map[string]int{}
	for _, decision := range decisions {
		group := groupOf(out, groups, rollout.Group{Index: groupIndex(decision), Name: decision.Labels[clusterv1beta1.DecisionGroupNameLabel]})
		for i := range decision.Status.Decisions {
			if cluster := decision.Status.Decisions[i].ClusterName; cluster != "" && !seen[cluster] {
				seen[cluster] = true
				group.Clusters = append(group.Clusters, cluster)
			}
		}
	}
	return out
}

// groupIndex is 0 where a decision names no group, as those of older placement controllers don't.
func groupIndex(decision *clusterv1beta1.PlacementDecision) int32 {
	index, err := strconv.ParseInt(decision.Labels[clusterv1beta1.DecisionGroupIndexLabel], 10, 32)
	if err != nil || index < 0 {
		return 0
	}
	return int32(index)
}

// groupOf finds or adds a group. known holds the places of those that are there, by key.
func groupOf(placement *rollout.Placement, known map[string]int, wanted rollout.Group) *rollout.Group {
	at, there := known[wanted.Key()]
	if !there {
		at = len(placement.Groups)
		known[wanted.Key()] = at
		placement.Groups = append(placement.Groups, wanted)
	}
	return &placement.Groups[at]
}
