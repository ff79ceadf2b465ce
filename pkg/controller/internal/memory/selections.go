package memory

import (
	"slices"
	"strings"

	"k8s.io/utils/lru"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	selection "github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// selectionsKept is the maximum number of Placements whose selections are remembered. Each selection takes one string
// header per cluster.
const selectionsKept = 512

// Selections remembers the clusters that Placements select. The decisions of a large fleet rarely change, but every pass over every object
// reads them.
type Selections struct {
	// known holds a selectionOf for each Placement's "namespace/name".
	known *lru.Cache
}

// selectionOf is the selection of a Placement, with the cached objects that it was read from. The caches replace a
// changed object and never modify it.
type selectionOf struct {
	placement *clusterv1beta1.Placement
	decisions []*clusterv1beta1.PlacementDecision
	selected  *selection.Placement
}

// NewSelections returns empty Selections.
func NewSelections() *Selections { return &Selections{known: lru.New(selectionsKept)} }

// PlacementOf returns the selection of a Placement with these decisions. The result is shared between passes, and must not be changed.
func (s *Selections) PlacementOf(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *selection.Placement {
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	key := placement.Namespace + "/" + placement.Name
	if found, ok := s.known.Get(key); ok {
		if known := found.(selectionOf); known.placement == placement && slices.Equal(known.decisions, decisions) {
			return known.selected
		}
	}
	selected := selection.FromDecisions(placement, slices.Clone(decisions))
	s.known.Add(key, selectionOf{placement: placement, decisions: decisions, selected: selected})
	return selected
}
