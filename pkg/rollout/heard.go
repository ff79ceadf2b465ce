package rollout

import "time"

const (
	// unheardRecheck is how often a pass looks again whether an agent was heard whose time is over.
	unheardRecheck = time.Minute
	// unheardNamedAfter is how long an agent may be silent before its cluster is named: agents that are connected answer within seconds.
	unheardNamedAfter = 30 * time.Second
)

// heard reports whether this process has heard the agent of a cluster, and since when. Works that go through the API server are heard
// there from the beginning.
func (s *Snapshot) heard(cluster string) (since time.Time, heard bool) {
	if s.Heard == nil {
		return time.Time{}, true
	}
	since, heard = s.Heard[cluster]
	return since, heard
}

// deadlinesSince is from when on the agent of a cluster has time to report, before a deadline fires (R11).
func (s *Snapshot) deadlinesSince(cluster string) time.Time {
	since, _ := s.heard(cluster)
	if since.After(s.Now) {
		return s.DeadlinesSince // The clock was set back since, and that began a time of its own.
	}
	return later(s.DeadlinesSince, since)
}

// unfailed takes a failure back whose agent this process has not heard: what the agent has reported before may have been a success, which
// a broker does not keep (R11). Such a cluster is not in flight for ever either, so it gives its slot back. That
// the API server refuses a work, no agent has to say.
func (m *member) unfailed(s *Snapshot) {
	if _, heard := s.heard(m.cluster); !heard && m.phase == PhaseFailed && !m.refused() {
		m.phase, m.next = PhaseUnheard, s.Now.Add(unheardRecheck)
	}
}

// unknown reports whether a member may have been in flight before this process began: it has no work, and its agent was not heard. It
// takes a slot until that is known (P4).
func (m *member) unknown(s *Snapshot) bool {
	_, heard := s.heard(m.cluster)
	return m.work == nil && !heard
}

// nameUnheard names a selected cluster that does not answer what this process wrote.
func (p *Plan) nameUnheard(s *Snapshot, m *member) {
	if _, heard := s.heard(m.cluster); heard || m.work == nil || m.work.Deleting() {
		return
	}
	if at := m.work.writtenAt().Add(unheardNamedAfter); m.phase != PhaseUnheard && s.Now.Before(at) {
		p.recheckAt(s.Now, at)
		return
	}
	p.Unheard = append(p.Unheard, m.cluster)
	// That its agent is heard changes no work, if it says what is known already: nothing else would lead to a pass (P7).
	p.recheckAt(s.Now, s.Now.Add(unheardRecheck))
}
