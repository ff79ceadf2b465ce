package rollout

import "slices"

// Held is what a plan would do if its owner were not paused (R22). Nobody carries it out: what is due after the pause is decided then (R24).
type Held struct {
	// Abort is set where the rollout would be aborted. Then Writes and Deletes are empty.
	Abort *Abort
	// Writes and Deletes are those of the plan, in the same order.
	Writes  []Write
	Deletes []Delete
}

// hold holds back all that the plan would do. What the plan found stays as it is. Over a broker, which clusters come next changes when an agent
// without a work is heard. Nothing is written to such a cluster during a pause, and no event leads to a pass: the pass is repeated after a while (P7).
func (p *Plan) hold(s *Snapshot, fleets []*fleet) {
	for _, f := range fleets {
		if f.any(func(m *member) bool { return m.mayBeInFlight }) {
			p.recheckAt(s.Now, s.Now.Add(unheardRecheck))
		}
	}
	p.Held = &Held{Abort: p.Abort, Writes: p.Writes, Deletes: p.Deletes}
	p.Abort, p.Writes, p.Deletes = nil, nil, nil
}

// holdAbort holds back an abort, and nothing beside it: after the pause the abort would come first. A pass that persists an abort ends there. This
// one reports the rollout as it is, and needs to know when phases change and which writes the API server rejects (R24).
func (p *Plan) holdAbort(s *Snapshot, fleets []*fleet) {
	for _, f := range fleets {
		f.recheck(s, p)
		p.refusedClusters(s, f)
	}
	p.Behind = p.Counts[PhaseWaiting]
	p.hold(s, fleets)
}

// AbortDue is the abort of a failed rollout, also where a pause holds it back; nil for none.
func (p *Plan) AbortDue() *Abort {
	if p.Held != nil {
		return p.Held.Abort
	}
	return p.Abort
}

// allWrites are the plan's writes, those that a pause holds back among them.
func (p *Plan) allWrites() []Write {
	if p.Held != nil {
		return p.Held.Writes
	}
	return p.Writes
}

// Revisions are the revisions that the plan writes, or would write after a pause. Works in hand may not have them yet (R5, R6).
func (p *Plan) Revisions() []*Revision {
	var written []*Revision
	for _, w := range p.allWrites() {
		if w.Revision != nil && !slices.ContainsFunc(written, func(known *Revision) bool { return known.Hash == w.Revision.Hash }) {
			written = append(written, w.Revision)
		}
	}
	return written
}
