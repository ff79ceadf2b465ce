package rollout

import clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

// verdict is what the failed and the degraded clusters of a ref mean for it.
type verdict struct {
	// failed says that more clusters failed than the strategy tolerates (R11).
	failed bool
	// halted says that they are more than that together with those that are degraded, unheard, stuck or refused: nothing new is started (R10,
	// R11).
	halted bool
	// closed says that they are more than that without those whose works the API server refuses: nothing is tried again either.
	closed bool
}

// judge counts over all clusters for All and Progressive, and over each decision group for ProgressivePerGroup. A
// mandatory group tolerates no failure (R11). A strategy that can't be read fails nothing, and starts nothing.
func (f *fleet) judge() verdict {
	if f.err != nil {
		return verdict{halted: true}
	}
	failed := f.countByGroup(func(m *member) bool { return m.phase == PhaseFailed })
	broken := f.countByGroup((*member).broken)
	others := f.countByGroup(func(m *member) bool { return m.broken() && !m.refused() })
	sizes := f.countByGroup(func(*member) bool { return true })
	return verdict{failed: f.exceeds(failed, sizes), halted: f.exceeds(broken, sizes), closed: f.exceeds(others, sizes)}
}

// undecided returns the clusters that nothing selects any more, whose deadline is still to come, and that are too many for the ref together
// with those that failed: the new revision may be what cut them off. They hold up completion until their deadlines (R13).
func (f *fleet) undecided() []string {
	mayFail := func(m *member) bool {
		return !m.owned && (m.phase == PhaseInFlight || m.phase == PhaseDegraded) && !m.next.IsZero()
	}
	either := f.countByGroup(func(m *member) bool { return m.phase == PhaseFailed || mayFail(m) })
	sizes := f.countByGroup(func(*member) bool { return true })
	if f.err != nil || !f.strategy.abortAll || !f.exceeds(either, sizes) {
		return nil
	}
	var clusters []string
	for i := range f.members {
		if m := &f.members[i]; mayFail(m) {
			clusters = append(clusters, m.cluster)
		}
	}
	return clusters
}

// countByGroup counts the members of each group for which a condition holds.
func (f *fleet) countByGroup(holds func(*member) bool) []int {
	counts := make([]int, len(f.groups))
	for i := range f.members {
		if m := &f.members[i]; holds(m) {
			counts[m.group]++
		}
	}
	return counts
}

// broken reports whether a member counts for what halts its ref.
func (m *member) broken() bool {
	switch m.phase {
	case PhaseFailed, PhaseDegraded, PhaseUnheard, PhaseStuck, PhaseRefused:
		return !m.uncounted
	}
	return false
}

func (f *fleet) exceeds(counts, sizes []int) bool {
	perGroup := f.strategy.kind == clusterv1alpha1.ProgressivePerGroup
	total, size := 0, 0
	for g := range counts {
		total += counts[g]
		size += sizes[g]
		switch {
		case f.strategy.isMandatory(&f.groups[g]):
			if counts[g] > 0 {
				return true
			}
		case perGroup:
			if counts[g] > f.strategy.failuresAllowed(sizes[g]) {
				return true
			}
		}
	}
	return !perGroup && total > f.strategy.failuresAllowed(size)
}
