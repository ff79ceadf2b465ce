package rollout

import (
	"time"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
)

// handingOver reports whether a member whose success counts has to be trimmed first (R31). One whose work goes away is not trimmed any more.
func (m *member) handingOver() bool {
	return m.phase == PhaseSucceeded && m.owned && !m.work.Deleting() && m.work.InHandover()
}

// placeHandingOver gives a member that has to be trimmed a phase of its own, or the one of a refused write.
func (f *fleet) placeHandingOver(s *Snapshot, m *member) {
	if !m.handingOver() {
		return
	}
	m.phase = PhaseHandingOver
	f.placeRefused(s, m)
}

// trim writes the exact revision to the clusters that are handing over. They keep their slots. Where too many clusters have failed, nothing is
// trimmed: an abort may need what is kept (R31).
func (p *Plan) trim(s *Snapshot, f *fleet, outcome *RefOutcome) {
	if f.err != nil || outcome.Halted && !s.returns() {
		return
	}
	free := f.trimSlots()
	for i := range f.members {
		m := &f.members[i]
		if m.phase != PhaseHandingOver || m.held {
			continue
		}
		if !f.mandatory(m.group) {
			if free--; free < 0 {
				continue
			}
		}
		p.write(s, f, m, s.Update, trimmed)
	}
}

// trimSlots is how many clusters outside of mandatory groups may be trimmed at a time. More than a batch hand over only after an abort, which
// wrote to all of them at once: one that is trimmed is in flight again (P4).
func (f *fleet) trimSlots() int {
	if f.strategy.kind != clusterv1alpha1.Progressive {
		return len(f.members)
	}
	rest := func(group int) bool { return !f.mandatory(group) }
	return f.freeSlots(rest) + f.count(rest, func(m *member) bool { return m.phase == PhaseHandingOver })
}

// trimmed is why a work is trimmed.
const trimmed = "it is available, the objects that were kept go"

// trims reports whether a work is to be trimmed in an abort: each cluster alone, once the revision that it went back to is settled there (R32).
func (p *Plan) trims(s *Snapshot, w *Work) bool {
	if !s.Handover.keeps() || !w.InHandover() || Assess(w, s.Current, s.Now).State != Succeeded {
		return false
	}
	phase, ripe := settle(s, w, time.Time{})
	p.recheckAt(s.Now, ripe)
	return phase == PhaseSucceeded
}

// goesBack reports whether an abort writes a work, which may not exist: it is not at the revision to go back to, or is to be trimmed there.
func (p *Plan) goesBack(s *Snapshot, w *Work) bool { return !w.at(s.Current) || p.trims(s, w) }

// whyBack is why an abort writes a work.
func (s *Snapshot) whyBack(w *Work) string {
	if w.at(s.Current) {
		return trimmed
	}
	return "aborted"
}
