package rollout

import (
	"cmp"
	"slices"
	"strings"
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
	byCluster map[string]*Work
	surplus   []*Work
	// unselected are the works that are not being deleted and whose clusters nothing selects, by cluster.
	unselected []*Work
	// leaving holds, for each placementRef, the works that still count for it although it no longer owns their clusters.
	leaving [][]*Work
}

func newSelection(s *Snapshot) *selection {
	n := len(s.Refs)
	sel := &selection{
		owners: Owners(s.Refs), owned: make([]int, n), first: make(map[string]int, n), settled: make([]bool, n), leaving: make([][]*Work, n),
	}
	for _, index := range sel.owners {
		sel.owned[index]++
	}
	for i := range s.Refs {
		sel.settled[i] = s.Refs[i].settled()
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

func byCluster(a, b *Work) int { return strings.Compare(a.Cluster(), b.Cluster()) }

// blockedByEarlier reports whether a work is labelled with a placementRef that comes before its cluster's and whose selection is unknown.
func (sel *selection) blockedByEarlier(index int, work *Work) bool {
	if work == nil || index == 0 {
		return false
	}
	first, named := sel.first[work.PlacementName()]
	return named && first < index && !sel.settled[first]
}

// Owners returns, for each selected cluster, the index of the placementRef that it belongs to: the first in spec order.
func Owners(refs []Ref) map[string]int {
	largest := 0
	for i := range refs {
		if refs[i].Placement != nil {
			largest = max(largest, refs[i].Placement.seen())
		}
	}
	owners := make(map[string]int, largest)
	for i := range refs {
		if refs[i].Placement == nil {
			continue
		}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				if _, taken := owners[cluster]; !taken {
					owners[cluster] = i
				}
			}
		}
	}
	return owners
}

// Sliced returns for each cluster the Placements with several slices that select it. It is nil if no Placement has several slices.
// Clusters that the same Placements select share one list.
func Sliced(refs []Ref) map[string][]string {
	type list struct {
		last   *string
		length int
	}
	var sliced map[string][]string
	for i := range refs {
		if !refs[i].sliced() {
			continue
		}
		if sliced == nil {
			sliced = make(map[string][]string, refs[i].Placement.seen())
		}
		longer := map[list][]string{}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				before := sliced[cluster]
				of := list{length: len(before)}
				if len(before) > 0 {
					of.last = &before[len(before)-1]
				}
				after, known := longer[of]
				if !known {
					after = append(slices.Clip(before), refs[i].Name)
					longer[of] = after
				}
				sliced[cluster] = after
			}
		}
	}
	return sliced
}

// worksByCluster returns one work for each cluster. If there are several, which older hubs could make, it prefers one that is not being
// deleted, then one with the usual name, then the oldest. The others are surplus.
func worksByCluster(all []Work, usualName string) (byCluster map[string]*Work, surplus []*Work) {
	byCluster = make(map[string]*Work, len(all))
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
	slices.SortFunc(surplus, func(a, b *Work) int {
		return strings.Compare(a.Cluster()+"/"+a.Object.Name, b.Cluster()+"/"+b.Object.Name)
	})
	return byCluster, surplus
}

// compareWorks orders the works of a cluster: the one to keep comes first.
func compareWorks(a, b *Work, usualName string) int {
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
