package rollout

import (
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// What a pause holds back (R22):
//
//  1. The plan is made as without a pause.
//  2. Its abort, its writes and its deletes move to Held. Its findings stay.
//  3. An abort is held back without writes and deletes, as it would be decided without them.
//  4. What is held back is never carried out: after the pause, a new plan decides.

// Held is what a plan would do if its owner were not paused.
type Held struct {
	// Abort is set if the rollout would be aborted. Then Writes and Deletes are empty.
	Abort *Abort
	// Writes and Deletes are those of the plan, in the same order.
	Writes  []Write
	Deletes []Delete
}

// hold holds back everything that the plan would do. Over a broker, the next clusters change when an agent without a work is heard. During
// a pause nothing is written to such a cluster, so no event leads to a pass. Therefore the pass is repeated after a while (P7).
func (p *Plan) hold(s *Snapshot, states []*placementState) {
	for _, ps := range states {
		if ps.any(func(m *member) bool { return m.work == nil && m.mayBeInFlight(s) }) {
			p.recheckAt(s.Now, s.Now.Add(unknownRecheck))
		}
	}
	p.Held = &Held{Abort: p.Abort, Writes: p.Writes, Deletes: p.Deletes}
	p.Abort, p.Writes, p.Deletes = nil, nil, nil
}

// holdAbort holds back an abort. A pass that persists an abort ends there. A paused pass continues and reports the rollout, so the plan
// must also hold when phases change.
func (p *Plan) holdAbort(s *Snapshot, states []*placementState) {
	for _, ps := range states {
		p.recheck(s, ps)
	}
	p.Behind = p.Counts[PhaseWaiting]
	p.hold(s, states)
}

// AbortDue returns the abort of a failed rollout, even if a pause holds it back; nil for none.
func (p *Plan) AbortDue() *Abort {
	if p.Held != nil {
		return p.Held.Abort
	}
	return p.Abort
}

// allWrites returns the plan's writes, including those that a pause holds back.
func (p *Plan) allWrites() []Write {
	if p.Held != nil {
		return p.Held.Writes
	}
	return p.Writes
}

// Revisions returns the revisions that the plan writes, or would write without a pause. The works in the cache may not have them yet.
func (p *Plan) Revisions() []*work.Revision {
	var written []*work.Revision
	for _, w := range p.allWrites() {
		if w.Revision != nil && !slices.ContainsFunc(written, func(known *work.Revision) bool { return known.Hash == w.Revision.Hash }) {
			written = append(written, w.Revision)
		}
	}
	return written
}
