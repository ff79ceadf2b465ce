package rollout

import (
	"maps"
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Failure is the record of a cluster that failed at the update revision, or whose work the API server rejects (R11).
type Failure struct {
	// Placement is the Placement that the cluster counts for.
	Placement string
	// Since is when the cluster failed, or when its work was rejected first.
	Since time.Time
	// Reason is why it failed or was rejected.
	Reason workv1alpha1.FailureReason
	// Message is the message of the agent or the API server; empty if unknown.
	Message string
}

// Records are the facts that the status holds about the rollout of the update revision. A restart, grace, edit or deletion does not revoke
// them (R11).
type Records struct {
	// Failures are the clusters that failed, at most MaxFailures, by name.
	Failures map[string]Failure
	// Rejections are the clusters whose works the API server rejects and that have not failed yet, at most MaxFailures, by name.
	Rejections map[string]Failure
	// Halted is the time since when each ref starts nothing new, by the name of its Placement.
	Halted map[string]time.Time
	// Lost is true if the records were lost: until the grace has ended, the failures are unknown (R16).
	Lost bool
}

// Adds reports whether the records hold a fact that others lack: it has to be persisted before any decision is based on it (R11).
func (r *Records) Adds(to *Records) bool {
	return lacks(to.Failures, r.Failures) || lacks(to.Rejections, r.Rejections) || lacks(to.Halted, r.Halted)
}

func lacks[V any](known, wanted map[string]V) bool {
	for key := range wanted {
		if _, found := known[key]; !found {
			return true
		}
	}
	return false
}

// recordOf returns the record of a failure that holds for a member: a stuck deletion counts while the work still exists.
func (f *fleet) recordOf(s *Snapshot, m *member) (Failure, bool) {
	if s.Aborted {
		return Failure{}, false
	}
	record, known := s.Records.Failures[m.cluster]
	switch timedOut := record.Reason == workv1alpha1.FailureTerminationTimedOut; {
	case timedOut && (m.work == nil || !m.work.Deleting() || !m.leaving(s, f.ref.Name)):
		return Failure{}, false
	case !timedOut && m.owned && m.leaving(s, f.ref.Name) && m.work.PlacementName() != f.ref.Name:
		return Failure{}, false // It counts for the ref named by its work, until the work is gone.
	}
	return record, known
}

// hasFailed reports whether a cluster failed with the update revision, as recorded.
func (s *Snapshot) hasFailed(cluster string) bool {
	record, known := s.Records.Failures[cluster]
	return known && !s.Aborted && record.Reason != workv1alpha1.FailureTerminationTimedOut
}

// applyRecord gives a member the phase of its recorded failure, until its success at the update revision is settled (R11). A cluster that
// no ref selects fails only by such a record.
func (f *fleet) applyRecord(s *Snapshot, m *member) {
	record, known := f.recordOf(s, m)
	switch {
	case !known && m.phase == PhaseFailed && !m.owned:
		m.phase, m.uncounted = PhaseStuck, true
		return
	case !known, m.phase == PhaseSucceeded, m.phase == PhaseHandingOver, m.phase == PhaseCompleted:
		return
	}
	if m.phase == PhaseInFlight || m.phase == PhaseDegraded {
		m.next = time.Time{} // Deadlines no longer apply.
	}
	m.phase, m.since, m.record = PhaseFailed, record.Since, &record
	if record.Reason == workv1alpha1.FailureTerminationTimedOut {
		m.phase = PhaseStuck
	}
	m.looping = record.Reason == workv1alpha1.FailureFlapping
}

// failure returns the record for a member; false if it has not failed.
func (m *member) failure(s *Snapshot, placement string) (Failure, bool) {
	switch {
	case m.record != nil:
		return *m.record, true
	case m.phase != PhaseFailed && m.phase != PhaseStuck, !m.owned:
		return Failure{}, false
	}
	return Failure{Placement: placement, Since: s.Now, Reason: m.failureReason(), Message: m.rejectionMessage()}, true
}

func (m *member) failureReason() workv1alpha1.FailureReason {
	switch {
	case m.phase == PhaseStuck:
		return workv1alpha1.FailureTerminationTimedOut
	case m.refused():
		return workv1alpha1.FailureRejected
	case m.looping:
		return workv1alpha1.FailureFlapping
	case m.degraded:
		return workv1alpha1.FailureDegraded
	}
	return workv1alpha1.FailureDeadlineExceeded
}

func (m *member) rejectionMessage() string {
	if m.refused() {
		return m.refusal.Words
	}
	return ""
}

// records returns the current facts. During an abort, the facts of the failed rollout stay.
func (p *Plan) records(s *Snapshot, fleets []*fleet) Records {
	if s.Aborted {
		return s.Records
	}
	found := Records{Failures: map[string]Failure{}, Rejections: map[string]Failure{}, Halted: map[string]time.Time{}}
	known := map[string]bool{}
	for i, f := range fleets {
		for j := range f.members {
			m := &f.members[j]
			known[m.cluster] = true
			if failure, failed := m.failure(s, f.ref.Name); failed {
				found.Failures[m.cluster] = failure
			} else if m.phase == PhaseRefused {
				found.Rejections[m.cluster] = m.rejection(s, f.ref.Name)
			}
		}
		since, before := s.Records.Halted[f.ref.Name]
		switch {
		case before && p.Refs[i].Halted:
			found.Halted[f.ref.Name] = since
		case p.Refs[i].Halted && f.err == nil:
			found.Halted[f.ref.Name] = s.Now
		}
	}
	found.keep(s, known)
	found.Failures = bounded(found.Failures, s.Records.Failures)
	found.Rejections = bounded(found.Rejections, s.Records.Rejections)
	return found
}

// keep keeps the records of clusters whose selection is unknown: a Placement that is missing or being written does not revoke a failure.
// known are the clusters that count for a ref.
func (r *Records) keep(s *Snapshot, known map[string]bool) {
	for i := range s.Refs {
		if s.Refs[i].settled() {
			continue
		}
		for cluster, record := range s.Records.Failures {
			if record.Placement == s.Refs[i].Name && !known[cluster] {
				r.Failures[cluster] = record
			}
		}
		for cluster, record := range s.Records.Rejections {
			if record.Placement == s.Refs[i].Name && !known[cluster] {
				r.Rejections[cluster] = record
			}
		}
	}
}

// rejection returns the record of a rejected member that has not failed.
func (m *member) rejection(s *Snapshot, placement string) Failure {
	if record, known := s.Records.Rejections[m.cluster]; known {
		return record
	}
	return Failure{Placement: placement, Since: m.since, Reason: workv1alpha1.FailureRejected, Message: m.refusal.Words}
}

// bounded returns at most MaxFailures records: first the records that are already known, then the others by name.
func bounded(all, known map[string]Failure) map[string]Failure {
	if len(all) <= workv1alpha1.MaxFailures {
		return all
	}
	kept := make(map[string]Failure, workv1alpha1.MaxFailures)
	for _, wanted := range []func(string) bool{
		func(cluster string) bool { _, recorded := known[cluster]; return recorded },
		func(string) bool { return true },
	} {
		for _, cluster := range slices.Sorted(maps.Keys(all)) {
			if len(kept) == workv1alpha1.MaxFailures {
				return kept
			}
			if wanted(cluster) {
				kept[cluster] = all[cluster]
			}
		}
	}
	return kept
}

// haltHolds reports whether a recorded halt of a ref still holds although the known members do not halt it. It holds after a restart, while
// the records name too few members or were lost, until the grace has ended (R11, R16).
func (f *fleet) haltHolds(s *Snapshot) bool {
	until := f.graceEnd(s)
	if s.Aborted || f.err != nil || !s.Now.Before(until) {
		return false
	}
	if s.Records.Lost {
		return true
	}
	if _, halted := s.Records.Halted[f.ref.Name]; !halted {
		return false
	}
	full := len(s.Records.Failures) >= workv1alpha1.MaxFailures || len(s.Records.Rejections) >= workv1alpha1.MaxFailures
	return full || !f.hasRecords(s)
}

func (f *fleet) hasRecords(s *Snapshot) bool {
	of := func(records map[string]Failure) bool {
		for _, record := range records {
			if record.Placement == f.ref.Name {
				return true
			}
		}
		return false
	}
	return of(s.Records.Failures) || of(s.Records.Rejections)
}

// graceEnd returns the time until which no deadline of the ref fires, because the agents could not report (R11).
func (f *fleet) graceEnd(s *Snapshot) time.Time {
	limit := min(f.strategy.deadline, maxGrace)
	return later(s.DeadlinesSince.Add(limit), s.Stall.over(limit))
}
