package rollout

import (
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The order of the decision groups in rolloutStrategy.groups (R47):
//
//  1. The entries in the list begin one after the other, and the other clusters follow. An entry passes, and the next entry may begin,
//     when its group has clusters that belong to the placementRef and is approved, if required, all of its clusters are done, at least one
//     of them succeeded (allFailed), and its bakeTime has passed (firstWaiting).
//  2. A cluster is done when it succeeded, failed within the limits, or does not count. If a cluster joins an entry that has passed, or
//     relapses in it, it holds back the later clusters that have not begun (finished).
//  3. The bakeTime runs from the last success in the entry. That time is recorded in the ledger when the entry is done, because works do
//     not always show it (bakeFrom).
//  4. An entry with its own maxConcurrency or maxFailures does not count toward the strategy's (pool, failureLimits).
//  5. The list does not hold back an undo at once, or a cluster that joins after the completion (ringsHold).
//  6. A rollout that waits for a bakeTime or an approval is in progress. It is stalled if a group is still missing missingFor after the
//     beginning (noteGroups), or if every cluster of a group has failed and other clusters follow.

// GroupPhase is the progress of a listed decision group.
type GroupPhase string

// The phases of a listed group, in their order.
const (
	// GroupMissing means that no cluster of the group belongs to the placementRef: neither the group nor the clusters after it begin.
	GroupMissing GroupPhase = "Missing"
	// GroupWaiting means that an earlier group has not passed.
	GroupWaiting GroupPhase = "Waiting"
	// GroupUnapproved means that the group waits only for its approval.
	GroupUnapproved GroupPhase = "Unapproved"
	// GroupRunning means that the clusters of the group get the update revision.
	GroupRunning GroupPhase = "Running"
	// GroupFailed means that every cluster of the group has failed, within the limits: no later cluster starts until one of its clusters succeeds.
	GroupFailed GroupPhase = "Failed"
	// GroupBaking means that the group is done, but its bakeTime has not passed.
	GroupBaking GroupPhase = "Baking"
	// GroupDone means that the group no longer holds anything back.
	GroupDone GroupPhase = "Done"
)

// GroupState is the state of a decision group that rolloutStrategy.groups lists, while the rollout is in progress.
type GroupState struct {
	// Placement is the Placement of its placementRef.
	Placement string
	// Group is the groupName of its entry in the list, or its groupIndex as text.
	Group string
	State GroupPhase
	// For is the group that it waits for if the state is Waiting; empty otherwise.
	For string
	// Until is the end of its bakeTime if the state is Baking, and the time at which a missing group stalls the rollout if that is not past;
	// zero otherwise.
	Until time.Time
	// NeedsApproval is true if the group waits, or will wait, for an approval that it does not have.
	NeedsApproval bool
	// BakeTime is the time for which it bakes after its last success.
	BakeTime time.Duration
	// Clusters is the number of its clusters that count, and Unfinished names, sorted, those that must succeed first.
	Clusters   int
	Unfinished []string
}

// missingFor is the time for which a listed group may be missing after the beginning of a rollout.
const missingFor = 10 * time.Minute

// maxBaking bounds the records about bakeTimes.
const maxBaking = 100

// ring is an entry in the list with its clusters.
type ring struct {
	*workv1alpha1.RolloutGroup
	// exists is true if a cluster of the group belongs to the placementRef.
	exists bool
	// size is the number of its clusters that count, failed is the number of them that have failed within the limits, and unfinished names
	// those that are not done.
	size, failed int
	unfinished   []string
	// recorded is the recorded time of the last success in the entry, and succeeded is that time according to its works; zero for none. from
	// is the time at which the bakeTime of the entry began; zero if it has no bakeTime, or if the bakeTime has not begun.
	recorded, succeeded, from time.Time
	approved                  bool
}

// ringsHold reports whether listed groups hold clusters back.
func (s *Snapshot) ringsHold() bool { return !s.Aborted && !s.Ended && !s.returns() }

func (ps *placementState) openRings(s *Snapshot) {
	if ps.err != nil || len(ps.strategy.Rings) == 0 {
		return
	}
	ps.gatherRings(s)
	ps.open = len(ps.rings)
	if first := ps.firstWaiting(s); s.ringsHold() && first < len(ps.rings) {
		ps.open = first
		if r := &ps.rings[first]; !r.exists || !r.approved {
			ps.open = first - 1
		}
	}
}

func (ps *placementState) gatherRings(s *Snapshot) {
	ps.rings = make([]ring, len(ps.strategy.Rings))
	for i := range ps.rings {
		r := &ps.strategy.Rings[i]
		ps.rings[i] = ring{RolloutGroup: r, approved: !r.NeedsApproval() || s.Approved[r.Label()]}
		ps.rings[i].recorded = s.notAhead(s.Records.Baking[ps.bakingKey(&ps.rings[i])])
	}
	for _, m := range ps.members {
		if r := ps.ringOf[m.group]; r < len(ps.rings) {
			ps.rings[r].add(m, s)
		}
	}
	for i := range ps.rings {
		ps.rings[i].from = ps.rings[i].bakeFrom(s)
	}
}

func (r *ring) add(m *member, s *Snapshot) {
	r.exists = true
	if !m.countsAtAll() {
		return
	}
	r.size++
	if !m.finished() {
		r.unfinished = append(r.unfinished, m.cluster)
	}
	if m.phase.tolerated {
		r.failed++
	}
	if m.phase == succeeded {
		r.succeeded = work.Later(r.succeeded, m.succeededAt(s, r.recorded))
	}
}

// finished reports whether a member no longer holds back later listed groups.
func (m *member) finished() bool {
	return m.phase.done || m.phase.tolerated || m.phase == overdueUnselected
}

// allFailed reports whether every cluster of an entry has failed. An entry whose clusters are all skipped or on hold has not failed.
func (r *ring) allFailed() bool { return r.size > 0 && r.failed == r.size }

// succeededAt returns the time at which a member succeeded. An agent may report no transition, and its clock may be behind. So if the
// success is later than the recorded time of the entry, it counts from when this process first saw it. After a restart, the wait can be
// longer, but is never shorter.
func (m *member) succeededAt(s *Snapshot, recorded time.Time) time.Time {
	if !recorded.IsZero() && !recorded.Before(m.work.Begin(s.Update)) {
		return m.since
	}
	return work.Later(m.since, m.work.SucceededSince)
}

// bakeFrom returns the time at which the bakeTime of an entry began: with its last success, as recorded or according to its works,
// whichever is later.
func (r *ring) bakeFrom(s *Snapshot) time.Time {
	switch from := work.Later(r.recorded, s.notAhead(r.succeeded)); {
	case r.Bake() == 0 || len(r.unfinished) > 0:
		return time.Time{}
	case from.IsZero() && !r.succeeded.IsZero():
		return s.Now
	default: // Its clusters may have left it since they succeeded.
		return from
	}
}

// notAhead returns the given time, or zero if it is in the future because the clock was set back. The clock of an agent may be slightly
// ahead.
func (s *Snapshot) notAhead(at time.Time) time.Time {
	if at.After(s.Now.Add(time.Minute)) {
		return time.Time{}
	}
	return at
}

// bakingKey is the key of an entry in Records.Baking. The name of a Placement has no slash.
func (ps *placementState) bakingKey(r *ring) string { return ps.ref.Name + "/" + r.Label() }

// noteBaking records when the bakeTime of each entry began. An entry that is not done keeps its record.
func (ps *placementState) noteBaking(s *Snapshot, found map[string]time.Time) {
	for i := range ps.rings {
		key, from := ps.bakingKey(&ps.rings[i]), ps.rings[i].from
		if recorded, known := s.Records.Baking[key]; known && (from.IsZero() || !s.ringsHold()) {
			from = recorded
		} else if !s.ringsHold() {
			continue
		}
		if !from.IsZero() && len(found) < maxBaking {
			found[key] = work.Later(found[key], from) // Several placementRefs may have the Placement.
		}
	}
}

// firstWaiting returns the position of the first entry that has not passed, or the number of entries if all have. OCM writes the decisions
// first and the count last: until they match, an entry may get more clusters.
func (ps *placementState) firstWaiting(s *Snapshot) int {
	for i := range ps.rings {
		r := &ps.rings[i]
		if !r.exists || !r.approved || len(r.unfinished) > 0 || r.allFailed() || r.bakes(s) || !ps.ref.Settled() {
			return i
		}
	}
	return len(ps.rings)
}

func (r *ring) bakes(s *Snapshot) bool {
	return !r.from.IsZero() && s.Now.Before(r.from.Add(r.Bake()))
}

// ringWait returns why the listed groups hold a member back; empty if they do not.
func (ps *placementState) ringWait(s *Snapshot, m *member) Wait {
	unit := ps.ringOf[m.group]
	if len(ps.rings) == 0 || unit <= ps.open {
		return WaitNothing
	}
	switch r := &ps.rings[ps.firstWaiting(s)]; {
	case r.exists && !r.approved && unit == ps.open+1:
		return WaitApproval
	case r.exists && r.approved && len(r.unfinished) == 0 && r.bakes(s):
		return WaitBake
	}
	return WaitGroup
}

// noteGroups adds the states of the listed groups to the plan, and notes when they change. It sets outcome.gate to the state of the first
// entry that has not passed. It sets outcome.missing if the group of that entry is still missing missingFor after the beginning.
func (p *Plan) noteGroups(s *Snapshot, ps *placementState, outcome *RefOutcome) {
	if len(ps.rings) == 0 || !s.ringsHold() {
		return
	}
	first := ps.firstWaiting(s)
	for i := range ps.rings {
		g := ps.groupState(s, i, first)
		p.recheckAt(s.Now, g.Until)
		p.Groups = append(p.Groups, g)
		if i == first && !outcome.Halted {
			outcome.gate = g.State
		}
	}
	from := first
	if outcome.gate == GroupFailed {
		from++ // Its own clusters wait for nothing.
	}
	passedOver := func(m *member) bool { return !m.countsAtAll() && ps.ringOf[m.group] >= from }
	outcome.gatesPassedOver = (outcome.gated() || outcome.gate == GroupFailed) && ps.any(passedOver)
	outcome.missing = outcome.gate == GroupMissing && !s.Now.Before(s.Began.Add(missingFor))
}

// groupState returns the state of an entry. first is the position of the first entry that has not passed.
func (ps *placementState) groupState(s *Snapshot, i, first int) GroupState {
	r := &ps.rings[i]
	g := GroupState{
		Placement: ps.ref.Name, Group: r.Label(), State: GroupDone, NeedsApproval: !r.approved, BakeTime: r.Bake(),
		Clusters: r.size, Unfinished: r.unfinished,
	}
	switch {
	case i < first:
	case !r.exists:
		g.State = GroupMissing
		if until := s.Began.Add(missingFor); i == first && s.Now.Before(until) {
			g.Until = until
		}
	case i > first:
		g.State, g.For = GroupWaiting, ps.rings[first].Label()
	case !r.approved:
		g.State = GroupUnapproved
	case r.allFailed():
		g.State = GroupFailed
	case len(r.unfinished) > 0 || !r.bakes(s):
		g.State = GroupRunning
	default:
		g.State, g.Until = GroupBaking, r.from.Add(r.Bake())
	}
	return g
}

// gated reports whether a placementRef waits for a bakeTime, an approval or a missing group.
func (o *RefOutcome) gated() bool {
	return o.gate == GroupBaking || o.gate == GroupUnapproved || o.gate == GroupMissing
}

// ownFailures returns the position of a decision group in the list, and reports whether its entry has its own maxFailures.
func (ps *placementState) ownFailures(group int) (at int, own bool) {
	at = ps.ringOf[group]
	return at, at < len(ps.rings) && ps.rings[at].MaxFailures != nil
}

// describeRings describes the failures of the listed groups that have their own maxFailures; empty if they are not the cause.
func (ps *placementState) describeRings() string {
	limits := ps.failureLimits(0, (*member).failed, (*member).countsAtAll)
	for g := range ps.groups {
		if r, own := ps.ownFailures(g); own && limits[g].exceeded() {
			return fmt.Sprintf("maxFailures of group %s is %s", ps.rings[r].Label(), ps.rings[r].MaxFailures)
		}
	}
	return ""
}
