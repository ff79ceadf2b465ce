package rollout

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// When a cluster has failed, and when a placementRef has failed (R11):
//
//  1. A cluster fails when it is in flight or degraded for progressDeadline (updatedPhase in phase.go). Without a deadline, no such
//     cluster fails.
//  2. It fails when it flaps: it has not settled within 2 * (progressDeadline + minSuccessTime), and is not in its first success
//     (failFlapping).
//  3. It fails when the API server has rejected its work for progressDeadline, and rejects it once more after that (rejectedPhase).
//  4. It fails at once when no cluster can have its name (computePhase).
//  5. No deadline fires before the agents have had time to report to this process (dueAt), or if the process has never heard from the
//     cluster's agent (doubtFailure). A success gate that is False fails the cluster at once (gatePhase). A cluster that nothing selects
//     any more fails in the same way if it never succeeded (neverSucceeded in away.go).
//  6. A failure counts at once, and until it is revoked: see records.go. Before the controller acts on a failure, it reads the work from
//     the API server again (pkg/controller/examine.go), and records the failure in the ledger.
//  7. A placementRef fails when more of its clusters failed than maxFailures allows. The limit applies to all its clusters for All and
//     Progressive, and to each decision group for ProgressivePerGroup. No cluster of a mandatory group may fail (fails, exceeds).
//  8. A placementRef is halted, and starts nothing new, when the failed, degraded and unknown clusters, and those whose deletion timed
//     out, together exceed that limit (halts). Clusters in flight do not count.

// unknownLength is the assumed length of a gap that the hub could not measure, and the maximum length of every gap.
const unknownLength = 2 * time.Minute

// Gap is the last period in which the agents' reports did not reach this process.
type Gap struct {
	// End is the time at which the reports could reach the process again. While the gap lasts, End is now.
	End time.Time
	// Length is the length of the gap; 2 minutes if it was longer, or if its length is unknown.
	Length time.Duration
}

// UnknownGap returns a gap of unknown length, for example for a process that has just started.
func UnknownGap(end time.Time) Gap { return Gap{End: end, Length: unknownLength} }

// Over returns the time at which the agents have had time to report again: the end of the gap plus its length, or plus the limit if that
// is shorter. If the limit always applied, no deadline would fire on a hub that receives no reports for 5 s in every 100 s.
func (g Gap) Over(limit time.Duration) time.Time { return g.End.Add(min(g.Length, limit)) }

// hasDeadline reports whether the clusters of the placementRef can fail.
func (ps *placementState) hasDeadline() bool {
	return ps.err == nil && ps.strategy.Deadline != placement.NoDeadline
}

// until returns the phase of a member before its deadline, and when that phase ends. After the deadline, it returns the phase that
// follows.
func (ps *placementState) until(s *Snapshot, m *member, before, after *phase) (*phase, time.Time) {
	due := ps.dueAt(s, m.cluster, m.since)
	switch {
	case due.IsZero():
		return before, time.Time{}
	case s.Now.Before(due) || ps.selection.anyUnknown:
		return before, due
	}
	return after, time.Time{}
}

// dueAt returns the time at which the deadline fires for a phase that began at a given time; zero for never.
func (ps *placementState) dueAt(s *Snapshot, cluster string, since time.Time) time.Time {
	if !ps.hasDeadline() {
		return time.Time{}
	}
	return work.Later(since.Add(ps.strategy.Deadline), ps.heardSince(s, cluster))
}

// heardSince returns the time at which the agent of a cluster has had time to report. Over a broker, the gap for an agent lasts until this
// process first hears from that agent.
func (ps *placementState) heardSince(s *Snapshot, cluster string) time.Time {
	first := s.Heard[cluster]
	if first.After(s.Now) {
		first = time.Time{} // The clock has been set back since then. That is a separate gap.
	}
	return work.Later(s.Gap.Over(ps.strategy.Deadline), UnknownGap(first).Over(ps.strategy.Deadline))
}

// failFlapping fails a member that flaps. Each change restarts the time, so without this its deadline would never fire, and no success
// would settle. A member that has settled once may relapse like any other.
func (ps *placementState) failFlapping(s *Snapshot, m *member) {
	due, applies := ps.settleBy(s, m)
	if !applies || ps.selection.anyUnknown || m.rejection != nil {
		return
	}
	if m.phase.fails {
		if m.reason == workv1alpha1.FailureGate {
			return
		}
		// The deadline that fired first is the reason, even if the other deadline has passed since: the message stays the same (P7).
		if due.Before(m.since.Add(ps.strategy.Deadline)) {
			m.reason = workv1alpha1.FailureFlapping
		}
		return
	}
	due = work.Later(due, ps.heardSince(s, m.cluster))
	if s.Now.Before(due) {
		if m.next.IsZero() || due.Before(m.next) {
			m.next = due
		}
		return
	}
	if m.phase != soaking {
		m.next = time.Time{}
	} else if since := m.work.SucceededSince; !m.work.Relapsed || !since.IsZero() && !s.Now.Before(since.Add(ps.strategy.MinSuccessTime)) {
		return // It has not flapped, or this process has seen it succeed for long enough: it is about to settle.
	}
	m.phase, m.reason = failed, workv1alpha1.FailureFlapping
}

// settleBy returns the time by which a member must have settled, and whether that time applies: the member has a deadline, and has not
// settled in this rollout. The time runs from when the hub wrote the revision or, if that is later, from when this process began to watch.
func (ps *placementState) settleBy(s *Snapshot, m *member) (due time.Time, applies bool) {
	limit := ps.strategy.Deadline + ps.strategy.MinSuccessTime
	if !ps.hasDeadline() || limit < ps.strategy.Deadline || m.phase == handingOver || m.work.Settled(s.Update) {
		return time.Time{}, false
	}
	begin := work.Later(m.watchedFrom(s), m.retriedAt)
	return begin.Add(limit).Add(limit), m.phase.takesSlot == always || m.phase.fails
}

// watchedFrom returns the time at which this process began to watch the update revision on a member, or when the hub wrote the revision if
// that is later.
func (m *member) watchedFrom(s *Snapshot) time.Time {
	return work.Later(m.work.Begin(s.Update), m.work.WatchedSince)
}

const (
	// unknownRecheck is the interval at which a pass checks whether an agent has reported after its deadline.
	unknownRecheck = time.Minute
	// unknownNamedAfter is the time for which an agent may be silent before its cluster is named: connected agents answer within seconds.
	unknownNamedAfter = 30 * time.Second
)

// heardAgent reports whether this process has heard from the agent of a cluster. If works go through the API server, it is true for every
// agent.
func (s *Snapshot) heardAgent(cluster string) bool {
	if s.Heard == nil {
		return true
	}
	_, heard := s.Heard[cluster]
	return heard
}

// doubtFailure revokes a failure if this process has not heard from the agent. The agent may have reported a success earlier, and a broker
// does not keep reports. Such a cluster gives its slot back. A rejection by the API server needs no agent.
func (m *member) doubtFailure(s *Snapshot) {
	if m.phase == failed && !m.invalid && m.rejection == nil && !s.heardAgent(m.cluster) {
		m.phase = agentUnknown
		if recheck := s.Now.Add(unknownRecheck); m.next.IsZero() || recheck.Before(m.next) { // A success may settle sooner.
			m.next = recheck
		}
	}
}

// nameUnknownAgent records a selected cluster whose agent does not answer the writes by this process.
func (p *Plan) nameUnknownAgent(s *Snapshot, m *member) {
	if m.work == nil || m.work.Deleting() || s.heardAgent(m.cluster) {
		return
	}
	if at := m.work.WrittenAt().Add(unknownNamedAfter); m.phase != agentUnknown && s.Now.Before(at) {
		p.recheckAt(s.Now, at)
		return
	}
	p.AgentUnknown = append(p.AgentUnknown, m.cluster)
	// If the agent's first report has no news, no work changes, and no event triggers a pass (P7).
	p.recheckAt(s.Now, s.Now.Add(unknownRecheck))
}

// fails reports whether more clusters failed than maxFailures allows. A percentage applies to all clusters that have counted since the
// rollout began. Clusters that no longer count could belong to any group. While the selection of any placementRef is unknown, no
// placementRef fails. A placementRef with an unreadable strategy never fails.
func (ps *placementState) fails() bool {
	if ps.err != nil || ps.selection.anyUnknown {
		return false
	}
	return ps.exceeds(ps.missing(), (*member).failed, (*member).countsAtAll)
}

// missing returns the number of clusters that have counted since the rollout began and no longer do.
func (ps *placementState) missing() int {
	if ps.uncounted {
		return anyNumber
	}
	return ps.counted - ps.size()
}

// anyNumber stands for an unknown number of clusters: it is larger than the number that any Placement selects.
const anyNumber = math.MaxInt32

// halts reports whether the placementRef starts nothing new, because the failed, degraded, unknown and timed-out clusters together are more
// than maxFailures allows, or because the strategy is unreadable.
func (ps *placementState) halts(s *Snapshot) bool {
	return ps.err != nil || ps.exceeds(0, func(m *member) bool { return m.phase.halts }, (*member).countsAtAll) || ps.haltHolds(s)
}

// undecided returns the deselected clusters whose deadlines have not passed, if they and the failed clusters together are too many for the
// placementRef. The new revision may have disconnected them. They delay completion until their deadlines.
func (ps *placementState) undecided() []string {
	fails := func(m *member) bool { return m.failed() || ps.mayFailUnselected(m) }
	if !ps.strategy.DecidesAbort() || !ps.exceeds(0, fails, (*member).countsAtAll) {
		return nil
	}
	return ps.names(ps.mayFailUnselected)
}

// exceedsSelected reports whether a condition holds for more selected clusters than maxFailures allows of the selected clusters. Clusters
// that are away count as selected. Clusters that are leaving do not count: they would enlarge the base of a percentage only until their
// works are deleted, and no revision may become current because of them.
func (ps *placementState) exceedsSelected(holds func(*member) bool) bool {
	return ps.exceeds(0, holds, func(m *member) bool { return m.counted() && m.countsAtAll() })
}

// exceeds reports whether a condition holds for more of the given members than maxFailures allows. A percentage applies to these members
// and the missing clusters.
func (ps *placementState) exceeds(missing int, holds, among func(*member) bool) bool {
	return slices.ContainsFunc(ps.failureLimits(missing, holds, among), limit.exceeded)
}

// limit is a limit on failures: the number of clusters that share it, how many of them count as failed, and how many may fail.
type limit struct{ size, count, allowed int }

func (l limit) exceeded() bool { return l.count > l.allowed }

// failureLimits returns the limit of each decision group that has its own, followed by the limit of the placementRef, which the other
// groups share. A percentage of that last limit also covers the clusters of the mandatory groups. The groups of a listed entry share the
// limit of its first group.
func (ps *placementState) failureLimits(missing int, holds, among func(*member) bool) []limit {
	shared, total := len(ps.groups), missing
	limits := make([]limit, shared+1)
	for _, m := range ps.members {
		if !among(m) {
			continue
		}
		total++
		l := &limits[ps.limitOf(m.group)]
		l.size++
		if holds(m) {
			l.count++
		}
	}
	for g := range ps.groups {
		l := &limits[g]
		if r, own := ps.ownFailures(g); own {
			l.allowed = placement.FailuresAllowed(ps.rings[r].MaxFailures, l.size+missing)
			total -= l.size
		} else if ps.perGroup() && !ps.mandatory(g) {
			l.allowed = placement.FailuresAllowed(&ps.strategy.MaxFailures, l.size+missing)
		}
	}
	limits[shared].allowed = placement.FailuresAllowed(&ps.strategy.MaxFailures, total)
	return limits
}

// limitOf returns the index of the limit that applies to a decision group.
func (ps *placementState) limitOf(group int) int {
	switch at, own := ps.ownFailures(group); {
	case own:
		return slices.Index(ps.ringOf, at)
	case ps.perGroup() || ps.mandatory(group):
		return group
	}
	return len(ps.groups)
}

// perGroup reports whether each decision group has its own limit on failures.
func (ps *placementState) perGroup() bool {
	return ps.strategy.Kind == clusterv1alpha1.ProgressivePerGroup
}

// describeFailed describes which clusters failed, how they failed, and how many failures are allowed.
func (ps *placementState) describeFailed() string {
	failed := map[workv1alpha1.FailureReason][]string{}
	for _, m := range ps.members {
		if !m.failed() {
			continue
		}
		reason := m.reason
		switch reason {
		case workv1alpha1.FailureFlapping, workv1alpha1.FailureInvalidName, workv1alpha1.FailureGate:
		default:
			reason = workv1alpha1.FailureDeadlineExceeded
		}
		failed[reason] = append(failed[reason], m.cluster)
	}
	text := ""
	if late := failed[workv1alpha1.FailureDeadlineExceeded]; len(late) > 0 {
		text = fmt.Sprintf("%s: not successful within progressDeadline %s%s, ", ps.countOf(late), ps.strategy.Deadline, ps.describeRejected())
	}
	if flapping := failed[workv1alpha1.FailureFlapping]; len(flapping) > 0 {
		text += fmt.Sprintf("%s: not settled within %s, ", ps.countOf(flapping), 2*(ps.strategy.Deadline+ps.strategy.MinSuccessTime))
	}
	if gated := failed[workv1alpha1.FailureGate]; len(gated) > 0 {
		text += ps.describeGates(gated)
	}
	if invalid := failed[workv1alpha1.FailureInvalidName]; len(invalid) > 0 {
		text += ps.countOf(invalid) + ": " + invalidName(ps.ref.Name) + ", "
	}
	if ps.any(func(m *member) bool { return m.failed() && ps.mandatory(m.group) }) {
		return text + "a mandatory decision group tolerates no failure"
	}
	if own := ps.describeRings(); own != "" {
		return text + own
	}
	text += "maxFailures is " + ps.strategy.MaxFailures.String()
	if !ps.perGroup() {
		return text
	}
	for g, l := range ps.failureLimits(ps.missing(), (*member).failed, (*member).countsAtAll) {
		if l.exceeded() && g < len(ps.groups) {
			return fmt.Sprintf("%s for each group, and %d of %d failed in group %s", text, l.count, l.size, ps.groupLabel(g))
		}
	}
	return text
}

// groupLabel returns the name of a decision group, or its index if it has no name of its own.
func (ps *placementState) groupLabel(group int) string {
	named := &ps.groups[group]
	for i := range ps.groups {
		if named.Name == "" || i != group && ps.groups[i].Name == named.Name {
			return strconv.Itoa(int(named.Index))
		}
	}
	return named.Name
}

// invalidName explains the failure of a name that no cluster can have.
func invalidName(placement string) string {
	return "no cluster can have such a name; correct the PlacementDecisions of Placement " + placement
}

// countOf returns the number of failed clusters out of all clusters of the placementRef, and the names of the first failed ones.
func (ps *placementState) countOf(clusters []string) string {
	all := "1 cluster"
	if ps.counted != 1 {
		all = fmt.Sprintf("%d clusters", ps.counted)
	}
	return fmt.Sprintf("%d of %s failed (%s)", len(clusters), all, first(clusters))
}
