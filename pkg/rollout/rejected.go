package rollout

import (
	"cmp"
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Rejection is the API server's rejection of the writes of a cluster's work, until somebody removes the cause (R11).
type Rejection struct {
	// Since is when it first rejected a write.
	Since time.Time
	// TriedAt is when this process last tried the write; zero if it did not.
	TriedAt time.Time
	// Message is the message of the API server.
	Message string
}

const (
	// triesWithinDeadline is how often a rejected write is tried within progressDeadline: five times, plus one to spare.
	triesWithinDeadline = 6
	// retriedWithin and retriedAfter bound the time between two tries.
	retriedWithin = time.Minute
	retriedAfter  = time.Second
)

// rejectionOf returns the rejection of a cluster's work, as known to this process or recorded in the status.
func (s *Snapshot) rejectionOf(cluster string) (Rejection, bool) {
	rejection, known := s.Rejected[cluster]
	record, recorded := s.Records.Rejections[cluster]
	if !recorded {
		record, recorded = s.Records.Failures[cluster]
		recorded = recorded && record.Reason == workv1alpha1.FailureRejected
	}
	switch {
	case !recorded:
		return rejection, known
	case !known:
		return Rejection{Since: record.Since, Message: record.Message}, true
	}
	rejection.Since = work.Earlier(rejection.Since, record.Since)
	return rejection, true
}

// rejectedPhase gives a member a phase of its own if the API server rejects its work. It fails only when a try after the deadline was
// rejected as well: an abort must not rest on an outdated answer. While aborted, phases are about a revision that is no longer written.
func (ps *placementState) rejectedPhase(s *Snapshot, m *member) {
	found, known := s.rejectionOf(m.cluster)
	if !known || !m.owned || s.Aborted {
		return
	}
	rejection := found // Only what is found goes to the heap.
	m.rejection, m.since, m.reason = &rejection, rejection.Since, workv1alpha1.FailureRejected
	due := ps.dueAt(cmp.Or(s.actual, s), m.cluster, rejection.Since)
	m.phase, m.next = failedRejected, time.Time{}
	if due.IsZero() || s.Now.Before(due) || rejection.TriedAt.Before(due) || ps.selection.anyUnknown {
		m.phase, m.next = rejected, due
	}
	m.retryAt = ps.retryAt(s, &rejection, due)
}

// retryAt returns when a rejected write is to be tried again: several times within the deadline, once more when that has passed, and once
// per minute after that.
func (ps *placementState) retryAt(s *Snapshot, rejection *Rejection, due time.Time) time.Time {
	switch tried := rejection.TriedAt; {
	case tried.IsZero():
		return s.Now
	case !tried.Before(due):
		return tried.Add(retriedWithin)
	default:
		return work.Earlier(due, tried.Add(ps.retriedWithin(tried, due)))
	}
}

// retriedWithin returns the longest time between two tries of a rejected write, for the first of them at a given time.
func (ps *placementState) retriedWithin(at, due time.Time) time.Duration {
	if !at.Before(due) {
		return retriedWithin
	}
	return min(max(ps.strategy.Deadline/triesWithinDeadline, retriedAfter), retriedWithin)
}

// noteRejected notes the clusters whose works the API server rejects, and when each is tried again. halted is true if other failures
// halt the retries.
func (p *Plan) noteRejected(s *Snapshot, ps *placementState, halted bool) {
	for _, m := range ps.members {
		if m.rejection != nil {
			p.Rejected = append(p.Rejected, m.cluster)
			p.RetriesHalted = p.RetriesHalted || halted
			if m.retryAt.After(s.Now) {
				p.recheckAt(s.Now, m.retryAt)
			}
		}
	}
}

// describeRejected names the failed clusters whose works the API server rejects, with the message for the first of them.
func (ps *placementState) describeRejected() string {
	isRejected := func(m *member) bool { return m.phase == failedRejected }
	for _, m := range ps.members {
		if isRejected(m) {
			return fmt.Sprintf(" (the API server rejects the ManifestWorks of %s: %s)", Names(ps.names(isRejected)), m.rejection.Message)
		}
	}
	return ""
}
