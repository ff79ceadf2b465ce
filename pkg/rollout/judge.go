package rollout

import "slices"

// judgeRollout reports whether the rollout is over: complete (R13), or stalled (R14).
func (p *Plan) judgeRollout() {
	p.Behind = p.Counts[PhaseWaiting]
	selected := p.Selected()
	p.Complete = selected > 0 && p.decisionsKnown() && p.Counts[PhaseSucceeded] == selected && p.decided()
	p.Stalled = !p.Complete && !p.RollsOut() && p.awaited() == 0 && !p.startable() && len(p.Failing) > 0
}

// decided says that no cluster which is on its way out could still lead to an abort.
func (p *Plan) decided() bool {
	return !slices.ContainsFunc(p.Refs, func(ref RefOutcome) bool { return len(ref.Undecided) > 0 })
}

// awaited reports whether an outcome is still to come: a degraded cluster has its own but for a deadline that will decide on
// it, without one nothing will (R14).
func (m *member) awaited() bool {
	switch m.phase {
	case PhaseInFlight, PhaseSoaking:
		return true
	case PhaseDegraded:
		return !m.next.IsZero()
	}
	return false
}

// awaited counts the clusters whose outcome is to come, those that nothing selects any more among them.
func (p *Plan) awaited() int {
	n := 0
	for i := range p.Refs {
		n += p.Refs[i].awaited + len(p.Refs[i].Leaving)
	}
	return n
}
