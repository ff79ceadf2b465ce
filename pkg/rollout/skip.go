package rollout

import (
	"time"
)

// The effects of unavailableClusters: Skip (R45):
//
//  1. A selected cluster that is unavailable, or has been available again for less than a minute, is skipped unless its work has the
//     update revision. It is then in the phase PhaseSkipped.
//  2. A skipped cluster takes no slot, keeps no turn, is not awaited, and does not fail (phase.go). It is not part of the total to which
//     maxConcurrency, maxFailures and completion apply (countsAtAll).
//  3. A cluster that has the update revision, or may have received it in a write without an answer, is not skipped: the revision may have
//     disconnected it. A cluster with a recorded failure or degradation is not skipped either.
//  4. An abort, and a template that returns to the current revision, write to a skipped cluster as usual.

// skips reports whether a placementRef skips a member, and sets the phase of such a member.
func (ps *placementState) skips(s *Snapshot, m *member) bool {
	if !ps.strategy.Skip || s.Heard != nil || !s.mayPassOver(m) {
		return false
	}
	unavailable, until := s.unavailable(m.cluster)
	if unavailable {
		m.phase, m.next = skipped, until
	}
	return unavailable
}

// mayPassOver reports whether a rollout may continue without a member, because nothing is known to have begun on it.
func (s *Snapshot) mayPassOver(m *member) bool {
	_, sick := s.Records.Degraded[m.cluster]
	if s.returns() && m.work.HasOther(s.Update) {
		return false // It has left the revision to which the template has returned.
	}
	return !s.Aborted && m.owned && !m.atUpdate && !sick && !s.hasFailed(m.cluster) && !s.Unanswered[m.cluster]
}

// unavailable reports whether a cluster is unavailable, or was within availableFor. until is the time at which that state ends by itself;
// zero if it does not. Unlike in away, a cluster that this process never saw unavailable counts as available at once.
func (s *Snapshot) unavailable(cluster string) (unavailable bool, until time.Time) {
	known, exists := s.Clusters[cluster]
	switch {
	case !exists, known.Available && known.UnavailableSince.IsZero():
		return false, time.Time{}
	case !known.Available:
		return true, time.Time{}
	}
	until = known.AvailableSince.Add(availableFor)
	return s.Now.Before(until), until
}

// countsAtAll reports whether limits apply to a member.
func (m *member) countsAtAll() bool { return m.phase != skipped && m.phase != held }

func (ps *placementState) size() int { return ps.count((*member).countsAtAll) }
