package rollout

import (
	"cmp"
	"slices"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Which cluster and which work belong to which placementRef (R8):
//
//  1. A cluster belongs to the first placementRef that selects it (Owners).
//  2. It has one work; others are surplus (worksByCluster).
//  3. A work that has the name of a placementRef still counts there if nothing selects its cluster any more, or if it is being deleted
//     (assign).
//  4. A work that is labelled with an earlier placementRef is not handed on while the selection of that placementRef is unknown
//     (blockedByEarlier).

// selection holds the clusters that the placementRefs of a snapshot select. It is computed once for a decision, so no step has to look at
// every placementRef for each work, or the reverse.
type selection struct {
	// owners is, for each selected cluster, the placementRef that it belongs to.
	owners map[string]int
	// owned is how many clusters each placementRef owns.
	owned []int
	// first is the index of the first placementRef for each Placement: a work that must be deleted is counted once.
	first map[string]int
	// settled reports for each placementRef whether it is known which clusters it selects.
	settled []bool
	// byCluster holds one work for each cluster, and surplus the others.
	byCluster map[string]*work.Work
	surplus   []*work.Work
	// unselected are the works that are not being deleted and whose clusters nothing selects, by cluster.
	unselected []*work.Work
	// leaving holds, for each placementRef, the works that still count for it although it no longer owns their clusters.
	leaving [][]*work.Work
}

func newSelection(s *Snapshot) *selection {
	n := len(s.Refs)
	sel := &selection{
		owners: placement.Owners(s.Refs), owned: make([]int, n), first: make(map[string]int, n), settled: make([]bool, n), leaving: make([][]*work.Work, n),
	}
	for _, index := range sel.owners {
		sel.owned[index]++
	}
	for i := range s.Refs {
		sel.settled[i] = s.Refs[i].Settled()
		if _, known := sel.first[s.Refs[i].Name]; !known {
			sel.first[s.Refs[i].Name] = i
		}
	}
	_, usualName, _ := strings.Cut(s.Owner, ".")
	sel.byCluster, sel.surplus = worksByCluster(s.Works, usualName)
	sel.assign()
	return sel
}

// assign finds the works of clusters that nothing selects, and the works that count for a placementRef that does not own their clusters.
// If nothing selects the cluster, a work with a name that no hub gives does not count: somebody added the owner label.
func (sel *selection) assign() {
	for cluster, work := range sel.byCluster {
		owner, selected := sel.owners[cluster]
		deleting := work.Deleting()
		if selected && !deleting {
			continue
		}
		if !deleting {
			sel.unselected = append(sel.unselected, work)
		}
		if index, named := sel.first[work.PlacementName()]; named && (selected && owner != index || !selected && !work.UnexpectedName) {
			sel.leaving[index] = append(sel.leaving[index], work)
		}
	}
	slices.SortFunc(sel.unselected, byCluster)
	for _, works := range sel.leaving {
		slices.SortFunc(works, byCluster)
	}
}

func byCluster(a, b *work.Work) int { return strings.Compare(a.Cluster(), b.Cluster()) }

// blockedByEarlier reports whether a work is labelled with a placementRef that comes before its cluster's and whose selection is unknown.
func (sel *selection) blockedByEarlier(index int, work *work.Work) bool {
	if work == nil || index == 0 {
		return false
	}
	first, named := sel.first[work.PlacementName()]
	return named && first < index && !sel.settled[first]
}

// worksByCluster returns one work for each cluster. If there are several, which older hubs could make, it prefers one that is not being
// deleted, then one with the usual name, then the oldest. The others are surplus.
func worksByCluster(all []work.Work, usualName string) (byCluster map[string]*work.Work, surplus []*work.Work) {
	byCluster = make(map[string]*work.Work, len(all))
	for i := range all {
		w := &all[i]
		kept, taken := byCluster[w.Cluster()]
		if taken && compareWorks(w, kept, usualName) < 0 {
			w, kept = kept, w
			byCluster[kept.Cluster()] = kept
		}
		switch {
		case !taken:
			byCluster[w.Cluster()] = w
		case !w.Deleting():
			surplus = append(surplus, w)
		}
	}
	slices.SortFunc(surplus, func(a, b *work.Work) int {
		return strings.Compare(a.Cluster()+"/"+a.Object.Name, b.Cluster()+"/"+b.Object.Name)
	})
	return byCluster, surplus
}

// compareWorks orders the works of a cluster: the one to keep comes first.
func compareWorks(a, b *work.Work, usualName string) int {
	order := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		order(!a.Deleting(), !b.Deleting()),
		order(a.Object.Name == usualName, b.Object.Name == usualName),
		a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
		strings.Compare(a.Object.Name, b.Object.Name),
	)
}
