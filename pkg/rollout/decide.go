package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Decide makes the plan for a snapshot. Equal snapshots give equal plans.
func Decide(s *Snapshot) *Plan {
	sel := newSelection(s)
	p := &Plan{Desired: s.desired(), IgnoredRefs: s.IgnoredRefs, Phases: make(map[string]Phase, len(sel.owners)), Counts: map[Phase]int{}}
	fleets := make([]*fleet, len(s.Refs))
	for i := range s.Refs {
		fleets[i] = newFleet(s, i, sel)
		p.Refs = append(p.Refs, outcome(s, fleets[i]))
		p.tally(s, fleets[i])
	}
	p.sortFailing()
	slices.Sort(p.Unheard)
	p.Records = p.records(s, fleets)

	if s.Aborted {
		p.planRollback(s, fleets, sel)
	} else {
		if p.decideAbort(s, fleets); p.Abort != nil {
			if s.Paused {
				p.holdAbort(s, fleets)
			}
			return p
		}
		p.returnAtOnce(s, fleets, sel)
		p.rollOut(s, fleets)
	}
	p.relabel(s, fleets)
	p.remove(s, sel)
	if !s.Aborted {
		p.judgeRollout()
	}
	p.noteNotKept(s, sel)
	if s.Paused {
		p.hold(s, fleets)
	}
	return p
}

// desired is the revision that every cluster shall have in the end.
func (s *Snapshot) desired() *Revision {
	if s.Aborted {
		return s.Current
	}
	return s.Update
}

// abortable reports whether a failure aborts the rollout: it is under way, there is a revision to go back to, and it is no undo (R12).
func (s *Snapshot) abortable() bool {
	return !s.Aborted && s.Current != nil && s.Current.Hash != s.Update.Hash && !s.undoes()
}

// usualName is the name that works have where nothing else has it (R9): the owner's.
func (s *Snapshot) usualName() string {
	_, name, _ := strings.Cut(s.Owner, ".")
	return name
}

func outcome(s *Snapshot, f *fleet) RefOutcome {
	v := f.judge()
	o := RefOutcome{Name: f.ref.Name, Err: f.err, Failed: v.failed, Halted: v.halted || f.haltHolds(s), closed: v.closed || s.Records.Lost && f.haltHolds(s),
		PlacementMissing: f.ref.Placement == nil, Phases: map[Phase]int{}}
	if s.abortable() {
		o.Undecided = f.undecided()
	}
	o.notePlacement(f.ref.Placement)
	o.SoakIgnored = f.strategy.soakIgnored
	if f.strategy.deadline != noDeadline {
		o.Deadline = f.strategy.deadline
	}
	waiting := slices.ContainsFunc(f.members, func(m member) bool { return m.phase == PhaseWaiting })
	for i := range f.members {
		o.count(&f.members[i], waiting)
	}
	return o
}

// count counts a member. waiting reports whether one of its ref waits.
func (o *RefOutcome) count(m *member, waiting bool) {
	if m.awaited() || m.phase == PhaseHandingOver && !o.Halted {
		o.awaited++
	}
	if m.phase == PhaseLeaving && !o.Halted && (m.owned || waiting) {
		// Where nothing is started any more, nothing follows from its being gone.
		o.Leaving = append(o.Leaving, m.cluster)
	}
	if !m.owned {
		return
	}
	o.Selected++
	o.Phases[m.phase]++
	if (m.phase == PhaseSucceeded || m.phase == PhaseSoaking) && !m.work.InHandover() {
		o.Updated++
	}
}

// notePlacement notes what a ref's Placement selects; nil where there is none.
func (o *RefOutcome) notePlacement(placement *Placement) {
	if placement == nil {
		return
	}
	o.Matches = placement.Matches()
	o.Decisions = placement.Decisions
	o.Groups = len(placement.Groups)
	o.PlacementSelected = placement.Selected
}

// tally counts a fleet's members into the plan.
func (p *Plan) tally(s *Snapshot, f *fleet) {
	for i := range f.members {
		m := &f.members[i]
		switch m.phase {
		case PhaseFailed, PhaseUnheard, PhaseDegraded, PhaseRefused, PhaseCompleted, PhaseStuck:
			if !m.uncounted || m.work.Deleting() {
				p.Failing = append(p.Failing, m.failing())
			}
		case PhaseSucceeded, PhaseHandingOver:
			if !s.Aborted && !m.work.settled(s.Update) {
				p.Settled = append(p.Settled, m.work)
			}
		}
		if !m.owned {
			continue
		}
		p.Phases[m.cluster] = m.phase
		p.Counts[m.phase]++
		if m.tolerable() {
			p.tolerated++
		}
		p.confirm(s, m)
		p.nameUnheard(s, m)
	}
}

// sortFailing sorts by cluster, and names each once. A work that is being deleted counts under the Placement that it has; that another
// ref waits until it is gone says nothing new.
func (p *Plan) sortFailing() {
	stuck := func(f Failing) int {
		if f.Phase == PhaseStuck {
			return 1
		}
		return 0
	}
	slices.SortFunc(p.Failing, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(stuck(a), stuck(b)))
	})
	p.Failing = slices.CompactFunc(p.Failing, func(a, b Failing) bool { return a.Cluster == b.Cluster })
}

func (p *Plan) confirm(s *Snapshot, m *member) {
	if m.work == nil || m.work.Deleting() || !m.work.At(p.Desired) {
		return
	}
	if Assess(m.work, p.Desired, s.Now).State == Succeeded {
		switch phase, ripe := settle(s, m.work, time.Time{}); {
		case phase != PhaseSucceeded && !s.Restored:
			p.recheckAt(s.Now, ripe)
		case !m.work.InHandover(): // What is kept goes first (R32).
			p.Confirmed++
		}
	}
	if !m.work.storedAsWritten(p.Desired) {
		p.Accepted = append(p.Accepted, m.work)
	}
}

// decideAbort aborts where a failed ref asks for it, a rollout is under way, and the revision to go back to is at hand (R12).
func (p *Plan) decideAbort(s *Snapshot, fleets []*fleet) {
	var reasons []string
	for i, f := range fleets {
		if p.Refs[i].Failed && f.strategy.abortAll {
			reasons = append(reasons, fmt.Sprintf("placement %s: %s", f.ref.Name, f.describeFailed()))
		}
	}
	switch {
	case len(reasons) == 0:
	case s.Current == nil:
		p.AbortBlocked = BlockedByAbsence
	case s.undoes():
		p.AbortBlocked = BlockedByUndo
	case s.Current.Hash != s.Update.Hash:
		p.Abort = &Abort{Reason: strings.Join(reasons, "; ")}
	}
}

// rollOut writes the update revision to the clusters whose turn it is, and adopts the works of an older hub.
func (p *Plan) rollOut(s *Snapshot, fleets []*fleet) {
	for i, f := range fleets {
		f.recheck(s, p)
		p.renewRetried(s, f)
		before := len(p.Writes)
		f.adopt(s, p)
		p.start(s, f, &p.Refs[i])
		p.trim(s, f, &p.Refs[i])
		f.adoptOlder(s, p, p.written(before))
		p.refusedClusters(s, f)
	}
}

// start writes the update revision to the clusters whose turn it is. A ref with too many failures gets nothing new (R10).
func (p *Plan) start(s *Snapshot, f *fleet, outcome *RefOutcome) {
	if f.err != nil {
		return
	}
	for i := range f.members {
		if m := &f.members[i]; m.putBack() {
			p.write(s, f, m, s.Update, f.why(s, m))
		}
	}
	if outcome.closed {
		return
	}
	next, err := f.turns(s, outcome)
	if err != nil {
		outcome.Err = err
		return
	}
	p.Postponed = append(p.Postponed, outcome.postponed...)
	for _, m := range next {
		p.write(s, f, m, s.Update, f.why(s, m))
	}
}

func (f *fleet) why(s *Snapshot, m *member) string {
	switch {
	case m.work == nil:
		return "selected by " + f.ref.Name
	case m.work.At(s.Update):
		return trimmed
	case m.phase == PhaseFailed || m.work.Hash() == s.Update.Hash:
		return "put back, it is not what was written"
	default:
		return "its turn in " + f.ref.Name
	}
}

func (f *fleet) recheck(s *Snapshot, p *Plan) {
	for i := range f.members {
		if next := f.members[i].next; next.After(s.Now) {
			p.recheckAt(s.Now, next)
		}
	}
	if f.haltHolds(s) {
		p.recheckAt(s.Now, f.graceEnd(s))
	}
}

func (p *Plan) write(s *Snapshot, f *fleet, m *member, rev *Revision, why string) {
	w := Write{Action: Update, Cluster: m.cluster, Placement: m.placement(f), Work: m.work, Why: why, Group: f.groups[m.group].Key(),
		Retry: m.refusal != nil || m.putBack()}
	if m.work == nil {
		w.Action = Create
	}
	p.add(s, w, rev)
}

// add adds a write of a revision, in the form that its cluster takes it in (R28).
func (p *Plan) add(s *Snapshot, w Write, rev *Revision) {
	form := s.formOf(w.Work, rev)
	if !form.ripe.IsZero() {
		p.Deferred++
		p.recheckAt(s.Now, form.ripe)
		return
	}
	w.Revision, w.KeptRevision, w.Trim = form.revision, form.kept, w.Work.at(rev)
	p.Writes = append(p.Writes, w)
}

// planRollback writes the current revision to every cluster that is not there, at once, whatever the strategies say: also to
// those whose Placement is missing, and to those that nothing selects for the moment (R12, P1).
func (p *Plan) planRollback(s *Snapshot, fleets []*fleet, sel *selection) {
	if s.Current == nil {
		return
	}
	for _, f := range fleets {
		for i := range f.members {
			if m := &f.members[i]; m.writable() && p.goesBack(s, m.work) {
				p.write(s, f, m, s.Current, s.whyBack(m.work))
			}
		}
	}
	for _, cluster := range sel.unselected() {
		w := sel.byCluster[cluster]
		if !p.goesBack(s, w) {
			continue
		}
		p.add(s, Write{Action: Update, Cluster: cluster, Placement: w.PlacementName(), Work: w, Why: s.whyBack(w)}, s.Current)
	}
	p.Behind = p.Deferred
	for i := range p.Writes {
		cluster := p.Writes[i].Cluster
		if _, refused := s.Refused[cluster]; !refused && !s.WrittenBack[cluster] && !p.Writes[i].Trim {
			p.Behind++
		}
	}
}

// writable reports whether a work can be written to the member's cluster.
func (m *member) writable() bool { return m.owned && (m.work == nil || !m.work.Deleting()) }

// at is At for a work that may not exist.
func (w *Work) at(rev *Revision) bool {
	return w != nil && w.At(rev)
}
