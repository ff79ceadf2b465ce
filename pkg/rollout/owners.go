package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Which clusters and works belong to which placementRef (R8):
//
//  1. A cluster belongs to the first placementRef that selects it (Owners).
//  2. A cluster has one work; any other works are surplus (addWork).
//  3. A work that names a placementRef still counts for it if nothing selects the work's cluster any more, or if the work is being deleted
//     (assign).
//  4. While the selection of any placementRef is unknown, no cluster of the object is handed over, starts or fails, and the rollout does
//     not complete (noteStaying).
//  5. A work stays with the placementRef that it names while the selection of that placementRef is unknown, and while its cluster is away.
//     It also stays for a while after its cluster left the placementRef, because OCM may still be writing the decisions (noteStaying;
//     away.go).

// selection holds the clusters that the placementRefs of a snapshot select. It is computed once per decision, so that no step has to
// compare every placementRef with every work.
type selection struct {
	// members are the selected clusters, in the order of the placementRefs. begins has the index of the first member of each placementRef,
	// and positions has the index of each cluster.
	members   []member
	begins    []int
	positions map[string]int
	// first is the index of the first placementRef of each Placement, so that a work that must be deleted is counted once.
	first map[string]int
	// unknown is true for each placementRef whose clusters are unknown. anyUnknown is true if there is any such placementRef.
	unknown    []bool
	anyUnknown bool
	// others holds the one work that counts for each cluster that nothing selects. surplus holds all works beyond the one that counts for its
	// cluster.
	others  map[string]*work.Work
	surplus []*work.Work
	// unselected are the works that are not being deleted and whose clusters nothing selects, by cluster.
	unselected []*work.Work
	// leaving holds, for each placementRef, the works that still count for it although it no longer owns their clusters.
	leaving [][]*work.Work
	// staying holds the clusters that still count for the placementRef that their works name. named holds, by placementRef, the clusters that
	// its Placement names, if they were needed.
	staying map[string]stay
	named   []map[string]bool
}

func newSelection(s *Snapshot) *selection {
	n, largest := len(s.Refs), placement.Largest(s.Refs)
	sel := &selection{
		members: make([]member, 0, largest), positions: make(map[string]int, largest), begins: make([]int, n, n+1),
		first: make(map[string]int, n), unknown: make([]bool, n), others: map[string]*work.Work{}, leaving: make([][]*work.Work, n),
		staying: map[string]stay{}, named: make([]map[string]bool, n),
	}
	for i := range s.Refs {
		sel.unknown[i] = !s.Refs[i].Decided()
		if _, known := sel.first[s.Refs[i].Name]; !known {
			sel.first[s.Refs[i].Name] = i
		}
	}
	for i := range s.Works {
		sel.noteStaying(s, &s.Works[i])
	}
	sel.anyUnknown = slices.Contains(sel.unknown, true)
	for i := range s.Refs {
		sel.begins[i] = len(sel.members)
		sel.addRef(i, &s.Refs[i])
	}
	sel.begins = append(sel.begins, len(sel.members))
	_, usualName, _ := strings.Cut(s.Owner, ".")
	for i := range s.Works {
		sel.addWork(&s.Works[i], usualName)
	}
	sel.assign()
	return sel
}

// stay describes a cluster that still counts for the placementRef that its work names, although that placementRef does not select it.
type stay struct {
	// below is the index of the first placementRef that can't take over the cluster.
	below int
	// until is the time at which the stay ends by itself; zero if it does not end by itself.
	until time.Time
	// selected is true if a placementRef selects the cluster but can't take it over.
	selected bool
}

// noteStaying notes whether the cluster of a work stays with the placementRef that the work names. If the selection of that placementRef
// has just become empty, it counts as unknown.
func (sel *selection) noteStaying(s *Snapshot, w *work.Work) {
	index, named := sel.first[w.PlacementName()]
	if !named || w.Deleting() || w.UnexpectedName {
		return
	}
	ref, until := &s.Refs[index], s.leftUntil(index, w)
	if away, _ := s.away(w.Cluster()); ref.Settled() && until.IsZero() && !away {
		return
	} else if sel.named[index] == nil && ref.Placement != nil {
		sel.named[index] = ref.Placement.Clusters()
	}
	if sel.named[index][w.Cluster()] {
		return
	}
	sel.staying[w.Cluster()] = sel.stayOf(s, w, index, until)
	if !until.IsZero() && ref.Settled() && ref.Placement.Empty() {
		sel.unknown[index] = true
	}
}

// stayOf returns how long a work stays with the placementRef at an index. Only an earlier placementRef can take over its
// cluster. If the cluster is away, no placementRef can.
func (sel *selection) stayOf(s *Snapshot, w *work.Work, index int, until time.Time) stay {
	if away, _ := s.away(w.Cluster()); away && s.Refs[index].Settled() {
		return stay{until: until}
	}
	return stay{below: index, until: until}
}

// addRef adds the clusters that a placementRef selects and no earlier one does, except those that stay with another placementRef.
func (sel *selection) addRef(index int, ref *placement.Ref) {
	if ref.Placement == nil {
		return
	}
	for g := range ref.Placement.Groups {
		for _, cluster := range ref.Placement.Groups[g].Clusters {
			if _, taken := sel.positions[cluster]; taken {
				continue
			}
			if known, stays := sel.staying[cluster]; stays && index >= known.below {
				known.selected = true
				sel.staying[cluster] = known
				continue
			}
			sel.positions[cluster] = len(sel.members)
			sel.members = append(sel.members, member{phase: waiting, cluster: cluster, group: g, owned: true, invalid: placement.IsInvalid(cluster)})
		}
	}
}

func (sel *selection) membersOf(index int) []member {
	return sel.members[sel.begins[index]:sel.begins[index+1]]
}

// find returns the member of a cluster; nil if nothing selects it.
func (sel *selection) find(cluster string) *member {
	if position, selected := sel.positions[cluster]; selected {
		return &sel.members[position]
	}
	return nil
}

// addWork assigns a work to its cluster. If there are several works, as older hubs could create, it prefers a work that is not being
// deleted, then one with the usual name, then the oldest. The others are surplus.
func (sel *selection) addWork(w *work.Work, usualName string) {
	m := sel.find(w.Cluster())
	var known *work.Work
	if m != nil {
		known = m.work
	} else {
		known = sel.others[w.Cluster()]
	}
	kept, spare := w, known
	if known != nil && compareWorks(known, w, usualName) <= 0 {
		kept, spare = known, w
	}
	if spare != nil && !spare.Deleting() {
		sel.surplus = append(sel.surplus, spare)
	}
	if m != nil {
		m.work = kept
	} else {
		sel.others[w.Cluster()] = kept
	}
}

// assign finds the works of clusters that nothing selects, and the works that count for a placementRef that does not own their clusters.
// If nothing selects the cluster, a work with a name that no hub gives does not count: a user added the owner label.
func (sel *selection) assign() {
	for owner := range sel.leaving {
		for i := range sel.membersOf(owner) {
			if m := &sel.membersOf(owner)[i]; m.work != nil && m.work.Deleting() {
				sel.leaves(m.work, owner)
			}
		}
	}
	for _, w := range sel.others {
		if !w.Deleting() {
			sel.unselected = append(sel.unselected, w)
		}
		if !w.UnexpectedName {
			sel.leaves(w, -1)
		}
	}
	slices.SortFunc(sel.surplus, byName)
	slices.SortFunc(sel.unselected, byName)
	for _, works := range sel.leaving {
		slices.SortFunc(works, byName)
	}
}

// leaves counts a work for the placementRef that it names, if another placementRef owns its cluster.
func (sel *selection) leaves(w *work.Work, owner int) {
	if index, named := sel.first[w.PlacementName()]; named && index != owner {
		sel.leaving[index] = append(sel.leaving[index], w)
	}
}

func byName(a, b *work.Work) int {
	return cmp.Or(strings.Compare(a.Cluster(), b.Cluster()), strings.Compare(a.Object.Name, b.Object.Name))
}

// leftUntil returns the time until which a work still counts for a placementRef that its cluster has just left; zero if it does not count.
// OCM creates a PlacementDecision before it writes the clusters into it, and a cluster that moves between slices is briefly in none of
// them.
func (s *Snapshot) leftUntil(index int, w *work.Work) time.Time {
	if w.LeftSince.IsZero() {
		return time.Time{}
	}
	wait := unselectedFor
	if s.Refs[index].MayBeWritten() {
		wait = unselectedForWritten
	}
	if until := s.after(w.LeftSince, wait); s.Now.Before(until) {
		return until
	}
	return time.Time{}
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
