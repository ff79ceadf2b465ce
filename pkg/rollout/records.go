package rollout

import (
	"maps"
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The records of failures in the ledger, and how long they apply (R11):
//
//  1. A failure and a halt are recorded before the hub acts on them (records; Judge in package lifecycle).
//  2. A recorded failure gives its cluster the phase of a failure until the success of the cluster is settled, even after a restart, or an
//     edit or deletion of its work (applyRecord). The records end with the rollout of the update revision.
//  3. A user who removes a recorded failure retries the cluster: it gets a new deadline (retried, renewRetried). A user may also retry all
//     clusters that have failed by a given time (hadFailed).
//  4. While the selection of a Placement is unknown, its records stay (keep).
//  5. The largest number of clusters that a placementRef has had is recorded: a Placement that shrinks aborts nothing (counted).
//  6. A recorded halt holds for a while if the records cannot show its cause (haltHolds).

// Failure is the record of a cluster that failed at the update revision, or whose work the API server rejects.
type Failure struct {
	// Placement is the Placement that the cluster counts for.
	Placement string
	// Since is the time at which the cluster failed, or when its work was first rejected.
	Since time.Time
	// Reason is why it failed or was rejected.
	Reason workv1alpha1.FailureReason
	// Message is the message from the agent or the API server; empty if unknown.
	Message string
	// Gate is the type of the success gate that made it fail; empty if it failed for another reason, or if the failure is recorded.
	Gate string
}

// Records are the facts that the ledger holds about the rollout of the update revision.
type Records struct {
	// Failures are the clusters that failed, at most MaxFailures, by name.
	Failures map[string]Failure
	// Rejections are the clusters in flight whose works the API server rejects, at most MaxFailures, by name. Their deadlines run from the
	// recorded times.
	Rejections map[string]Failure
	// Unrestored are the clusters that the API server does not let an abort restore, at most MaxFailures, by name.
	Unrestored map[string]Failure
	// Degraded are the clusters that were degraded when their placementRef was halted, at most MaxFailures, by name. They are kept until the
	// clusters are healthy, so that the halt remains regardless of changes to their works.
	Degraded map[string]Failure
	// Passed are the clusters that became unavailable after their success, with their success gates, had settled, at most MaxFailures, by
	// name. Later changes of a gate do not fail them, even if another process decides.
	Passed map[string]Failure
	// Halted maps the name of the Placement of each halted placementRef to the time when the halt began.
	Halted map[string]time.Time
	// Counted is the largest number of clusters that have counted for each placementRef since the rollout began, by the name of its
	// Placement. A percentage in maxFailures applies to that number.
	Counted map[string]int
	// Baking maps each listed group, as "<Placement>/<group>", to when its bakeTime began.
	Baking map[string]time.Time
	// Lost is true if the records were lost: until deadlines fire again, the failures are unknown. Uncounted is true if Counted was lost:
	// then no percentage fails a placementRef in this rollout.
	Lost, Uncounted bool
}

// Adds reports whether r holds a fact that the other records lack.
func (r *Records) Adds(to *Records) bool {
	return lacks(to.Failures, r.Failures) || lacks(to.Halted, r.Halted)
}

func lacks[V any](known, wanted map[string]V) bool {
	for key := range wanted {
		if _, found := known[key]; !found {
			return true
		}
	}
	return false
}

// hasFailed reports whether the records show that a cluster failed with the update revision.
func (s *Snapshot) hasFailed(cluster string) bool {
	record, known := s.Records.Failures[cluster]
	return known && !s.Aborted && record.Reason != workv1alpha1.FailureTerminationTimedOut
}

// recordOf returns the recorded failure that applies to a member. A deletion that timed out counts while the work still exists. Any other
// failure counts for the placementRef that the work names, until the work is deleted.
func (ps *placementState) recordOf(s *Snapshot, m *member) (record Failure, holds bool) {
	if s.Aborted {
		return Failure{}, false
	}
	record, holds = s.Records.Failures[m.cluster]
	terminates := m.phase.waitsFor == WaitDeletion
	switch {
	case record.Reason == workv1alpha1.FailureTerminationTimedOut:
		return record, holds && terminates && m.work.Deleting()
	case record.Reason == workv1alpha1.FailureRejected && m.atUpdate && m.rejection == nil:
		return record, false // The API server has accepted the work since: the cluster is in flight.
	}
	return record, holds && (!m.owned || !terminates || m.work.PlacementName() == ps.ref.Name)
}

// applyRecord gives a member the phase of its recorded failure. A cluster that no placementRef selects, and that had succeeded, fails
// only by such a record.
func (ps *placementState) applyRecord(s *Snapshot, m *member) {
	if m.phase.settled || m.phase == completed {
		return
	}
	record, holds := ps.recordOf(s, m)
	if !holds {
		m.stayDegraded(s)
		if m.phase == failed && !m.owned && !m.neverSucceeded(s) {
			m.phase = overdueUnselected
		}
		return
	}
	if m.phase.mayStillFail {
		m.next = time.Time{} // Its deadline no longer applies.
	}
	found := record // Only an existing record goes to the heap.
	m.since, m.reason, m.record = record.Since, record.Reason, &found
	m.phase = m.failedPhase()
}

// stayDegraded gives a member the phase of a cluster that was degraded when its placementRef was halted, unless it is now healthy.
func (m *member) stayDegraded(s *Snapshot) {
	if _, recorded := s.Records.Degraded[m.cluster]; !recorded || s.Aborted {
		return
	}
	switch m.phase {
	case waiting:
		m.phase = degradedChanged
	case inFlight:
		m.phase = degraded
	}
}

// failedPhase returns the phase of a member with a recorded failure.
func (m *member) failedPhase() *phase {
	switch {
	case m.reason == workv1alpha1.FailureTerminationTimedOut:
		return terminationTimedOut
	case m.phase == waiting:
		return failedChanged
	}
	return failed
}

// failure returns the failure to record for a member; false if it has not failed. If a selection is unknown, a recorded failure keeps its
// Placement.
func (m *member) failure(s *Snapshot, placement string, unknown bool) (Failure, bool) {
	switch {
	case m.record != nil:
		failure := *m.record
		if m.owned && !unknown {
			failure.Placement = placement
		}
		return failure, true
	case !m.phase.fails && (!m.owned || m.phase != terminationTimedOut):
		return Failure{}, false
	}
	failure := Failure{Placement: placement, Since: s.Now, Reason: m.reason, Gate: m.gate}
	switch {
	case m.invalid:
		failure.Message = invalidName(placement)
	case m.rejection != nil:
		failure.Message = m.rejection.Message
	}
	return failure, true
}

// rejectionRecord returns the recorded rejection of a cluster, or else a new record. The status holds whole seconds: the time is rounded up,
// so that no deadline fires too early.
func rejectionRecord(recorded map[string]Failure, cluster, placement string, since time.Time, message string) Failure {
	if record, known := recorded[cluster]; known {
		return record
	}
	rounded := since.Truncate(time.Second)
	if rounded.Before(since) {
		rounded = rounded.Add(time.Second)
	}
	return Failure{Placement: placement, Since: rounded, Reason: workv1alpha1.FailureRejected, Message: message}
}

// degradedRecord returns the record of a degraded member; false if it is not degraded, or does not halt its placementRef.
func (m *member) degradedRecord(s *Snapshot, placement string, halted bool) (Failure, bool) {
	record, known := s.Records.Degraded[m.cluster]
	if !known {
		record = Failure{Placement: placement, Since: s.Now, Reason: workv1alpha1.FailureDegraded}
	}
	return record, m.phase.name == PhaseDegraded && (known || halted && m.counted())
}

// passedRecord returns the record of a member that is away, and whose success settled with the gates of its group; false if it has none.
func (m *member) passedRecord(s *Snapshot, ps *placementState) (Failure, bool) {
	if !m.away || !m.atUpdate || ps.gates == nil || !s.Gated {
		return Failure{}, false
	}
	record, known := s.Records.Passed[m.cluster]
	if !known {
		record = Failure{Placement: ps.ref.Name, Since: s.Now}
	}
	return record, known || m.work.Settled(s.Update)
}

// records returns the current facts. During an abort, the facts of the failed rollout are kept, and planRollback adds Unrestored.
func (p *Plan) records(s *Snapshot, states []*placementState) Records {
	if s.Aborted {
		return s.Records
	}
	found := Records{Failures: map[string]Failure{}, Rejections: map[string]Failure{}, Degraded: map[string]Failure{},
		Passed: map[string]Failure{}, Halted: map[string]time.Time{}, Counted: map[string]int{}, Baking: map[string]time.Time{}}
	for i, ps := range states {
		ps.noteBaking(s, found.Baking)
		if !s.Records.Uncounted {
			found.Counted[ps.ref.Name] = max(found.Counted[ps.ref.Name], ps.counted)
		}
		for _, m := range ps.members {
			if failure, failed := m.failure(s, ps.ref.Name, ps.selection.anyUnknown); failed {
				found.addFailure(m.cluster, failure)
			} else if m.rejection != nil {
				found.Rejections[m.cluster] = rejectionRecord(s.Records.Rejections, m.cluster, ps.ref.Name, m.since, m.rejection.Message)
			} else if record, holds := m.degradedRecord(s, ps.ref.Name, p.Refs[i].Halted); holds {
				found.Degraded[m.cluster] = record
			} else if record, passed := m.passedRecord(s, ps); passed {
				found.Passed[m.cluster] = record
			}
		}
		since, before := s.Records.Halted[ps.ref.Name]
		switch {
		case before && (p.Refs[i].Halted || ps.selection.anyUnknown):
			found.Halted[ps.ref.Name] = since
		case p.Refs[i].Halted && ps.err == nil:
			found.Halted[ps.ref.Name] = s.Now
		}
	}
	if p.selection.anyUnknown {
		keep(found.Failures, s.Records.Failures, states)
		keep(found.Rejections, s.Records.Rejections, states)
		keep(found.Degraded, s.Records.Degraded, states)
		keep(found.Passed, s.Records.Passed, states)
	}
	found.Failures = bounded(found.Failures, s.Records.Failures)
	found.Rejections = bounded(found.Rejections, s.Records.Rejections)
	found.Degraded = bounded(found.Degraded, s.Records.Degraded)
	found.Passed = bounded(found.Passed, s.Records.Passed)
	return found
}

// addFailure adds the record of a cluster. A cluster can fail for one placementRef while another placementRef waits for the deletion of
// its work. A deletion that timed out does not replace a failure at the update revision.
func (r *Records) addFailure(cluster string, failure Failure) {
	if _, recorded := r.Failures[cluster]; !recorded || failure.Reason != workv1alpha1.FailureTerminationTimedOut {
		r.Failures[cluster] = failure
	}
}

// keep keeps the records of clusters that count for no placementRef while a selection is unknown. A Placement that is missing, or whose
// decisions are being written, does not revoke a failure.
func keep(found, recorded map[string]Failure, states []*placementState) {
	if len(recorded) == 0 {
		return
	}
	counted := map[string]bool{}
	for _, ps := range states {
		for _, m := range ps.members {
			counted[m.cluster] = true
		}
	}
	for cluster, record := range recorded {
		if !counted[cluster] {
			found[cluster] = record
		}
	}
}

// bounded returns at most MaxFailures records: first the records that are already known, then the others by name.
func bounded(all, known map[string]Failure) map[string]Failure {
	if len(all) <= workv1alpha1.MaxFailures {
		return all
	}
	kept := make(map[string]Failure, workv1alpha1.MaxFailures)
	for _, alreadyKnown := range []bool{true, false} {
		for _, cluster := range slices.Sorted(maps.Keys(all)) {
			if _, recorded := known[cluster]; recorded == alreadyKnown && len(kept) < workv1alpha1.MaxFailures {
				kept[cluster] = all[cluster]
			}
		}
	}
	return kept
}

// haltHolds reports whether a recorded halt of a placementRef still applies although the known members do not halt it. It applies after a
// restart, until deadlines fire again, if the records were lost or name too few members.
func (ps *placementState) haltHolds(s *Snapshot) bool {
	if s.Aborted || ps.err != nil || !s.Now.Before(s.Gap.Over(ps.strategy.Deadline)) {
		return false
	}
	if s.Records.Lost {
		return true
	}
	if _, halted := s.Records.Halted[ps.ref.Name]; !halted {
		return false
	}
	for _, record := range s.Records.Failures {
		if record.Placement == ps.ref.Name {
			return len(s.Records.Failures) >= workv1alpha1.MaxFailures
		}
	}
	return true
}

// retried returns the time at which a user retried a member's cluster; zero if that has not happened since the hub last wrote its work.
func (ps *placementState) retried(s *Snapshot, m *member, a work.Assessment) time.Time {
	at := s.Retried[m.cluster]
	if until := s.RetriedUntil; until.After(at) && !s.Now.Before(until) && ps.hadFailed(s, m, a, until) {
		at = until
	}
	if !m.work.WrittenAt().Before(at) {
		return time.Time{}
	}
	return at
}

// hadFailed reports whether a member with the update revision had failed before a given time. It detects flapping only since this process
// began to watch the cluster, because the cluster may have succeeded before a restart.
func (ps *placementState) hadFailed(s *Snapshot, m *member, a work.Assessment, by time.Time) bool {
	switch {
	case a.State == work.GateFailed:
		return a.Since.Before(by)
	case a.State != work.InFlight && a.State != work.Degraded && a.State != work.Validating:
		return false
	case !ps.hasDeadline():
		return a.State == work.Degraded && a.Since.Before(by)
	}
	flapped := m.watchedFrom(s).Add(2 * (ps.strategy.Deadline + ps.strategy.MinSuccessTime))
	return a.Since.Add(ps.strategy.Deadline).Before(by) || flapped.Before(by) && !m.work.Settled(s.Update)
}

// renewRetried writes a new applied-at time, from which the deadline runs, to retried clusters that have the update revision. The rest of
// the work does not change.
func (p *Plan) renewRetried(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		if m.retriedAt.IsZero() || !m.writable() && !m.away {
			continue
		}
		rev, kept := *s.Update, ""
		if m.work.InHandover() {
			rev.Template, rev.Digest, kept = m.work.Combined.Template, m.work.Combined.Digest, m.work.KeptRevision()
		}
		p.adopt(ps, m, Write{Revision: &rev, KeptRevision: kept, Why: "a user retries the cluster", Retry: true})
		m.written = true
	}
}
