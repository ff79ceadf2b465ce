package rollout

import "slices"

// judgeRollout reports whether the rollout is over: complete (R13), or stalled (R14).
func (p *Plan) judgeRollout() {
	p.Behind = p.Counts[PhaseWaiting]
	selected := p.Selected()
	succeeded := p.Counts[PhaseSucceeded]
	p.Complete = succeeded > 0 && p.decisionsKnown() && succeeded+p.tolerated == selected && p.tolerable() && p.decided()
	p.Stalled = !p.Complete && !p.RollsOut() && p.awaited() == 0 && !p.startable() && len(p.Failing) > 0
}

// RolledOut reports whether every selected cluster has the update revision, except those whose failure is tolerated (R13).
func (p *Plan) RolledOut() bool {
	updated := p.Updated()
	return updated > 0 && updated+p.tolerated == p.Selected() && p.tolerable()
}

// Tolerated is how many selected clusters have failed without keeping the rollout from being complete (R13).
func (p *Plan) Tolerated() int {
	if !p.tolerable() {
		return 0
	}
	return p.tolerated
}

// tolerable reports whether no ref has more failures than it tolerates. Without a failure none has.
func (p *Plan) tolerable() bool {
	return p.tolerated == 0 || !slices.ContainsFunc(p.Refs, func(ref RefOutcome) bool { return ref.Halted })
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
