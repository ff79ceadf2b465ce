package rollout

import (
	"cmp"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The state of each cluster, and its reason:
//
//  1. The plan is the same as that of Decide. The phase of a cluster and its consequences come from the table in phase.go.
//  2. The time at which a phase changes by itself, and the next phase, come from computePhase with a later clock.
//  3. A cluster that the plan writes to waits for nothing. For any other cluster, the table determines what it waits for. The decision in
//     next.go determines whether a waiting cluster lacks a slot, a group or its turn (limit).

// Wait is the thing that a cluster waits for.
type Wait string

// The values of Wait.
const (
	// WaitNothing means that it waits for nothing: the plan writes to it, or its rollout has ended.
	WaitNothing Wait = ""
	// WaitTurn means that its turn has not come.
	WaitTurn Wait = "Turn"
	// WaitSlot means that the batch of its placementRef has no free slot.
	WaitSlot Wait = "Slot"
	// WaitGroup means that earlier decision groups are not done, or not known yet.
	WaitGroup Wait = "Group"
	// WaitBake means that the bakeTime of an earlier listed group has not passed.
	WaitBake Wait = "Bake"
	// WaitApproval means that its listed group is not approved.
	WaitApproval Wait = "Approval"
	// WaitAgent means that its agent has not reported on the revision.
	WaitAgent Wait = "Agent"
	// WaitManifests means that its agent reports a manifest or a condition rule that is not satisfied.
	WaitManifests Wait = "Manifests"
	// WaitSoak means that its success must last for minSuccessTime and the settle time.
	WaitSoak Wait = "Soak"
	// WaitSuccessGate means that a success gate is not True yet.
	WaitSuccessGate Wait = "SuccessGate"
	// WaitAcceptance means that the API server rejects its work.
	WaitAcceptance Wait = "Acceptance"
	// WaitHandover means that objects of another revision must be kept or deleted first, and that this is not possible yet.
	WaitHandover Wait = "Handover"
	// WaitDeletion means that its work must be deleted first.
	WaitDeletion Wait = "Deletion"
	// WaitPlacement means that the clusters that a Placement of the object selects are unknown, so no cluster is started.
	WaitPlacement Wait = "Placement"
	// WaitStrategy means that the strategy of its placementRef cannot be followed.
	WaitStrategy Wait = "Strategy"
	// WaitHalt means that its placementRef starts nothing new: too many clusters have failed, or may fail.
	WaitHalt Wait = "Halt"
	// WaitRollback means that the rollout is about to be aborted.
	WaitRollback Wait = "Rollback"
	// WaitAvailability means that the cluster is unavailable and is skipped.
	WaitAvailability Wait = "Availability"
	// WaitSelection means that the cluster is away and waits for a Placement to select it.
	WaitSelection Wait = "Selection"
	// WaitHold means that a hold keeps the cluster from new revisions. WaitWindow means that no window of the cluster is open.
	WaitHold   Wait = "Hold"
	WaitWindow Wait = "Window"
	// WaitResume means that a pause delays its write.
	WaitResume Wait = "Resume"
)

// Standing is the state of a cluster that counts in the rollout of the update revision.
type Standing struct {
	Cluster string
	// Placement is the Placement of the placementRef that the cluster belongs to.
	Placement string
	Phase     Phase
	// Since is the time at which the phase began; zero if that is unknown.
	Since time.Time
	// ChangesAt is the time at which the phase changes by itself, and Then is the phase after that; zero and empty if it
	// does not.
	ChangesAt time.Time
	Then      Phase
	// WaitsFor is what the cluster waits for.
	WaitsFor Wait
	// Rejection is the API server's answer to a rejected write, which restores the cluster during an abort; empty for any other.
	Rejection string
	// Gate is the type of the success gate that blocks its success or made it fail; empty for none.
	Gate string
	// Failed is true if the cluster counts against maxFailures.
	Failed bool
	// Halts is true if it counts against maxFailures when the next clusters are started: it has failed, or may fail.
	Halts bool
}

// Explain returns the state of each selected cluster: by placementRef in spec order, and by name.
func Explain(s *Snapshot) []Standing {
	return explain(s, func(m *member) bool { return m.owned })
}

// ExplainAll returns the same, and the state of each cluster that counts although nothing selects it, such as a cluster that is away.
func ExplainAll(s *Snapshot) []Standing {
	return explain(s, func(*member) bool { return true })
}

func explain(s *Snapshot, includes func(*member) bool) []Standing {
	p, states := decide(s)
	written := map[string]bool{}
	for _, w := range p.due().Writes {
		if w.Revision != nil && w.Revision.Hash == p.Desired.Hash {
			written[w.Cluster] = true
		}
	}
	standings := make([]Standing, 0, len(p.selection.members))
	for i, ps := range states {
		for _, m := range ps.members {
			if !includes(m) {
				continue
			}
			standing := Standing{
				Cluster: m.cluster, Placement: ps.ref.Name, Phase: m.phase.name, Since: m.since, Gate: m.gate,
				Failed: m.phase.fails, Halts: m.phase.halts,
			}
			if m.rejection != nil {
				standing.Rejection = m.rejection.Message
			} else if s.Aborted {
				standing.Rejection = p.Records.Unrestored[m.cluster].Message
			}
			standing.ChangesAt, standing.Then = ps.forecast(s, m)
			standing.WaitsFor = p.waitsFor(s, ps, &p.Refs[i], m, written[m.cluster])
			standings = append(standings, standing)
		}
	}
	return standings
}

// forecast returns the time at which the phase of a member changes by itself, and the next phase.
func (ps *placementState) forecast(s *Snapshot, m *member) (time.Time, Phase) {
	if !m.next.After(s.Now) || m.phase == agentUnknown { // Only a report from its agent changes this phase.
		return time.Time{}, ""
	}
	changed := member{phase: waiting, cluster: m.cluster, group: m.group, work: m.work, owned: m.owned, away: m.away}
	ps.computePhase(s.At(m.next), &changed)
	if changed.phase.name == m.phase.name {
		return time.Time{}, ""
	}
	return m.next, changed.phase.name
}

// waitsFor returns what a member waits for. written is true if the plan writes to it, or would do so without a pause.
func (p *Plan) waitsFor(s *Snapshot, ps *placementState, outcome *RefOutcome, m *member, written bool) Wait {
	wait := m.phase.waitsFor
	switch {
	case written && p.Held != nil:
		return WaitResume
	case m.rejection != nil && slices.Contains(p.Postponed, m.cluster):
		return WaitSlot
	case m.rejection != nil:
		return WaitAcceptance
	case written, s.Aborted && wait != WaitDeletion:
		return WaitNothing
	case m.phase.startable:
		return p.turnOf(s, ps, outcome, m)
	case m.phase == handingOver && p.Unknown():
		return WaitPlacement
	case m.phase == handingOver && outcome.Halted:
		return WaitHalt
	case m.phase == inFlight && reported(m.work):
		return WaitManifests
	}
	return wait
}

func (p *Plan) turnOf(s *Snapshot, ps *placementState, outcome *RefOutcome, m *member) Wait {
	switch {
	case p.Unknown():
		return WaitPlacement
	case outcome.Err != nil:
		return WaitStrategy
	case p.AbortDue() != nil:
		return WaitRollback
	case m.chosen || m.written: // The plan deferred its write.
		return WaitHandover
	case outcome.Halted:
		return WaitHalt
	}
	return cmp.Or(ps.ringWait(s, m), ps.limit)
}

func reported(w *work.Work) bool {
	conditions := w.Judged().Object.Status.Conditions
	for i := range conditions {
		if conditions[i].Type == workv1.WorkApplied && w.Observed(&conditions[i]) {
			return true
		}
	}
	return false
}
