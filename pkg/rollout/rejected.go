package rollout

import (
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Rejection is the API server's rejection of the writes of a cluster's work, until a user removes the cause.
type Rejection struct {
	// Since is the time at which the API server first rejected a write.
	Since time.Time
	// TriedAt is the time at which this process last tried the write; zero if it did not.
	TriedAt time.Time
	// Message is the message from the API server.
	Message string
	// Unanswered is true if the API server did not reject the writes: during an abort, writes that have failed in another way for long count
	// as rejected.
	Unanswered bool
}

// rejectionOf returns the rejection of a cluster's work, as known to this process or recorded in the ledger.
func (s *Snapshot) rejectionOf(cluster string) (Rejection, bool) {
	rejection, known := s.Rejected[cluster]
	record, recorded := s.Records.Rejections[cluster]
	if !recorded {
		record, recorded = s.Records.Failures[cluster]
		recorded = recorded && record.Reason == workv1alpha1.FailureRejected
	}
	switch {
	case recorded && known:
		rejection.Since = work.Earlier(rejection.Since, record.Since)
	case recorded:
		rejection = Rejection{Since: record.Since, Message: record.Message}
	}
	if !s.Now.Before(s.RetriedUntil) { // A retry gives it a new deadline.
		rejection.Since = work.Later(rejection.Since, s.RetriedUntil)
	}
	if s.stillRejected {
		rejection.TriedAt = s.Now
	}
	return rejection, known || recorded
}

// rejectedPhase puts a member in flight if the API server rejects its work. The member fails only when a try after the deadline was
// rejected as well: an abort must not be based on an outdated answer. While the rollout is aborted, phases are about a revision that is no
// longer written.
func (ps *placementState) rejectedPhase(s *Snapshot, m *member) {
	found, known := s.rejectionOf(m.cluster)
	if !known || !m.owned || s.Aborted {
		return
	}
	rejection := found // Only an existing rejection goes to the heap.
	m.rejection, m.since, m.reason = &rejection, rejection.Since, workv1alpha1.FailureRejected
	m.phase, m.next = ps.until(s, m, inFlight, failed)
	if m.phase == failed && rejection.TriedAt.Before(ps.dueAt(s, m.cluster, rejection.Since)) {
		m.phase, m.lastTry = inFlight, true
	}
}

// describeRejected returns the names of the failed clusters whose works the API server rejects, with the message for the first of them.
func (ps *placementState) describeRejected() string {
	isRejected := func(m *member) bool { return m.failed() && m.rejection != nil }
	for _, m := range ps.members {
		if isRejected(m) {
			return fmt.Sprintf(" (the API server rejects the ManifestWorks of %s: %s)", Names(ps.names(isRejected)), m.rejection.Message)
		}
	}
	return ""
}

// rejectedRestorations returns the rejections of the works that an abort restores. A recorded rejection lasts until its work is restored:
// a process that has just started does not know it.
func (p *Plan) rejectedRestorations(s *Snapshot) map[string]Failure {
	found := map[string]Failure{}
	for i := range p.Writes {
		w := &p.Writes[i]
		rejection, known := s.Rejected[w.Cluster]
		if _, recorded := s.Records.Unrestored[w.Cluster]; recorded || known && !rejection.Unanswered {
			found[w.Cluster] = rejectionRecord(s.Records.Unrestored, w.Cluster, w.Placement, rejection.Since, rejection.Message)
		}
	}
	return bounded(found, s.Records.Unrestored)
}
