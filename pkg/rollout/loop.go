package rollout

import "time"

// failLoop fails a member that gets well and sick by turns: each turn begins a new time, so that the deadline never fires and no success
// settles. It has failed when it has not settled within twice the deadline and the soak together since the hub wrote the revision (R11).
// Once it has settled it may relapse like any other. What a process did not watch it does not hold against a cluster: one that was
// started meanwhile doesn't know whether it had settled before.
func (f *fleet) failLoop(s *Snapshot, m *member) {
	deadline := f.strategy.deadline
	limit := deadline + f.strategy.minSuccessTime
	if f.err != nil || deadline == noDeadline || limit < deadline || !m.unsettled(s.Update) {
		return
	}
	begin := later(later(m.work.begin(s.Update), m.work.WatchedSince), m.retriedAt(s))
	due := begin.Add(limit).Add(limit)
	if m.phase == PhaseFailed {
		// What fired first is why, also when the other has come: what is said of it stays the same (P7).
		m.looping = due.Before(m.since.Add(deadline))
		return
	}
	due = later(due, s.graceEnds(m.cluster, min(deadline, maxGrace)))
	if s.Now.Before(due) {
		if m.next.IsZero() || due.Before(m.next) {
			m.next = due
		}
		return
	}
	if m.phase != PhaseSoaking {
		m.next = time.Time{}
	} else if since := m.work.SucceededSince; !since.IsZero() && !s.Now.Before(since.Add(f.strategy.minSuccessTime)) {
		return // It has been well for long enough, as far as this process saw. That it counts is a matter of moments.
	}
	m.phase, m.looping = PhaseFailed, true
}

// unsettled reports whether a member is on its way or has failed, and was never found settled in this rollout. One that is handing over has
// settled.
func (m *member) unsettled(update *Revision) bool {
	return m.phase != PhaseHandingOver && (m.takesSlot() || m.phase == PhaseFailed) && !m.work.settled(update)
}

// settled says that this process has found a success of this rollout settled.
func (w *Work) settled(update *Revision) bool {
	return w.SettledAt.After(w.begin(update))
}

// begin is when this rollout reached the work: when the hub wrote it, or when it had it already and a new rollout of it began.
func (w *Work) begin(rev *Revision) time.Time {
	return later(w.writtenAt(), rev.begins())
}

// writtenAt is when the hub wrote the revision that the work has. The hub wrote it before this process saw that: an agent that dates it
// later, or a hub whose clock was ahead, gains no time by it (R10).
func (w *Work) writtenAt() time.Time {
	appliedAt, _ := w.AppliedAt()
	if w.WatchedSince.IsZero() {
		return appliedAt
	}
	return earlier(appliedAt, w.WatchedSince)
}

// begins is BeginsAt as far as times are counted from it: a hub whose clock was ahead must not hold the rollout until its time has come
// (R10).
func (r *Revision) begins() time.Time {
	if r.BeginSeen.IsZero() {
		return r.BeginsAt
	}
	return earlier(r.BeginsAt, r.BeginSeen)
}
