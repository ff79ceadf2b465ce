package rollout

import clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

// nextBatch returns which of the candidates come next (R10). The mandatory groups come first. The rest follows when each of their
// clusters has succeeded, as if there were no mandatory groups.
func (f *fleet) nextBatch(candidate func(*member) bool) ([]*member, error) {
	if !f.any(candidate) {
		return nil, nil
	}
	if f.mandatoryOpen() || f.groupsUnknown() {
		return f.ask(question{candidate: candidate, include: f.mandatory, inOrder: true, allMandatory: true})
	}
	return f.nextRest(candidate)
}

// nextRest returns the next clusters of the groups that are not mandatory. The handler compares each state with each cluster. It gets
// only the states that matter: for Progressive the number of free slots is enough, for All there is none, and for a group that waits
// one cluster in flight is as good as a thousand.
func (f *fleet) nextRest(candidate func(*member) bool) ([]*member, error) {
	rest := func(group int) bool { return !f.mandatory(group) }
	switch f.strategy.kind {
	case clusterv1alpha1.ProgressivePerGroup:
		return f.ask(question{candidate: candidate, include: rest, inOrder: true})
	case clusterv1alpha1.Progressive:
		return f.fillBatch(candidate, rest)
	default:
		return f.ask(question{candidate: candidate, include: rest})
	}
}

// fillBatch returns the clusters for the free slots of a Progressive batch. Members that may be in flight already come first, and leave
// the others the slots that none of them could be in (P4).
func (f *fleet) fillBatch(candidate func(*member) bool, include func(group int) bool) ([]*member, error) {
	var next []*member
	free := f.freeSlots(include) - f.count(include, func(m *member) bool { return m.mayStart() && m.mayBeInFlight && !candidate(m) })
	for _, mayBeInFlight := range []bool{true, false} {
		some := func(m *member) bool { return candidate(m) && m.mayBeInFlight == mayBeInFlight }
		waiting := f.count(include, some)
		if free <= 0 || waiting == 0 {
			continue
		}
		asked, err := f.ask(question{candidate: some, include: include, free: free})
		if err != nil {
			return nil, err
		}
		next = append(next, asked...)
		free -= waiting
	}
	return next, nil
}

func (f *fleet) mandatory(group int) bool { return f.strategy.isMandatory(&f.groups[group]) }

// groupsUnknown reports whether a group may come first that no decision shows yet: PlacementDecisions are written one after the other.
func (f *fleet) groupsUnknown() bool {
	inOrder := f.strategy.kind == clusterv1alpha1.ProgressivePerGroup || f.strategy.mandatory.any()
	return inOrder && !f.ref.settled()
}

// freeSlots returns how many slots of the batch are free, over the groups for which include holds.
func (f *fleet) freeSlots(include func(group int) bool) int {
	total := f.count(include, func(*member) bool { return true })
	return f.strategy.batch(total) - f.count(include, func(m *member) bool { return m.takesSlot() || m.keepsSlot(f.ref.Name) })
}

// count counts the members for which a condition holds, over the groups for which include holds.
func (f *fleet) count(include func(group int) bool, holds func(*member) bool) int {
	n := 0
	for i := range f.members {
		if m := &f.members[i]; include(m.group) && holds(m) {
			n++
		}
	}
	return n
}

// takesSlot reports whether a member is on its way. A member that failed or whose work the API server rejects takes no slot.
func (m *member) takesSlot() bool {
	switch m.phase {
	case PhaseInFlight, PhaseSoaking, PhaseHandingOver, PhaseDegraded:
		return true
	}
	return m.retried
}

// mayStart reports whether a member waits and its ref may start it.
func (m *member) mayStart() bool { return m.phase == PhaseWaiting && !m.held }

// putBack reports whether a member has failed and somebody edited or deleted its work since: it gets the update revision again, and still
// counts as failed (R11). That starts no further cluster: neither a halt nor the order of groups prevents it.
func (m *member) putBack() bool { return m.phase == PhaseFailed && m.behind && !m.held && !m.refused() }

// tolerable reports whether a member has failed, and nothing is to be written to it: the rollout can complete without it (R13).
func (m *member) tolerable() bool {
	return m.phase == PhaseStuck || m.phase == PhaseFailed && (!m.behind || m.refused())
}

func (f *fleet) any(holds func(*member) bool) bool {
	for i := range f.members {
		if holds(&f.members[i]) {
			return true
		}
	}
	return false
}

// mandatoryOpen reports whether a cluster of a mandatory group has not succeeded. Until all of them have, no other group starts.
func (f *fleet) mandatoryOpen() bool {
	for i := range f.members {
		m := &f.members[i]
		if f.mandatory(m.group) && m.phase != PhaseSucceeded && m.phase != PhaseCompleted {
			return true
		}
	}
	return false
}
