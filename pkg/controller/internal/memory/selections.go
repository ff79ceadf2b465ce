package memory

import (
	"slices"
	"strings"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"k8s.io/utils/lru"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// selectionsKept bounds how many Placements' selections are held. Each holds a string header for each cluster.
const selectionsKept = 512

// Selections remembers what Placements select. The decisions of a large fleet rarely change, but every pass over every object reads them.
type Selections struct {
	// known holds a selectionOf for each Placement's "namespace/name".
	known *lru.Cache
}

// selectionOf is what a Placement selects, and the cached objects that say so: the caches replace an object that changes, and never edit
// it.
type selectionOf struct {
	placement *clusterv1beta1.Placement
	decisions []*clusterv1beta1.PlacementDecision
	selected  *rollout.Placement
}

// NewSelections returns one that knows nothing.
func NewSelections() *Selections { return &Selections{known: lru.New(selectionsKept)} }

// Of returns what a Placement selects by these decisions. The result is shared between passes, and must not be changed.
func (s *Selections) Of(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *rollout.Placement {
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	key := placement.Namespace + "/" + placement.Name
	if found, ok := s.known.Get(key); ok {
		if known := found.(selectionOf); known.placement == placement && slices.Equal(known.decisions, decisions) {
			return known.selected
		}
	}
	selected := placementOf(placement, slices.Clone(decisions))
	s.known.Add(key, selectionOf{placement: placement, decisions: decisions, selected: selected})
	return selected
}
