package rollout

import (
	"slices"
	"strings"
)

// selection is what the placementRefs of a snapshot select, found once for a decision: no step of it looks at every ref for each work, or at
// every work for each ref.
type selection struct {
	// owners is, for each selected cluster, the ref that it belongs to (R8).
	owners map[string]int
	// owned is how many clusters each ref owns.
	owned []int
	// first is the index of the first ref to each Placement: a work that is on its way out is counted once.
	first map[string]int
	// settled reports for each ref whether it is known which clusters it selects.
	settled []bool
	// byCluster is each cluster's one work, and surplus are the others of a cluster.
	byCluster map[string]*Work
	surplus   []*Work
	// leaving are, for each ref, the works that still count for it though it does not select their clusters any more.
	leaving [][]*Work
}

func newSelection(s *Snapshot) *selection {
	sel := &selection{
		owners: Owners(s.Refs), owned: make([]int, len(s.Refs)), first: make(map[string]int, len(s.Refs)), settled: make([]bool, len(s.Refs)),
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
	sel.byCluster, sel.surplus = works(s.Works, s.usualName())
	sel.leaving = sel.leavingWorks(len(s.Refs))
	return sel
}

// leavingWorks are the works that still count for a ref which does not select their clusters any more, for each ref and by cluster: those that
// have the name of its Placement, and that nothing selects or that are being deleted (R8). Where nothing selects the cluster, a work whose name no
// hub gives does not count: somebody gave it the owner label.
func (sel *selection) leavingWorks(refs int) [][]*Work {
	leaving := make([][]*Work, refs)
	for cluster, work := range sel.byCluster {
		index, named := sel.first[work.PlacementName()]
		owner, selected := sel.owners[cluster]
		if named && (!selected && !work.Stray || selected && work.Deleting() && owner != index) {
			leaving[index] = append(leaving[index], work)
		}
	}
	for _, works := range leaving {
		slices.SortFunc(works, func(a, b *Work) int { return strings.Compare(a.Cluster(), b.Cluster()) })
	}
	return leaving
}

// heldByEarlier reports whether a work is labelled as one of an earlier ref than its cluster's, of which is not known what it selects.
func (sel *selection) heldByEarlier(index int, work *Work) bool {
	if work == nil {
		return false
	}
	first, named := sel.first[work.PlacementName()]
	return named && first < index && !sel.settled[first]
}

// unselected are the clusters with a work that nothing selects and that is not being deleted, sorted.
func (sel *selection) unselected() []string {
	var clusters []string
	for cluster, w := range sel.byCluster {
		if _, selected := sel.owners[cluster]; !selected && !w.Deleting() {
			clusters = append(clusters, cluster)
		}
	}
	slices.Sort(clusters)
	return clusters
}
