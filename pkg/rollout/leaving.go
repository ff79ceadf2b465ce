package rollout

import (
	"cmp"
	"slices"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
)

// addLeaving makes members of works that are on their way out. What the update revision did to a cluster always counts. One that has
// another revision counts where nothing else is left of a group that has its turn before others: such a group is not an empty one, and
// a canary that goes away must not send the next revision to production first (R8). Elsewhere it has no part in the rollout: a cluster
// that is lost permanently would hold up every rollout of the fleet.
func (f *fleet) addLeaving(s *Snapshot, leaving []*Work) {
	if len(leaving) == 0 {
		return
	}
	groups := f.indexGroups()
	var older []*Work
	for _, work := range leaving {
		if work.At(s.Update) || s.hasFailed(work.Cluster()) {
			f.members = append(f.members, member{cluster: work.Cluster(), group: groups.place(work), work: work})
		} else if _, _, known := work.decisionGroup(); known {
			older = append(older, work)
		}
	}
	filled := make(map[string]bool, len(f.groups))
	for i := range f.members {
		filled[f.groups[f.members[i].group].Key()] = true
	}
	for _, work := range older {
		group := groups.find(work)
		if filled[group.Key()] || !f.hasTurn(&group) {
			continue
		}
		f.members = append(f.members, member{cluster: work.Cluster(), group: groups.place(work), work: work})
	}
}

// hasTurn reports whether other groups wait for a group.
func (f *fleet) hasTurn(group *Group) bool {
	return f.err == nil && (f.strategy.kind == clusterv1alpha1.ProgressivePerGroup || f.strategy.isMandatory(group))
}

// groupIndex finds the groups of a fleet.
type groupIndex struct {
	fleet         *fleet
	byKey, byName map[string]int
}

func (f *fleet) indexGroups() *groupIndex {
	ix := &groupIndex{fleet: f, byKey: make(map[string]int, len(f.groups)), byName: make(map[string]int, len(f.groups))}
	for i := range f.groups {
		ix.add(i)
	}
	return ix
}

func (ix *groupIndex) add(i int) {
	group := &ix.fleet.groups[i]
	if _, known := ix.byKey[group.Key()]; !known {
		ix.byKey[group.Key()] = i
	}
	if _, known := ix.byName[group.Name]; !known && group.Name != "" {
		ix.byName[group.Name] = i
	}
}

// find is the group that the cluster of a work was in when it was written: by index and name, or by name. Where there is none
// any more, it is one of its own.
func (ix *groupIndex) find(work *Work) Group {
	index, name, ok := work.decisionGroup()
	if !ok {
		index, name = -1, ""
	}
	wanted := Group{Name: name, Index: index}
	if i, known := ix.byKey[wanted.Key()]; known {
		return ix.fleet.groups[i]
	}
	if i, known := ix.byName[name]; known {
		return ix.fleet.groups[i]
	}
	return wanted
}

// place is the place of that group among the fleet's.
func (ix *groupIndex) place(work *Work) int {
	group := ix.find(work)
	if i, known := ix.byKey[group.Key()]; known {
		return i
	}
	ix.fleet.groups = append(ix.fleet.groups, group)
	ix.add(len(ix.fleet.groups) - 1)
	return len(ix.fleet.groups) - 1
}

// orderGroups puts the groups in the order of their indices: one that only works which are on their way out are in keeps its turn, so
// that no later group is opened while they are in flight. It comes before a group with the same index: OCM numbers the groups that have
// clusters, so that the next group takes over the index of one that has none left.
func (f *fleet) orderGroups() {
	order := make([]int, len(f.groups))
	for g := range order {
		order[g] = g
	}
	gone := func(g int) int {
		if len(f.groups[g].Clusters) == 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(f.groups[a].Index, f.groups[b].Index), cmp.Compare(gone(a), gone(b)))
	})
	groups := make([]Group, len(order))
	position := make([]int, len(order))
	for now, before := range order {
		groups[now], position[before] = f.groups[before], now
	}
	f.groups = groups
	for i := range f.members {
		f.members[i].group = position[f.members[i].group]
	}
}

// leaving says that a member has a work that has to go before anything else can come: one that is being deleted and is counted
// elsewhere or is not at the update revision, or one that nothing selects for the ref any more and that is not there.
func (m *member) leaving(s *Snapshot, placement string) bool {
	switch {
	case m.work == nil:
		return false
	case m.owned:
		return m.work.Deleting() && (m.work.PlacementName() != placement || !m.work.At(s.Update))
	}
	return !m.work.At(s.Update)
}

// placeLeaving reports whether a work that is on its way out has been so for longer than the deadline, which runs since its deletion (R8).
func (f *fleet) placeLeaving(s *Snapshot, m *member) {
	m.phase = PhaseLeaving
	if m.work.Deleting() {
		m.since = earlier(m.work.deletedAt(), s.Now)
		m.phase, m.next = f.until(s, m, m.since, PhaseLeaving, PhaseStuck)
	}
}

// keepsSlot says that a member whose work is on its way out still has its slot: under the Placement that the work has (R8).
func (m *member) keepsSlot(placement string) bool {
	return m.phase == PhaseLeaving && m.work.PlacementName() == placement
}
