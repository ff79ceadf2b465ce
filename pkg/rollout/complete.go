package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// When a rollout is complete (R13), and when it is stalled (R14):
//
//  1. Each placementRef counts its clusters by phase (outcome, tally).
//  2. It is complete when at least one cluster has succeeded, and each selected cluster has succeeded or has a tolerated failure. A
//     deletion that timed out counts as such a failure.
//  3. Failures are tolerated as long as they halt no placementRef, and do not exceed maxFailures for the selected clusters alone.
//  4. It is not complete before all selections are known (moving), nor before the deadline of an unselected cluster whose failure
//     could still abort it. A cluster that is away counts as if it were selected, if it has the update revision (away.go).
//  5. It is stalled when it is not complete, no outcome is awaited, no cluster is next, and at least one cluster is in Failing (plan.go).

func (p *Plan) setCompletion() {
	p.Behind = p.Counts[PhaseWaiting]
	succeeded, awaited, undecided := p.Counts[PhaseSucceeded], 0, p.IgnoredRefs > 0
	for i := range p.Refs {
		ref := &p.Refs[i]
		awaited += ref.awaited + len(ref.Terminating)
		undecided = undecided || !ref.SelectionKnown || len(ref.Undecided) > 0 || ref.gatesPassedOver
	}
	p.Complete = succeeded > 0 && p.reached(succeeded, p.awaySettled) && !undecided
	p.Stalled = !p.Complete && !p.Unknown() && !p.RollsOut() && awaited == 0 && p.Deferred == 0 && p.stopped()
	if p.Complete {
		p.Groups = nil // No group waits any more.
	}
}

// stopped reports whether failed clusters or a missing listed group stop the rollout, and no listed group is about to begin.
func (p *Plan) stopped() bool {
	stopped := len(p.Failing) > 0
	for i := range p.Refs {
		if ref := &p.Refs[i]; ref.missing {
			stopped = true
		} else if ref.gated() {
			return false
		}
	}
	return stopped
}

// reached reports whether the given numbers of selected clusters and of clusters that are away cover all clusters that count, except those
// whose failure is tolerated.
func (p *Plan) reached(clusters, away int) bool {
	return clusters > 0 && clusters+away+p.tolerated+p.awayTolerated == p.Selected()-p.Counts[PhaseSkipped]-p.Counts[PhaseHeld]+p.awayCounted && p.tolerable()
}

// RolledOut reports whether every selected cluster has the update revision, except those whose failure is tolerated.
func (p *Plan) RolledOut() bool { return p.reached(p.Updated(), p.awayUpdated) }

// Tolerated returns how many selected clusters have failed without preventing completion.
func (p *Plan) Tolerated() int {
	if !p.tolerable() {
		return 0
	}
	return p.tolerated
}

// tolerable reports whether every placementRef tolerates its failures.
func (p *Plan) tolerable() bool {
	return p.tolerated+p.awayTolerated == 0 || !slices.ContainsFunc(p.Refs, func(ref RefOutcome) bool { return ref.Halted || ref.overSelected })
}

// moving returns the clusters that have just left the Placement, and that OCM may be moving to another of its decisions. OCM may still be
// writing a selection that is empty or has several slices. Such a selection is known only when each work that names the placementRef, and
// whose cluster no placementRef selects any more, is being deleted or stays because its cluster is away.
func (ps *placementState) moving(s *Snapshot) (clusters []string) {
	if !ps.ref.Placement.Empty() && !ps.ref.MayBeWritten() {
		return nil
	}
	for _, w := range ps.leaving {
		away, _ := s.away(w.Cluster())
		if !w.Deleting() && (!away || !s.leftUntil(ps.selection.first[ps.ref.Name], w).IsZero()) {
			clusters = append(clusters, w.Cluster())
		}
	}
	return clusters
}

func outcome(s *Snapshot, ps *placementState, index int) RefOutcome {
	o := RefOutcome{
		Ref: ps.ref, Err: ps.err, Failed: ps.fails(), Halted: ps.halts(s), Deadline: ps.deadline(),
		overSelected: ps.exceedsSelected(func(m *member) bool { return m.phase.tolerated }),
		Unknown:      ps.selection.unknown[index], SoakIgnored: ps.strategy.SoakIgnored, Phases: map[Phase]int{},
	}
	if s.canBeAborted() {
		o.Undecided = ps.undecided()
	}
	if !o.Unknown && ps.ref.Settled() {
		o.Moving = ps.moving(s)
		o.SelectionKnown = len(o.Moving) == 0
	}
	anyWaits := ps.any(func(m *member) bool { return m.phase.name == PhaseWaiting })
	for _, m := range ps.members {
		if ps.holds(m, m.phase.awaited, o.Halted) {
			o.awaited++
		}
		o.count(m, anyWaits)
	}
	return o
}

// count counts a member. anyWaits is true if a cluster of the placementRef waits.
func (o *RefOutcome) count(m *member, anyWaits bool) {
	row := m.phase
	if row.name == PhaseTerminating && !o.Halted && (m.owned || anyWaits) {
		// If nothing more is started, the deletion has no effect.
		o.Terminating = append(o.Terminating, m.cluster)
	}
	if !m.owned {
		return
	}
	o.Selected++
	if m.invalid {
		o.invalid++
	}
	o.Phases[row.name]++
	if row.updated && !m.work.InHandover() {
		o.Updated++
	}
}

func (p *Plan) tally(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		row := m.phase
		if row.listed || m.rejection != nil || m.phase == overdueUnselected && m.work.Deleting() {
			p.Failing = append(p.Failing, m.failing())
		}
		if row.settled && !s.Aborted && !m.work.Settled(s.Update) {
			p.Settled = append(p.Settled, m.work)
		}
		if m.work == nil && m.mayBeInFlight(s) {
			// Over a broker, the next clusters and the conditions change when the hub first hears from the agent of this cluster. But if nothing is
			// written to the cluster, no event triggers a pass (P7).
			p.recheckAt(s.Now, s.Now.Add(unknownRecheck))
		}
		if m.away {
			p.tallyAway(m, !s.Aborted && ps.holds(m, row.awaited, false))
		}
		if !m.owned {
			continue
		}
		p.notePassedOver(s, ps, m)
		if row.tolerated {
			p.tolerated++
		}
		p.confirm(s, m)
		p.nameUnknownAgent(s, m)
	}
}

// notePassedOver records a cluster that is skipped, on hold, or outside its windows.
func (p *Plan) notePassedOver(s *Snapshot, ps *placementState, m *member) {
	switch m.phase {
	case skipped:
		since := s.Clusters[m.cluster].UnavailableSince
		p.Away = append(p.Away, AwayCluster{Cluster: m.cluster, Placement: ps.ref.Name, Since: since, Skipped: true})
	case held, closed:
		p.OnHold = append(p.OnHold, HeldCluster{Cluster: m.cluster, Placement: ps.ref.Name, Hold: s.Holds[m.cluster]})
		p.recheckAt(s.Now, m.next)
	}
}

// tallyAway counts a cluster that is away and has the update revision.
func (p *Plan) tallyAway(m *member, awaited bool) {
	row := m.phase
	p.awayCounted++
	if awaited {
		p.AwaitedAway = append(p.AwaitedAway, m.cluster)
	}
	switch {
	case row.tolerated:
		p.awayTolerated++
	case row.settled, m.phase == overdueUnselected: // It had succeeded, and nothing selects it, so a relapse does not count.
		p.awaySettled++
	}
	if row.updated {
		p.awayUpdated++
	}
}

func (m *member) failing() Failing {
	failing := Failing{Cluster: m.cluster, Phase: m.phase.name}
	if m.rejection != nil {
		failing.Rejected = m.rejection.Message
	}
	return failing
}

// sortFailing sorts the entries by cluster, and keeps one for each cluster. A work that is being deleted counts under the Placement in its
// label. A second entry, from another placementRef that waits for the deletion, would add no information.
func (p *Plan) sortFailing() {
	timedOut := func(f Failing) int {
		if f.Phase == PhaseTerminationTimedOut {
			return 1
		}
		return 0
	}
	slices.SortFunc(p.Failing, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(timedOut(a), timedOut(b)))
	})
	p.Failing = slices.CompactFunc(p.Failing, func(a, b Failing) bool { return a.Cluster == b.Cluster })
}

// confirm counts a cluster whose success at the desired revision has lasted long enough.
func (p *Plan) confirm(s *Snapshot, m *member) {
	at, state := m.atUpdate, m.state
	if s.Aborted {
		if at = m.work.At(p.Desired); at {
			state = work.Assess(m.work, p.Desired, s.Now).State
		}
	}
	if !at || m.work.Deleting() {
		return
	}
	if state == work.Succeeded {
		p.confirmWork(s, m.work)
	}
	if !m.work.StoredAsWritten(p.Desired) {
		p.Accepted = append(p.Accepted, m.work)
	}
}

// confirmWork counts a success at the desired revision if it has lasted long enough, and reports whether it has.
func (p *Plan) confirmWork(s *Snapshot, w *work.Work) bool {
	switch phase, ripe := soakPhase(s, w, time.Time{}); {
	case phase != succeeded && !s.Restored:
		p.recheckAt(s.Now, ripe)
		return false
	case w.InHandover(): // The kept objects must be deleted first.
		return false
	}
	p.Confirmed++
	return true
}
