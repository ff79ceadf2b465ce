package rollout

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The phase of a cluster is computed once per decision, by computePhase:
//
//  1. A work that must be deleted first: the cluster is terminating, or its deletion has timed out.
//  2. A work without the update revision: the cluster waits, or is in flight if the API server rejects its work (rejectedPhase).
//  3. A work with the update revision: the conditions of the work decide (Assess). A success soaks until it is settled. Anything else is
//     in flight or degraded until its deadline, and has failed after that. A cluster that flaps has a deadline of its own. Success gates
//     can hold back a success, and fail a cluster (gates.go).
//  4. A failure does not count while the cluster's agent is unknown. While the selection of any placementRef is unknown, no deadline fires.
//  5. A recorded failure holds until the success of the cluster is settled.
//
// The table below has the consequences of each phase. Code that needs more than the table compares the phase itself.

// Phase is the progress of a selected cluster toward the update revision.
type Phase string

// The phases of a cluster. A cluster is in one of them. The values are used in metrics, and by the plugin.
const (
	// PhaseWaiting means that its turn has not come: it has another revision or none.
	PhaseWaiting Phase = "Waiting"
	// PhaseTerminating means that it has a work that is being deleted. Nothing can be written before that work is deleted.
	PhaseTerminating Phase = "Terminating"
	// PhaseTerminationTimedOut means that such a deletion has taken longer than the deadline. The cluster does not fail, but too many such
	// clusters halt their placementRef.
	PhaseTerminationTimedOut Phase = "TerminationTimedOut"
	// PhaseInFlight means that the update revision was written, and that the outcome is not known yet, or that the API server rejects the
	// work.
	PhaseInFlight Phase = "InFlight"
	// PhaseValidating means that it would have succeeded, but a success gate is not True yet.
	PhaseValidating Phase = "Validating"
	// PhaseSoaking means that it succeeded, but the success is not settled yet.
	PhaseSoaking Phase = "Soaking"
	// PhaseHandingOver means that its success is settled, but kept objects must be deleted before the success counts.
	PhaseHandingOver Phase = "HandingOver"
	// PhaseDegraded means that its agent reports it as degraded, before any deadline.
	PhaseDegraded Phase = "Degraded"
	// PhaseFailed means that it was in flight or degraded past the deadline, or did not settle within
	// 2 * (progressDeadline + minSuccessTime).
	PhaseFailed Phase = "Failed"
	// PhaseAgentUnknown means that its deadline has passed, but this process has not heard from its agent yet: it has not failed.
	PhaseAgentUnknown Phase = "AgentUnknown"
	// PhaseCompleted means that it ran to completion at an older revision and does not take a new one.
	PhaseCompleted Phase = "Completed"
	// PhaseSkipped means that it is unavailable, lacks the update revision, and is skipped because of unavailableClusters.
	PhaseSkipped Phase = "Away"
	// PhaseHeld means that it lacks the update revision, and that a hold keeps it from new revisions.
	PhaseHeld Phase = "Held"
	// PhaseClosed means that it lacks the update revision, and that no window of the cluster is open.
	PhaseClosed Phase = "Closed"
	// PhaseSucceeded means that its success is settled.
	PhaseSucceeded Phase = "Succeeded"
)

// phase is a Phase with its consequences, or one variant of a Phase if it has several.
type phase struct {
	// name is the phase as the plan shows it.
	name Phase
	// startable: the cluster can be next.
	startable bool
	// takesSlot: it occupies a slot of a Progressive batch.
	takesSlot when
	// keepsTurn: decision groups after its own wait for it.
	keepsTurn bool
	// halts: it counts against maxFailures when the next clusters are started.
	halts bool
	// fails: it counts against maxFailures when the hub decides whether the placementRef has failed, and its failure is recorded.
	fails bool
	// mayStillFail: its deadline is running.
	mayStillFail bool
	// awaited: its outcome is pending, so the rollout is neither complete nor stalled.
	awaited when
	// tolerated: the rollout may complete without it.
	tolerated bool
	// done: it does not keep a mandatory group open.
	done bool
	// updated: it has the update revision, settled or not. settled: its success counts.
	updated, settled bool
	// listed: it is named among the clusters that hold up the rollout.
	listed bool
	// waitsFor is what it waits for, if the phase alone determines this.
	waitsFor Wait
}

// The table of the phases.
var (
	waiting     = &phase{name: PhaseWaiting, startable: true, takesSlot: onceWritten, keepsTurn: true, waitsFor: WaitTurn}
	terminating = &phase{name: PhaseTerminating, takesSlot: always, keepsTurn: true, waitsFor: WaitDeletion}
	// terminatingElsewhere is a terminating cluster whose work belongs to another placementRef, and occupies a slot there.
	terminatingElsewhere = &phase{name: PhaseTerminating, keepsTurn: true, waitsFor: WaitDeletion}
	terminationTimedOut  = &phase{name: PhaseTerminationTimedOut, halts: true, tolerated: true, listed: true, waitsFor: WaitDeletion}
	// overdueUnselected is a cluster that had succeeded, but that no placementRef selects any more, and whose deadline has passed since.
	overdueUnselected = &phase{name: PhaseTerminationTimedOut, waitsFor: WaitDeletion}
	inFlight          = &phase{
		name: PhaseInFlight, takesSlot: always, keepsTurn: true, mayStillFail: true, awaited: always, waitsFor: WaitAgent,
	}
	validating = &phase{
		name: PhaseValidating, takesSlot: always, keepsTurn: true, mayStillFail: true, awaited: always, waitsFor: WaitSuccessGate,
	}
	soaking     = &phase{name: PhaseSoaking, takesSlot: always, keepsTurn: true, awaited: always, updated: true, waitsFor: WaitSoak}
	handingOver = &phase{
		name: PhaseHandingOver, takesSlot: always, keepsTurn: true, awaited: unlessHalted, settled: true, waitsFor: WaitHandover,
	}
	degraded = &phase{
		name: PhaseDegraded, takesSlot: always, keepsTurn: true, halts: true, mayStillFail: true, awaited: withDeadline, listed: true,
		waitsFor: WaitManifests,
	}
	// degradedChanged is a cluster that was degraded when the placementRef was halted, and whose work has been edited or deleted since then:
	// it gets the update revision again.
	degradedChanged = &phase{
		name: PhaseDegraded, takesSlot: always, keepsTurn: true, halts: true, awaited: withDeadline, listed: true, waitsFor: WaitManifests,
	}
	failed = &phase{name: PhaseFailed, halts: true, fails: true, tolerated: true, listed: true}
	// failedChanged is a failed cluster whose work has been edited or deleted since: it gets the update revision again.
	failedChanged = &phase{name: PhaseFailed, halts: true, fails: true, listed: true}
	agentUnknown  = &phase{name: PhaseAgentUnknown, halts: true, listed: true, waitsFor: WaitAgent}
	completed     = &phase{name: PhaseCompleted, done: true, listed: true}
	skipped       = &phase{name: PhaseSkipped, done: true, waitsFor: WaitAvailability}
	held          = &phase{name: PhaseHeld, done: true, waitsFor: WaitHold}
	closed        = &phase{name: PhaseClosed, keepsTurn: true, awaited: unlessHalted, waitsFor: WaitWindow}
	succeeded     = &phase{name: PhaseSucceeded, done: true, updated: true, settled: true}
)

// when is a value in the table that may depend on the placementRef or on the plan.
type when uint8

const (
	never when = iota
	always
	// onceWritten: only if this plan writes the update revision to the cluster.
	onceWritten
	// withDeadline: only if there is a progressDeadline. Without one, the wait has no end.
	withDeadline
	// unlessHalted: only while the placementRef is not halted.
	unlessHalted
)

// holds reports whether a value in the table applies to a member.
func (ps *placementState) holds(m *member, answer when, halted bool) bool {
	switch answer {
	case onceWritten:
		return m.written
	case withDeadline:
		return ps.hasDeadline()
	case unlessHalted:
		return !halted
	}
	return answer == always
}

// member is a cluster that counts for a placementRef: it belongs to the placementRef, or its work still names the placementRef.
type member struct {
	cluster string
	group   int // index into placementState.groups
	work    *work.Work
	// owned is true if the cluster belongs to the placementRef. Otherwise only its work still counts here.
	owned bool
	// invalid is true if no cluster can have the name: it fails at once, and nothing is written or sent to that name.
	invalid bool
	// away is true if the cluster does not belong to the placementRef because it is away. The cluster still counts as if it belonged to it.
	away bool

	// atUpdate is true if the work has the update revision. state is then the state that its conditions show.
	atUpdate bool
	state    work.State

	phase *phase
	// since is the time at which the phase began. It is not meaningful for waiting and terminating clusters.
	since time.Time
	// next is the time at which the phase changes or must be checked again; zero for never.
	next time.Time
	// gate is the type of the success gate that blocks its success or made it fail; empty for none.
	gate string
	// reason is why it has failed; empty if it has not.
	reason workv1alpha1.FailureReason
	// record is the recorded failure that applies to it; nil for none.
	record *Failure
	// rejection is the rejection of its work by the API server; nil if the work is accepted. lastTry is true if the deadline has passed, and
	// one more rejection makes the member fail.
	rejection *Rejection
	lastTry   bool
	// retriedAt is the time at which a user retried the cluster; zero if that has not happened since the hub last wrote
	// its work.
	retriedAt time.Time
	// written is true if this plan writes the update revision to it. chosen is true if it is written because its turn has come.
	written, chosen bool
	// inPlan is true if the plan has a write for its work.
	inPlan bool
}

// The exceptions, which need the work, the clock or the plan.

func (m *member) takesSlot() bool {
	return m.phase.takesSlot == always || m.written && m.phase.takesSlot == onceWritten
}

func (m *member) startable() bool { return m.phase.startable && !m.written }

// failed reports whether a member counts as failed for its placementRef.
func (m *member) failed() bool { return m.phase.fails }

// writtenAgain reports whether a member that was started gets the update revision again: the API server rejects the write, or the member
// failed and its work has changed since. This does not start further clusters, so neither a halt nor the order of groups prevents it.
func (m *member) writtenAgain() bool {
	return !m.written && (m.rejection != nil && !m.failed() || m.phase == failedChanged || m.phase == degradedChanged)
}

// writable reports whether a work can be written to the member's cluster.
func (m *member) writable() bool {
	return m.owned && !m.invalid && (m.work == nil || !m.work.Deleting())
}

// unlabelled reports whether a member has a writable work without a hash label.
func (m *member) unlabelled() bool {
	return !m.atUpdate && m.work != nil && m.writable() && m.work.Hash() == "" && m.phase != completed
}

// mayBeInFlight reports whether a member may already be in flight with an unknown outcome. That is the case if a write by this process had
// no answer, or if a previous hub may have written to it: there is no work, and the agent has not reported. It is also the case if it has
// the update revision in another form, with kept objects. Such a member is started first (P4).
func (m *member) mayBeInFlight(s *Snapshot) bool {
	if s.Unanswered[m.cluster] && !m.atUpdate {
		return true
	}
	if m.work == nil {
		return !m.invalid && !s.heardAgent(m.cluster)
	}
	return !m.atUpdate && m.work.Hash() == s.Update.Hash && m.work.KeptRevision() != ""
}

// counted reports whether completion depends on a member: it belongs to the placementRef, or would belong to it if it were not away.
func (m *member) counted() bool { return m.owned || m.away }

// mayFailUnselected reports whether a member that nothing selects any more could still fail.
func (ps *placementState) mayFailUnselected(m *member) bool {
	return !m.counted() && m.phase.mayStillFail && ps.hasDeadline()
}

func (ps *placementState) computePhase(s *Snapshot, m *member) {
	m.atUpdate = m.work.At(s.Update)
	switch {
	case m.invalid:
		m.phase, m.reason = failed, workv1alpha1.FailureInvalidName
	case ps.skips(s, m), s.keepsBack(m):
		return
	case ps.mustTerminate(m):
		ps.terminationPhase(s, m)
	case m.atUpdate:
		ps.updatedPhase(s, m)
	case m.work != nil && m.work.Digest != s.Update.Digest && m.work.IsComplete():
		m.phase = completed // It does not take the revision. If the template returns to the cluster's own revision, the cluster already has it.
	default:
		m.phase = waiting
		ps.rejectedPhase(s, m)
	}
	m.doubtFailure(s)
	ps.applyRecord(s, m)
}

// updatedPhase computes the phase of a member whose work has the update revision.
func (ps *placementState) updatedPhase(s *Snapshot, m *member) {
	a, gateChanges := ps.assess(s, m)
	m.state = a.State
	m.retriedAt = ps.retried(s, m, a)
	m.since = work.Later(a.Since, m.retriedAt)
	m.reason = workv1alpha1.FailureDeadlineExceeded
	switch a.State {
	case work.Succeeded:
		m.phase, m.next = soakPhase(s, m.work, ps.soakedAt(s, m))
		if m.phase == succeeded && m.writable() && m.work.InHandover() {
			m.phase = handingOver
			ps.rejectedPhase(s, m)
		}
	case work.Completed:
		m.phase = completed
	case work.Validating, work.GateFailed:
		ps.gatePhase(s, m)
	case work.Degraded:
		m.reason = workv1alpha1.FailureDegraded
		m.phase, m.next = ps.until(s, m, degraded, failed)
	default:
		m.phase, m.next = ps.until(s, m, inFlight, failed)
	}
	if m.phase.mayStillFail && !gateChanges.IsZero() && (m.next.IsZero() || gateChanges.Before(m.next)) {
		m.next = gateChanges
	}
	ps.failFlapping(s, m)
}

// soakedAt returns the time at which a success has lasted for minSuccessTime. A cluster that never left the revision to which the template
// returns is not soaked again.
func (ps *placementState) soakedAt(s *Snapshot, m *member) time.Time {
	if s.returns() {
		if writtenAt, known := m.work.AppliedAt(); known && !writtenAt.After(s.Update.CountsFrom) {
			return time.Time{}
		}
	}
	return m.since.Add(ps.strategy.MinSuccessTime)
}

// soakPhase returns the phase of a success: settled if the success was soaked and this process has seen it for long enough. Otherwise, it
// returns soaking, with the time at which the success settles.
func soakPhase(s *Snapshot, w *work.Work, soaked time.Time) (*phase, time.Time) {
	if w.SucceededSince.IsZero() {
		return soaking, s.Now.Add(s.Settle)
	}
	ripe := work.Later(w.SucceededSince.Add(s.Settle), soaked)
	if s.Now.Before(ripe) {
		return soaking, ripe
	}
	return succeeded, time.Time{}
}

// mustTerminate reports whether the work of a member must be deleted before a new one can be written. That is the case if the work is
// being deleted, and belongs to another placementRef or lacks the update revision. It is also the case if the cluster no longer belongs
// to the placementRef, and the work lacks the update revision.
func (ps *placementState) mustTerminate(m *member) bool {
	switch {
	case m.work == nil:
		return false
	case m.owned:
		return m.work.Deleting() && (!m.atUpdate || m.work.PlacementName() != ps.ref.Name)
	}
	return !m.atUpdate
}

// terminationPhase computes the phase of a member whose work must be deleted. Its deadline runs from the deletion, or from a retry.
func (ps *placementState) terminationPhase(s *Snapshot, m *member) {
	m.phase, m.reason = terminating, workv1alpha1.FailureTerminationTimedOut
	if m.work.PlacementName() != ps.ref.Name {
		m.phase = terminatingElsewhere
	}
	if m.work.Deleting() {
		m.since = work.Later(work.Earlier(m.work.DeletedAt(), s.Now), s.Retried[m.cluster])
		m.phase, m.next = ps.until(s, m, m.phase, terminationTimedOut)
	}
}
