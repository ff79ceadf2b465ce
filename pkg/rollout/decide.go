package rollout

import (
	"slices"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Decide returns the plan for a snapshot. Equal snapshots give equal plans.
func Decide(s *Snapshot) *Plan {
	p, _ := decide(s)
	return p
}

// decide returns the plan and the state of each placementRef.
func decide(s *Snapshot) (*Plan, []*placementState) {
	sel := newSelection(s)
	p := &Plan{Desired: s.desired(), IgnoredRefs: s.IgnoredRefs, Counts: map[Phase]int{}, selection: sel, Served: s.Served}
	states := make([]*placementState, len(s.Refs))
	for i := range s.Refs {
		states[i] = newPlacementState(s, i, sel)
		p.Refs = append(p.Refs, outcome(s, states[i], i))
		for phase, n := range p.Refs[i].Phases {
			p.Counts[phase] += n
		}
		p.tally(s, states[i])
		p.noteGates(s, states[i])
	}
	p.sortFailing()
	p.noteAway(s, sel)
	slices.SortFunc(p.Away, func(a, b AwayCluster) int { return strings.Compare(a.Cluster, b.Cluster) })
	slices.SortFunc(p.OnHold, func(a, b HeldCluster) int { return strings.Compare(a.Cluster, b.Cluster) })
	for _, known := range sel.staying {
		p.recheckAt(s.Now, known.until)
	}
	slices.Sort(p.AgentUnknown)
	p.Records = p.records(s, states)
	if s.RetriedUntil.After(s.Now) {
		p.recheckAt(s.Now, s.RetriedUntil)
	}

	switch {
	case s.Aborted:
		p.planRollback(s, states, sel)
	case p.decideAbort(s, states):
		if s.Paused {
			p.holdAbort(s, states)
		}
		return p, states
	default:
		p.returnAtOnce(s, states, sel)
		p.rollOut(s, states)
	}
	p.relabel(s.ownerMetadata(), states)
	p.remove(s, sel)
	if !s.Aborted {
		p.setCompletion()
		p.standIn(s, states)
	}
	p.setOwner(s)
	p.noteNotKept(s, sel)
	if s.Paused {
		p.hold(s, states)
	}
	return p, states
}

func (s *Snapshot) ownerMetadata() *work.OwnerMetadata {
	owner := work.NewOwnerMetadata(s.Owner, s.Labels, s.Heard != nil)
	if s.OwnerHash {
		owner.AddHash()
	}
	return owner
}

func (p *Plan) setOwner(s *Snapshot) {
	owner := s.ownerMetadata()
	for i := range p.Writes {
		p.Writes[i].Owner = owner
	}
}

// rollOut writes the update revision to the clusters whose turn it is, and adopts the works of an older hub.
func (p *Plan) rollOut(s *Snapshot, states []*placementState) {
	for i, ps := range states {
		p.recheck(s, ps)
		p.noteGroups(s, ps, &p.Refs[i])
		p.renewRetried(s, ps)
		p.adoptUpdate(s, ps)
		if !p.Unknown() {
			p.start(s, ps, &p.Refs[i])
			p.trim(s, ps, &p.Refs[i])
		}
		p.adoptOlder(s, ps)
	}
}

func (p *Plan) recheck(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		if m.next.After(s.Now) {
			p.recheckAt(s.Now, m.next)
		}
	}
	if ps.haltHolds(s) {
		p.recheckAt(s.Now, s.Gap.Over(ps.strategy.Deadline))
	}
}

func (p *Plan) write(s *Snapshot, ps *placementState, m *member, rev *work.Revision, why string) {
	w := Write{Action: Update, Cluster: m.cluster, Placement: m.placement(ps), Work: m.work, Why: why, Group: ps.groups[m.group].Key(),
		Retry: m.rejection != nil || m.writtenAgain(), LastTry: m.lastTry, StandIn: !s.Aborted && rev.Hash != s.Update.Hash}
	if m.work == nil {
		w.Action = Create
	}
	m.inPlan = p.add(s, w, rev)
}

// add adds a write of a revision, in the form that its cluster gets, and reports whether that form is known.
func (p *Plan) add(s *Snapshot, w Write, rev *work.Revision) (known bool) {
	form := s.formOf(w.Work, rev)
	if !form.ripe.IsZero() {
		p.Deferred++
		p.recheckAt(s.Now, form.ripe)
		return false
	}
	w.Revision, w.KeptRevision, w.Trim = form.revision, form.kept, w.Work.At(rev)
	p.Writes = append(p.Writes, w)
	return true
}

// recheckAt notes the time of a change that no event announces.
func (p *Plan) recheckAt(now, at time.Time) {
	if at.IsZero() {
		return
	}
	wait := max(at.Sub(now), time.Millisecond)
	if p.Recheck == 0 || wait < p.Recheck {
		p.Recheck = wait
	}
}
