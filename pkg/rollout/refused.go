package rollout

import (
	"fmt"
	"slices"
	"time"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Refusal is what the API server answers to the writes of a cluster's work: no, until somebody removes the cause (R11).
type Refusal struct {
	// Since is when it refused first.
	Since time.Time
	// TriedAt is when this process tried the write last; zero if it did not.
	TriedAt time.Time
	// Words are what the API server said.
	Words string
}

const (
	// triesWithinDeadline is how often a rejected write is tried within progressDeadline: five times and a reserve (R11).
	triesWithinDeadline = 6
	// retriedWithin and retriedAfter bound the time between two tries.
	retriedWithin = time.Minute
	retriedAfter  = time.Second
)

// retryAt returns when the rejected write of a member is to be tried again: several times within the deadline, and once more when that has
// passed. Only that last try decides: an abort must not rest on an answer that is no longer true (R11).
func (f *fleet) retryAt(s *Snapshot, m *member) time.Time {
	tried := m.refusal.TriedAt
	if tried.IsZero() {
		return s.Now
	}
	due := f.dueAt(s, m, m.refusal.Since)
	if !tried.Before(due) {
		return tried.Add(retriedWithin)
	}
	return earlier(due, tried.Add(min(max(f.strategy.deadline/triesWithinDeadline, retriedAfter), retriedWithin)))
}

// refusalOf returns what the API server answered to the writes of a cluster's work, by what this process knows and what is recorded.
func (s *Snapshot) refusalOf(cluster string) (Refusal, bool) {
	refusal, known := s.Refused[cluster]
	record, recorded := s.Records.Rejections[cluster]
	if !recorded {
		record, recorded = s.Records.Failures[cluster]
		recorded = recorded && record.Reason == workv1alpha1.FailureRejected
	}
	switch {
	case !recorded:
		return refusal, known
	case !known:
		return Refusal{Since: record.Since, Words: record.Message}, true
	}
	refusal.Since = earlier(refusal.Since, record.Since)
	return refusal, true
}

// placeRefused gives a waiting member whose work the API server refuses a phase of its own. Its deadline runs from the first refusal, and
// nothing is in flight there (R11). While aborted, phases are about a revision that nobody writes any more.
func (f *fleet) placeRefused(s *Snapshot, m *member) {
	refusal, refused := s.refusalOf(m.cluster)
	if !refused || !m.owned || m.held || s.Aborted {
		return
	}
	m.refusal, m.since = &refusal, refusal.Since
	m.phase, m.next = f.overdue(s, m, refusal.Since, PhaseRefused)
	if due := f.dueAt(s, m, refusal.Since); m.phase == PhaseFailed && refusal.TriedAt.Before(due) {
		m.phase, m.next = PhaseRefused, due
	}
	m.retryAt = f.retryAt(s, m)
}

// refused reports whether the API server refuses the member's work, before the deadline or past it.
func (m *member) refused() bool {
	return m.refusal != nil && (m.phase == PhaseRefused || m.phase == PhaseFailed)
}

// retriable reports whether a refused write may be tried again now.
func (m *member) retriable(now time.Time) bool {
	return m.refused() && !m.held && !now.Before(m.retryAt)
}

// keepsTurn reports whether a refused member keeps the later groups waiting: while a deadline will decide on it, as one in flight does.
// Without a deadline maxFailures alone decides.
func (m *member) keepsTurn() bool { return m.phase == PhaseRefused && !m.next.IsZero() }

// turns are the members whose turn it is: the refused ones whose minute is over, and beside them as many of the waiting ones as there is
// room for. A ref that is halted by its refused clusters alone still retries them, and starts what has to come before them, or no retry
// could ever heal it.
func (f *fleet) turns(s *Snapshot, outcome *RefOutcome) ([]*member, error) {
	var waiting []*member
	var err error
	mayStart := (*member).mayStart
	if outcome.Halted {
		mayStart = f.beforeRefused()
	}
	if waiting, err = f.nextBatch(mayStart); err != nil {
		return nil, err
	}
	outcome.startable = len(waiting) > 0
	retries, err := f.nextBatch(func(m *member) bool { return m.retriable(s.Now) })
	if err != nil || len(retries) == 0 {
		return waiting, err
	}
	for _, m := range retries {
		m.retried = true
	}
	if len(waiting) == 0 {
		return retries, nil
	}
	beside, err := f.nextBatch(mayStart)
	if err != nil {
		return nil, err
	}
	started := make(map[*member]bool, len(beside))
	for _, m := range beside {
		started[m] = true
	}
	for _, m := range waiting {
		if !started[m] {
			outcome.postponed = append(outcome.postponed, m.cluster)
		}
	}
	return append(retries, beside...), nil
}

// beforeRefused returns who may start in a ref that is halted by its refused clusters alone: members of groups that come before all of
// theirs. Until such a group is done, no refused cluster has a turn, and none could be retried.
func (f *fleet) beforeRefused() func(*member) bool {
	first := -1
	for i := range f.members {
		if m := &f.members[i]; m.refused() && (first < 0 || f.comesBefore(m.group, first)) {
			first = m.group
		}
	}
	return func(m *member) bool { return m.mayStart() && first >= 0 && f.comesBefore(m.group, first) }
}

// comesBefore reports whether a group has its turn before another one: mandatory groups come first.
func (f *fleet) comesBefore(group, other int) bool {
	if first, second := f.mandatory(group), f.mandatory(other); first != second {
		return first
	} else if !first && f.strategy.kind != clusterv1alpha1.ProgressivePerGroup {
		return false
	}
	return group < other
}

// describeRefused says for which failed clusters the API server refuses the work, and what it says for the first of them.
func (f *fleet) describeRefused() string {
	var names []string
	words := ""
	for i := range f.members {
		if m := &f.members[i]; m.phase == PhaseFailed && m.refused() {
			names = append(names, m.cluster)
			if words == "" {
				words = m.refusal.Words
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (the API server rejects the ManifestWorks of %s: %s)", Names(names), words)
}

// refusedClusters notes the clusters that wait for the API server to accept their works, and when each is tried again.
func (p *Plan) refusedClusters(s *Snapshot, f *fleet) {
	for i := range f.members {
		m := &f.members[i]
		if !m.refused() {
			continue
		}
		p.Refused = append(p.Refused, m.cluster)
		if m.retryAt.After(s.Now) {
			p.recheckAt(s.Now, m.retryAt)
		}
	}
}

// startable reports whether clusters wait whose turn it is, also where the writes of this plan are all retries.
func (p *Plan) startable() bool {
	return slices.ContainsFunc(p.Refs, func(ref RefOutcome) bool { return ref.startable })
}

func (m *member) failing() Failing {
	failing := Failing{Cluster: m.cluster, Phase: m.phase, Since: m.since}
	if m.refused() {
		failing.Refused = m.refusal.Words
	}
	return failing
}
