package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Which cluster and which work belong to which placementRef (R8):
//
//  1. A cluster belongs to the first placementRef that selects it (Owners).
//  2. It has one work; others are surplus (addWork).
//  3. A work that has the name of a placementRef still counts there if nothing selects its cluster any more, or if it is being deleted
//     (assign).
//  4. A work that is labelled with an earlier placementRef is not handed over while the selection of that placementRef is unknown, or for a
//     while after its cluster left that placementRef, because OCM may still be writing the decisions (blockedByEarlier).
//  5. A work of a cluster that is away stays with its placementRef (away.go).

// selection holds the clusters that the placementRefs of a snapshot select. It is computed once for a decision, so no step has to look at
// every placementRef for each work, or the reverse.
type selection struct {
	// members are the selected clusters, those of the first placementRef first. begins is where those of each placementRef begin, and
	// positions is where each cluster is.
	members   []member
	begins    []int
	positions map[string]int
	// first is the index of the first placementRef for each Placement: a work that must be deleted is counted once.
	first map[string]int
	// settled reports for each placementRef whether it is known which clusters it selects.
	settled []bool
	// emptyUntil is the time until which the empty selection of each placementRef counts as unknown; zero if it does not.
	emptyUntil []time.Time
	// others holds one work for each cluster that nothing selects, and surplus all works that are not the one of their cluster.
	others  map[string]*work.Work
	surplus []*work.Work
	// unselected are the works that are not being deleted and whose clusters nothing selects, by cluster.
	unselected []*work.Work
	// leaving holds, for each placementRef, the works that still count for it although it no longer owns their clusters.
	leaving [][]*work.Work
	// staying are the clusters that count for no other placementRef than the one that their works name, although another one selects them:
	// they are away (R8a). named holds the clusters of a placementRef, once somebody asks.
	staying map[string]bool
	named   []map[string]bool
	// lent is, for each placementRef, the number of works that name it, are not being deleted, and are on clusters of another placementRef.
	lent []int
}

func newSelection(s *Snapshot) *selection {
	n, largest := len(s.Refs), placement.Largest(s.Refs)
	sel := &selection{
		members: make([]member, 0, largest), positions: make(map[string]int, largest), begins: make([]int, n, n+1),
		first: make(map[string]int, n), settled: make([]bool, n), others: map[string]*work.Work{}, leaving: make([][]*work.Work, n),
		lent: make([]int, n), emptyUntil: make([]time.Time, n), staying: map[string]bool{}, named: make([]map[string]bool, n),
	}
	for i := range s.Refs {
		sel.settled[i] = s.Refs[i].Settled()
		if _, known := sel.first[s.Refs[i].Name]; !known {
			sel.first[s.Refs[i].Name] = i
		}
	}
	for i := range s.Works {
		if w := &s.Works[i]; sel.staysWithRef(s, w) {
			sel.staying[w.Cluster()] = true
		}
	}
	for i := range s.Refs {
		sel.begins[i] = len(sel.members)
		sel.addRef(&s.Refs[i])
	}
	sel.begins = append(sel.begins, len(sel.members))
	_, usualName, _ := strings.Cut(s.Owner, ".")
	for i := range s.Works {
		sel.addWork(&s.Works[i], usualName)
		if index, named := sel.first[s.Works[i].PlacementName()]; named && sel.settled[index] && s.Refs[index].Placement.Empty() {
			sel.emptyUntil[index] = work.Later(sel.emptyUntil[index], s.leftUntil(index, &s.Works[i]))
		}
	}
	sel.assign()
	return sel
}

// addRef adds the clusters that a placementRef selects and no earlier one does, except those that stay with the one that they left.
func (sel *selection) addRef(ref *placement.Ref) {
	if ref.Placement == nil {
		return
	}
	for g := range ref.Placement.Groups {
		for _, cluster := range ref.Placement.Groups[g].Clusters {
			if _, taken := sel.positions[cluster]; !taken && !sel.staying[cluster] {
				sel.positions[cluster] = len(sel.members)
				sel.members = append(sel.members, member{cluster: cluster, group: g, owned: true, invalid: placement.IsInvalid(cluster)})
			}
		}
	}
}

// of returns the clusters that belong to a placementRef.
func (sel *selection) of(index int) []member {
	return sel.members[sel.begins[index]:sel.begins[index+1]]
}

// find returns the member of a cluster; nil if nothing selects it.
func (sel *selection) find(cluster string) *member {
	if position, selected := sel.positions[cluster]; selected {
		return &sel.members[position]
	}
	return nil
}

// addWork makes a work the one of its cluster. If there are several, which older hubs could make, it prefers one that is not being deleted,
// then one with the usual name, then the oldest. The others are surplus.
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
// If nothing selects the cluster, a work with a name that no hub gives does not count: somebody added the owner label.
func (sel *selection) assign() {
	for owner := range sel.leaving {
		for i := range sel.of(owner) {
			switch m := &sel.of(owner)[i]; {
			case m.work == nil:
			case m.work.Deleting():
				sel.leaves(m.work, owner)
			default:
				if index, named := sel.first[m.work.PlacementName()]; named && index != owner {
					sel.lent[index]++
				}
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

// leaves counts a work for the placementRef that it names, if that is not the owner of its cluster.
func (sel *selection) leaves(w *work.Work, owner int) {
	if index, named := sel.first[w.PlacementName()]; named && index != owner {
		sel.leaving[index] = append(sel.leaving[index], w)
	}
}

// byName orders works by cluster and name.
func byName(a, b *work.Work) int {
	return cmp.Or(strings.Compare(a.Cluster(), b.Cluster()), strings.Compare(a.Object.Name, b.Object.Name))
}

// blockedByEarlier reports whether a member may belong to an earlier placementRef than the one that owns its cluster: the selection of that
// placementRef is unknown, or the cluster has just left it. The label of the work names that placementRef. Without a work, it is the one
// that the records name, or any earlier one that is halted. until is when the block ends by itself; zero if it does not.
func (sel *selection) blockedByEarlier(s *Snapshot, index int, m *member) (blocked bool, until time.Time) {
	if m.work == nil {
		return sel.mayBeHalted(s, index, s.recordedFor(m.cluster))
	}
	first, named := sel.first[m.work.PlacementName()]
	switch {
	case !named || first >= index:
		return false, time.Time{}
	case !sel.settled[first]:
		return true, time.Time{}
	}
	until = s.leftUntil(first, m.work)
	return !until.IsZero(), until
}

// leftUntil returns the time until which a work still counts for a placementRef that its cluster has just left; zero if it does not. OCM
// creates a PlacementDecision before it writes the clusters into it, and a cluster that moves between slices is briefly in none of them.
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

// mayBeHalted reports whether a cluster without a work may belong to an earlier placementRef that is halted, or that its record names.
// until is when that ends by itself; zero if it does not.
func (sel *selection) mayBeHalted(s *Snapshot, index int, recorded string) (blocked bool, until time.Time) {
	for i := range s.Refs[:index] {
		unknown, ends := sel.unknown(i)
		if !unknown {
			continue
		}
		if _, halted := s.Records.Halted[s.Refs[i].Name]; halted || s.Refs[i].Name == recorded {
			return true, ends
		}
	}
	return false, time.Time{}
}

// unknown reports whether the selection of a placementRef is unknown, or has just become empty. ends is when that ends by itself; zero if
// it does not.
func (sel *selection) unknown(index int) (unknown bool, ends time.Time) {
	return !sel.settled[index] || !sel.emptyUntil[index].IsZero(), sel.emptyUntil[index]
}

// recordedFor returns the Placement that the recorded failure or rejection of a cluster counts for; empty if there is none.
func (s *Snapshot) recordedFor(cluster string) string {
	if failure, failed := s.Records.Failures[cluster]; failed {
		return failure.Placement
	}
	return s.Records.Rejections[cluster].Placement
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
