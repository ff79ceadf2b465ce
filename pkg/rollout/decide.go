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

	if s.Aborted {
		p.planRollback(s, fleets, sel)
	} else {
		if p.decideAbort(s, fleets); p.Abort != nil {
			return p
		}
		p.rollOut(s, fleets)
	}
	p.relabel(s, fleets)
	p.remove(s, sel)
	if !s.Aborted {
		p.judgeRollout()
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
	o := RefOutcome{Name: f.ref.Name, Err: f.err, Failed: v.failed, Halted: v.halted, closed: v.closed, PlacementMissing: f.ref.Placement == nil}
	if s.abortable() {
		o.Undecided = v.undecided
	}
	if placement := f.ref.Placement; placement != nil {
		o.Matches = placement.Matches()
		o.Decisions = placement.Decisions
		o.Groups = len(placement.Groups)
		o.PlacementSelected = placement.Selected
	}
	o.SoakIgnored = f.strategy.soakIgnored
	if f.strategy.deadline != noDeadline {
		o.Deadline = f.strategy.deadline
	}
	waiting := slices.ContainsFunc(f.members, func(m member) bool { return m.phase == PhaseWaiting })
	for i := range f.members {
		m := &f.members[i]
		if m.awaited() {
			o.awaited++
		}
		if m.phase == PhaseLeaving && !v.halted && (m.owned || waiting) {
			// Where nothing is started any more, nothing follows from its being gone.
			o.Leaving = append(o.Leaving, m.cluster)
		}
		if !m.owned {
			continue
		}
		o.Selected++
		if m.phase == PhaseSucceeded || m.phase == PhaseSoaking {
			o.Updated++
		}
	}
	return o
}

// tally counts a fleet's members into the plan.
func (p *Plan) tally(s *Snapshot, f *fleet) {
	for i := range f.members {
		m := &f.members[i]
		switch m.phase {
		case PhaseFailed, PhaseUnheard, PhaseDegraded, PhaseRefused, PhaseCompleted, PhaseStuck:
			p.Failing = append(p.Failing, m.failing())
		case PhaseSucceeded:
			if !s.Aborted && !m.work.settled(s.Update) {
				p.Settled = append(p.Settled, m.work)
			}
		}
		if !m.owned {
			continue
		}
		p.Phases[m.cluster] = m.phase
		p.Counts[m.phase]++
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
		phase, ripe := settle(s, m.work, time.Time{})
		if phase == PhaseSucceeded || s.Restored {
			p.Confirmed++
		} else {
			p.recheckAt(s.Now, ripe)
		}
	}
	if m.work.Digest != p.Desired.Digest {
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

func (f *fleet) describeFailed() string {
	var late, looping []string
	mandatory := false
	for i := range f.members {
		m := &f.members[i]
		switch {
		case m.phase != PhaseFailed:
			continue
		case m.looping:
			looping = append(looping, m.cluster)
		default:
			late = append(late, m.cluster)
		}
		mandatory = mandatory || f.strategy.isMandatory(&f.groups[m.group])
	}
	allowed := "maxFailures is " + f.strategy.maxFailures.String()
	if mandatory {
		allowed = "a mandatory decision group tolerates no failure"
	}
	var parts []string
	if len(late) > 0 {
		parts = append(parts, fmt.Sprintf("%s: not successful within progressDeadline %s%s", f.failed(late), f.strategy.deadline, f.describeRefused()))
	}
	if len(looping) > 0 {
		parts = append(parts, fmt.Sprintf("%s: not settled within %s", f.failed(looping), 2*(f.strategy.deadline+f.strategy.minSuccessTime)))
	}
	return strings.Join(append(parts, allowed), ", ")
}

// failed counts clusters that failed, of all that count for the ref, and names the first of them.
func (f *fleet) failed(clusters []string) string {
	all := "1 cluster"
	if len(f.members) != 1 {
		all = fmt.Sprintf("%d clusters", len(f.members))
	}
	return fmt.Sprintf("%d of %s failed (%s)", len(clusters), all, first(clusters))
}

// namesShown bounds the clusters that a message names: a message is for a person, and a condition's may hold 32 KiB.
const namesShown = 5

// Names counts clusters and names the first of them.
func Names(clusters []string) string {
	if len(clusters) == 1 {
		return "1 cluster (" + clusters[0] + ")"
	}
	return fmt.Sprintf("%d clusters (%s)", len(clusters), first(clusters))
}

// first names the first of some clusters.
func first(clusters []string) string {
	if len(clusters) <= namesShown {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:namesShown], ", "), len(clusters)-namesShown)
}

// rollOut writes the update revision to the clusters whose turn it is, and adopts the works of an older hub.
func (p *Plan) rollOut(s *Snapshot, fleets []*fleet) {
	for i, f := range fleets {
		f.recheck(s, p)
		before := len(p.Writes)
		f.adopt(s, p)
		p.start(s, f, &p.Refs[i])
		f.adoptOlder(s, p, p.written(before))
		p.refusedClusters(s, f)
	}
}

// start writes the update revision to the clusters whose turn it is. A ref with too many failures gets nothing new (R10).
func (p *Plan) start(s *Snapshot, f *fleet, outcome *RefOutcome) {
	if f.err != nil || outcome.closed {
		return
	}
	next, err := f.turns(s, outcome)
	if err != nil {
		outcome.Err = err
		return
	}
	p.Postponed = append(p.Postponed, outcome.postponed...)
	for _, m := range next {
		p.write(f, m, s.Update, f.why(s, m))
	}
}

// adopt labels what an older hub wrote and is the update revision already: nothing on the cluster changes, so that no
// strategy is asked (R6).
func (f *fleet) adopt(s *Snapshot, p *Plan) {
	for i := range f.members {
		m := &f.members[i]
		if !m.unlabelled() || m.work.Digest != s.Update.Digest || m.refused() && !m.retriable(s.Now) {
			continue
		}
		if m.refused() {
			m.retried = true // Until the API server accepts the write, it stays among the refused ones (P7).
		} else {
			m.phase = PhaseInFlight
		}
		p.adopt(f, m, s.Update)
	}
}

// adoptOlder labels what an older hub wrote and is an older revision. Its turn for the update revision comes as any other's.
func (f *fleet) adoptOlder(s *Snapshot, p *Plan, written map[*Work]bool) {
	for i := range f.members {
		m := &f.members[i]
		if !m.unlabelled() || written[m.work] {
			continue
		}
		older := slices.IndexFunc(s.Older, func(rev *Revision) bool { return rev.Digest == m.work.Digest })
		if older >= 0 {
			p.adopt(f, m, s.Older[older])
		}
	}
}

// written are the works that the plan writes, from one of its writes on.
func (p *Plan) written(from int) map[*Work]bool {
	written := make(map[*Work]bool, len(p.Writes)-from)
	for i := range p.Writes[from:] {
		written[p.Writes[from+i].Work] = true
	}
	return written
}

func (m *member) unlabelled() bool {
	return (m.phase == PhaseWaiting || m.refused()) && m.work != nil && !m.work.Deleting() && m.work.Hash() == ""
}

func (p *Plan) adopt(f *fleet, m *member, rev *Revision) {
	p.Writes = append(p.Writes, Write{
		Action: Adopt, Cluster: m.cluster, Placement: m.placement(f), Work: m.work, Revision: rev,
		Group: f.groups[m.group].Key(), Why: "its spec is this revision already", retry: m.refusal != nil,
	})
}

func (f *fleet) why(s *Snapshot, m *member) string {
	switch {
	case m.work == nil:
		return "selected by " + f.ref.Name
	case m.work.Hash() == s.Update.Hash:
		return "put back, it is not what was written"
	default:
		return "its turn in " + f.ref.Name
	}
}

func (f *fleet) recheck(s *Snapshot, p *Plan) {
	for i := range f.members {
		p.recheckAt(s.Now, f.members[i].next)
	}
}

func (p *Plan) write(f *fleet, m *member, rev *Revision, why string) {
	w := Write{Action: Update, Cluster: m.cluster, Placement: m.placement(f), Work: m.work, Revision: rev, Why: why, Group: f.groups[m.group].Key(), retry: m.refusal != nil}
	if m.work == nil {
		w.Action = Create
	}
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
			if m := &f.members[i]; m.owned && (m.work == nil || !m.work.Deleting()) && !m.work.at(s.Current) {
				p.write(f, m, s.Current, "aborted")
			}
		}
	}
	for _, cluster := range sel.unselected() {
		w := sel.byCluster[cluster]
		if w.At(s.Current) {
			continue
		}
		p.Writes = append(p.Writes, Write{
			Action: Update, Cluster: cluster, Placement: w.PlacementName(), Work: w, Revision: s.Current, Why: "aborted",
		})
	}
	for i := range p.Writes {
		cluster := p.Writes[i].Cluster
		if _, refused := s.Refused[cluster]; !refused && !s.WrittenBack[cluster] {
			p.Behind++
		}
	}
}

// at is At for a work that may not exist.
func (w *Work) at(rev *Revision) bool {
	return w != nil && w.At(rev)
}

// judgeRollout reports whether the rollout is over: complete (R13), or stalled (R14).
func (p *Plan) judgeRollout() {
	p.Behind = p.Counts[PhaseWaiting]
	selected := p.Selected()
	p.Complete = selected > 0 && p.decisionsKnown() && p.Counts[PhaseSucceeded] == selected && p.decided()
	p.Stalled = !p.Complete && !p.RollsOut() && p.awaited() == 0 && !p.startable() && len(p.Failing) > 0
}

// decided says that no cluster which is on its way out could still lead to an abort.
func (p *Plan) decided() bool {
	return !slices.ContainsFunc(p.Refs, func(ref RefOutcome) bool { return len(ref.Undecided) > 0 })
}

// awaited reports whether an outcome is still to come: a degraded cluster has its own but for a deadline that will decide on
// it, without one nothing will (R14).
func (m *member) awaited() bool {
	switch m.phase {
	case PhaseInFlight, PhaseSoaking:
		return true
	case PhaseDegraded:
		return !m.next.IsZero()
	}
	return false
}

// awaited counts the clusters whose outcome is to come, those that nothing selects any more among them.
func (p *Plan) awaited() int {
	n := 0
	for i := range p.Refs {
		n += p.Refs[i].awaited + len(p.Refs[i].Leaving)
	}
	return n
}
