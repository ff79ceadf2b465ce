package memory

import (
	"slices"
	"strings"
	"time"

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
	// changed is when the clusters of the decisions last changed; zero if the Placement has changed since.
	changed time.Time
}

// NewSelections returns empty Selections.
func NewSelections() *Selections { return &Selections{known: lru.New(selectionsKept)} }

// regroupingFor is the time after a change of the decisions in which OCM may still write the decision groups into the status of the
// Placement. It does not write a status that stays the same.
const regroupingFor = 5 * time.Second

// PlacementOf returns the selection of a Placement with these decisions. The result is shared between passes, and must not be changed.
// For the returned time, the status of the Placement may not show the decision groups yet.
func (s *Selections) PlacementOf(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision, now time.Time,
) (selected *selection.Placement, regrouping time.Duration) {
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	key := placement.Namespace + "/" + placement.Name
	found, _ := s.known.Get(key)
	known, _ := found.(selectionOf)
	if known.placement != placement || !slices.Equal(known.decisions, decisions) {
		switch {
		case known.placement != placement || len(placement.Status.DecisionGroups) == 0:
			known.changed = time.Time{}
		case !slices.EqualFunc(known.decisions, decisions, sameClusters):
			known.changed = now
		}
		known.placement, known.decisions, known.selected = placement, decisions, selection.FromDecisions(placement, slices.Clone(decisions))
		s.known.Add(key, known)
	}
	regrouping = known.changed.Add(regroupingFor).Sub(now)
	if regrouping < 0 || regrouping > regroupingFor { // The clock may have been set back.
		regrouping = 0
	}
	return known.selected, regrouping
}

// sameClusters reports whether two versions of a decision have the same clusters.
func sameClusters(a, b *clusterv1beta1.PlacementDecision) bool {
	return a.Name == b.Name && slices.Equal(a.Status.Decisions, b.Status.Decisions)
}
