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
	// undecided are clusters that nothing selects any more, whose deadline is still to come, and that would fail the ref (R13).
	undecided []string
}

// judge counts over all clusters for All and Progressive, and over each decision group for ProgressivePerGroup. A
// mandatory group tolerates no failure (R11). A strategy that can't be read fails nothing, and starts nothing.
func (f *fleet) judge() verdict {
	if f.err != nil {
		return verdict{halted: true}
	}
	failed := make([]int, len(f.groups))
	broken := make([]int, len(f.groups))
	others := make([]int, len(f.groups))
	refused := make([]int, len(f.groups))
	open := make([]int, len(f.groups))
	var undecided []string
	sizes := make([]int, len(f.groups))
	for i := range f.members {
		m := &f.members[i]
		sizes[m.group]++
		if m.refused() {
			refused[m.group]++
		}
		switch m.phase {
		case PhaseFailed:
			failed[m.group]++
			broken[m.group]++
		case PhaseDegraded, PhaseUnheard, PhaseStuck, PhaseRefused:
			broken[m.group]++
		}
		if !m.owned && m.mayFail() {
			open[m.group]++
			undecided = append(undecided, m.cluster)
		}
	}
	for g := range others {
		others[g] = broken[g] - refused[g]
	}
	v := verdict{failed: f.exceeds(failed, sizes), halted: f.exceeds(broken, sizes), closed: f.exceeds(others, sizes)}
	for g := range open {
		open[g] += failed[g]
	}
	if f.strategy.abortAll && f.exceeds(open, sizes) {
		v.undecided = undecided
	}
	return v
}

// mayFail says that a deadline will decide on a cluster.
func (m *member) mayFail() bool {
	return (m.phase == PhaseInFlight || m.phase == PhaseDegraded) && !m.next.IsZero()
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
