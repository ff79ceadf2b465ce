package rollout

import (
	"cmp"
	"slices"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// placementState is a placementRef with the clusters that count for it and their phases.
type placementState struct {
	ref       *placement.Ref
	selection *selection
	strategy  placement.Strategy
	err       error
	// groups are the decision groups by index, and isMandatory is true for each mandatory group.
	groups      []placement.Group
	isMandatory []bool
	// rings are the listed groups. open is the position of the last one that may begin; len(rings) if the other clusters may begin, too
	// (rings.go). ringOf has the position of each decision group: its entry in rings, or len(rings).
	rings  []ring
	ringOf []int
	open   int
	// gates are the success gates of each group; nil if no gate decides anything.
	gates [][]work.Gate
	// members are sorted by cluster.
	members []*member
	// counted is the largest known number of members since the rollout began. uncounted is true if that number was lost.
	counted   int
	uncounted bool
	// leaving are the works that name the placementRef although it does not own their clusters. Some of them are members.
	leaving []*work.Work
	// returning is the number of unselected clusters that this plan returns to the update revision. Each takes a slot, as it will in later
	// plans.
	returning int
	// limit is the reason why members that are not next wait.
	limit Wait
}

// newStrategyState returns the strategy and the decision groups of a placementRef, without its members.
func newStrategyState(s *Snapshot, index int) *placementState {
	ref := &s.Refs[index]
	ps := &placementState{ref: ref}
	ps.strategy, ps.err = placement.ParseStrategy(ref.Field, &ref.Strategy)
	if ref.Placement != nil {
		ps.groups = slices.Clone(ref.Placement.Groups)
	}
	return ps
}

// newPlacementState gathers the members of a placementRef, and computes the phase of each.
func newPlacementState(s *Snapshot, index int, sel *selection) *placementState {
	ps := newUnjudged(s, index, sel)
	for _, m := range ps.members {
		ps.computePhase(s, m)
	}
	ps.openRings(s)
	ps.counted, ps.uncounted = max(ps.size(), s.Records.Counted[ps.ref.Name]), s.Records.Uncounted
	return ps
}

// newUnjudged returns a placementRef with its members and the gates of their groups, without phases.
func newUnjudged(s *Snapshot, index int, sel *selection) *placementState {
	ps := newStrategyState(s, index)
	ps.selection, ps.leaving, ps.limit = sel, sel.leaving[index], WaitTurn
	owned := sel.membersOf(index)
	ps.members = make([]*member, 0, len(owned)+len(ps.leaving))
	for i := range owned {
		ps.members = append(ps.members, &owned[i])
	}
	ps.addLeaving(s)
	ps.orderGroups()
	slices.SortFunc(ps.members, func(a, b *member) int { return strings.Compare(a.cluster, b.cluster) })
	gates, err := ps.gatesOf(s)
	ps.gates, ps.err = gates, cmp.Or(ps.err, err)
	return ps
}

// addLeft adds a member for a work that still counts for the placementRef.
func (ps *placementState) addLeft(s *Snapshot, w *work.Work) {
	away, _ := s.away(w.Cluster())
	away = away && !w.Deleting() && ps.selection.find(w.Cluster()) == nil
	ps.members = append(ps.members, &member{phase: waiting, cluster: w.Cluster(), group: ps.groupOf(w), work: w, away: away})
}

func (ps *placementState) mandatory(group int) bool { return ps.isMandatory[group] }

func (ps *placementState) any(holds func(*member) bool) bool {
	return slices.ContainsFunc(ps.members, holds)
}

func (ps *placementState) names(holds func(*member) bool) []string {
	var clusters []string
	for _, m := range ps.members {
		if holds(m) {
			clusters = append(clusters, m.cluster)
		}
	}
	return clusters
}

// addLeaving adds members for works that still count for the placementRef. A work that has the update revision, or whose cluster failed
// with it, always counts. Any other work counts only if nothing else is left of a group that other groups wait for. Such a group is not
// empty: otherwise, the next revision would go to production first when the canary leaves. In all other cases, the work does not count,
// because a lost cluster would hold up every rollout. For the same reason, a cluster that is away does not keep a group waiting.
func (ps *placementState) addLeaving(s *Snapshot) {
	if len(ps.leaving) == 0 {
		return
	}
	var older []*work.Work
	for _, work := range ps.leaving {
		if work.At(s.Update) || s.hasFailed(work.Cluster()) {
			ps.addLeft(s, work)
		} else if _, known := work.DecisionGroup(); known {
			if away, _ := s.away(work.Cluster()); work.Deleting() || !away {
				older = append(older, work)
			}
		}
	}
	filled := make(map[string]bool, len(ps.groups))
	for _, m := range ps.members {
		filled[ps.groups[m.group].Key()] = true
	}
	for _, work := range older {
		if _, group := ps.findGroup(work); ps.hasTurn(&group) && !filled[group.Key()] {
			ps.addLeft(s, work)
		}
	}
}

// hasTurn reports whether other groups wait for a group.
func (ps *placementState) hasTurn(group *placement.Group) bool {
	return ps.err == nil &&
		(ps.perGroup() || ps.strategy.IsMandatory(group) || ps.strategy.RingOf(group) < len(ps.strategy.Rings))
}

// findGroup returns the group that a work's cluster belonged to when the work was written. It looks for the index and the name, then for
// the name alone. If that group no longer exists, findGroup returns a new one with the index -1.
func (ps *placementState) findGroup(work *work.Work) (int, placement.Group) {
	wanted, known := work.DecisionGroup()
	if !known {
		wanted = placement.Group{Index: -1}
	}
	found := slices.IndexFunc(ps.groups, func(group placement.Group) bool { return group.Index == wanted.Index && group.Name == wanted.Name })
	if found < 0 && wanted.Name != "" {
		found = slices.IndexFunc(ps.groups, func(group placement.Group) bool { return group.Name == wanted.Name })
	}
	if found >= 0 {
		wanted = ps.groups[found]
	}
	return found, wanted
}

// groupOf returns the index of that group in groups, and adds the group if necessary.
func (ps *placementState) groupOf(work *work.Work) int {
	index, group := ps.findGroup(work)
	if index < 0 {
		index = len(ps.groups)
		ps.groups = append(ps.groups, group)
	}
	return index
}

// orderGroups puts the groups in the order of their indices. A group without selected clusters keeps its turn, and comes before a group
// with the same index: OCM numbers only groups that have clusters, so the next group takes over the index of an empty group.
func (ps *placementState) orderGroups() {
	order := make([]int, len(ps.groups))
	for g := range order {
		order[g] = g
	}
	filled := func(g int) int { return min(len(ps.groups[g].Clusters), 1) }
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ps.groups[a].Index, ps.groups[b].Index), cmp.Compare(filled(a), filled(b)))
	})
	groups, position := make([]placement.Group, len(order)), make([]int, len(order))
	ps.isMandatory, ps.ringOf = make([]bool, len(order)), make([]int, len(order))
	for now, before := range order {
		groups[now], position[before] = ps.groups[before], now
		ps.isMandatory[now], ps.ringOf[now] = ps.strategy.IsMandatory(&groups[now]), ps.strategy.RingOf(&groups[now])
	}
	ps.groups = groups
	for _, m := range ps.members {
		m.group = position[m.group]
	}
}
