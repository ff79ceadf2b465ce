package rollout

// Phases returns the phase of each selected cluster.
func (p *Plan) Phases() map[string]Phase {
	phases := make(map[string]Phase, len(p.selection.members))
	for i := range p.selection.members {
		phases[p.selection.members[i].cluster] = p.selection.members[i].phase.name
	}
	return phases
}
