package rollout

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// Phase is where a selected cluster is on its way to the update revision.
type Phase string

// The phases of a cluster. A cluster is in one of them.
const (
	// PhaseWaiting means that its turn has not come: it has another revision, or none.
	PhaseWaiting Phase = "Waiting"
	// PhaseLeaving means that it has a work that is being deleted: nothing can be written before that is gone (R8).
	PhaseLeaving Phase = "Leaving"
	// PhaseStuck means that it has had such a work for longer than the deadline. It never got the update revision there, so that it
	// fails nothing; but while there are too many like it, nothing new is started (R8, R10).
	PhaseStuck Phase = "Stuck"
	// PhaseInFlight means that the update revision was written, and that its outcome is awaited.
	PhaseInFlight Phase = "InFlight"
	// PhaseSoaking means that it succeeded, and that the success is not settled yet (R10).
	PhaseSoaking Phase = "Soaking"
	// PhaseHandingOver means that its success is settled with objects beside the revision that have to go before it counts (R31).
	PhaseHandingOver Phase = "HandingOver"
	// PhaseDegraded means that its agent reports it as degraded, before any deadline.
	PhaseDegraded Phase = "Degraded"
	// PhaseRefused means that the API server refuses its work, before any deadline: nothing is in flight there (R11).
	PhaseRefused Phase = "Refused"
	// PhaseFailed means that it was in flight, degraded or refused for longer than the deadline, or never settled for twice as long (R11).
	PhaseFailed Phase = "Failed"
	// PhaseUnheard means that it would have failed, and that this process has not heard its agent yet: it counts as no failure (R11).
	PhaseUnheard Phase = "Unheard"
	// PhaseCompleted means that it ran to completion at an older revision and takes no new one (R17).
	PhaseCompleted Phase = "Completed"
	// PhaseSucceeded means that its success is settled.
	PhaseSucceeded Phase = "Succeeded"
)

// member is a cluster that counts for a ref: one that it owns, or one whose work still has its name.
type member struct {
	cluster string
	group   int // index into fleet.groups
	work    *Work
	// owned says that the ref selects the cluster now; otherwise only its work is still counted here (R8).
	owned bool
	// held says that the cluster belongs to an earlier ref as long as nobody knows what that selects: until then nothing new is written
	// to it (R8). It may be that its Placement was deleted and made again, or that its decisions are being written.
	held bool
	// mayBeInFlight says that a hub that ran before may have written to it, and that nobody knows yet what came of that (P4).
	mayBeInFlight bool
	phase         Phase
	// since is meaningful in all phases but Waiting and Leaving.
	since time.Time
	// next is when the phase changes by itself; zero for never.
	next time.Time
	// refusal is what the API server answers to the writes of its work; nil when it accepts them. retried says that this plan tries again.
	refusal *Refusal
	retried bool
	// retryAt is when the rejected write is to be tried again.
	retryAt time.Time
	// looping says that it has failed because no success settled, though its own deadline did not fire: a crash loop. It is for the reason of
	// an abort, which is reported once: what a process saw is forgotten when it ends, and conditions must not change with that (P7).
	looping bool
	// degraded reports whether the agent reports it as degraded; for the reason of its failure.
	degraded bool
	// behind reports whether it has no work, or one that is not at the update revision and that can be written.
	behind bool
	// uncounted reports whether it counts for nothing: no ref selects it, and its deadline has passed without a recorded failure.
	uncounted bool
	// record is its recorded failure, which holds; nil for none.
	record *Failure
}

// fleet is a ref with its clusters.
type fleet struct {
	ref      *Ref
	strategy strategy
	err      error
	groups   []Group
	members  []member
}

// Owners returns, for each selected cluster, the index of the ref that it belongs to: the first in spec order (R8).
func Owners(refs []Ref) map[string]int {
	owners := make(map[string]int, largest(refs))
	for i := range refs {
		if refs[i].Placement == nil {
			continue
		}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				if _, taken := owners[cluster]; !taken {
					owners[cluster] = i
				}
			}
		}
	}
	return owners
}

// Sliced returns for each cluster the Placements with several slices that select it. It is nil where no Placement has several. Clusters that the
// same Placements select share one list.
func Sliced(refs []Ref) map[string][]string {
	type list struct {
		last   *string
		length int
	}
	var sliced map[string][]string
	for i := range refs {
		if !refs[i].sliced() {
			continue
		}
		if sliced == nil {
			sliced = make(map[string][]string, refs[i].Placement.seen())
		}
		longer := map[list][]string{}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				before := sliced[cluster]
				of := list{length: len(before)}
				if len(before) > 0 {
					of.last = &before[len(before)-1]
				}
				after, known := longer[of]
				if !known {
					after = append(slices.Clip(before), refs[i].Name)
					longer[of] = after
				}
				sliced[cluster] = after
			}
		}
	}
	return sliced
}

// largest is how many clusters the ref selects that selects the most.
func largest(refs []Ref) int {
	n := 0
	for i := range refs {
		if refs[i].Placement != nil {
			n = max(n, refs[i].Placement.seen())
		}
	}
	return n
}

// works finds each cluster's one work. Where there are several, as older hubs could make them, the one to keep is not
// being deleted, has the usual name, or is the oldest, in this order; the others are surplus.
func works(all []Work, usualName string) (byCluster map[string]*Work, surplus []*Work) {
	byCluster = make(map[string]*Work, len(all))
	var doubled map[string][]*Work
	for i := range all {
		w := &all[i]
		first, taken := byCluster[w.Cluster()]
		if !taken {
			byCluster[w.Cluster()] = w
			continue
		}
		if doubled == nil {
			doubled = map[string][]*Work{}
		}
		if doubled[w.Cluster()] == nil {
			doubled[w.Cluster()] = []*Work{first}
		}
		doubled[w.Cluster()] = append(doubled[w.Cluster()], w)
	}
	for cluster, candidates := range doubled {
		slices.SortFunc(candidates, func(a, b *Work) int { return compareWorks(a, b, usualName) })
		byCluster[cluster] = candidates[0]
		for _, w := range candidates[1:] {
			if !w.Deleting() {
				surplus = append(surplus, w)
			}
		}
	}
	slices.SortFunc(surplus, func(a, b *Work) int {
		return strings.Compare(a.Cluster()+"/"+a.Object.Name, b.Cluster()+"/"+b.Object.Name)
	})
	return byCluster, surplus
}

func compareWorks(a, b *Work, usualName string) int {
	for _, prefer := range []func(*Work) bool{
		func(w *Work) bool { return !w.Deleting() },
		func(w *Work) bool { return w.Object.Name == usualName },
	} {
		if prefer(a) != prefer(b) {
			if prefer(a) {
				return -1
			}
			return 1
		}
	}
	if byAge := a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time); byAge != 0 {
		return byAge
	}
	return strings.Compare(a.Object.Name, b.Object.Name)
}

// newFleet gathers the members of a ref and says in which phase each of them is.
func newFleet(s *Snapshot, index int, sel *selection) *fleet {
	ref := &s.Refs[index]
	f := &fleet{ref: ref}
	f.strategy, f.err = parseStrategy(ref.Field, &ref.Strategy)
	if ref.Placement != nil {
		f.groups = slices.Clone(ref.Placement.Groups)
		f.members = make([]member, 0, sel.owned[index])
	}
	for g := range f.groups {
		for _, cluster := range f.groups[g].Clusters {
			if owner, selected := sel.owners[cluster]; !selected || owner != index {
				continue
			}
			work := sel.byCluster[cluster]
			f.members = append(f.members, member{cluster: cluster, group: g, work: work, owned: true, held: sel.heldByEarlier(index, work)})
		}
	}
	f.addLeaving(s, sel.leaving[index])
	f.orderGroups()
	sort.Slice(f.members, func(i, j int) bool { return f.members[i].cluster < f.members[j].cluster })
	for i := range f.members {
		f.place(s, &f.members[i])
		f.applyRecord(s, &f.members[i])
	}
	return f
}

// place says in which phase a member is.
func (f *fleet) place(s *Snapshot, m *member) {
	defer m.unfailed(s)
	switch {
	case m.leaving(s, f.ref.Name):
		f.placeLeaving(s, m)
		return
	case m.work != nil && m.work.Digest != s.Update.Digest && completed(m.work.Object) && !m.work.At(s.Update):
		// It would not take the revision; left alone it is still at its own one, should that come back (R17).
		m.phase = PhaseCompleted
		return
	case m.work == nil || !m.work.At(s.Update):
		m.phase, m.behind, m.mayBeInFlight = PhaseWaiting, true, m.unknown(s)
		f.placeRefused(s, m)
		return
	}
	a := Assess(m.work, s.Update, s.Now)
	a.Since = later(a.Since, m.retriedAt(s))
	m.since = a.Since
	switch a.State {
	case Succeeded:
		m.phase, m.next = settle(s, m.work, f.soaked(s, m, a.Since))
		f.placeHandingOver(s, m)
	case Completed:
		m.phase = PhaseCompleted
	case Degraded:
		m.degraded = true
		m.phase, m.next = f.overdue(s, m, a.Since, PhaseDegraded)
	default:
		m.phase, m.next = f.overdue(s, m, a.Since, PhaseInFlight)
	}
	f.failLoop(s, m)
}

// soaked returns when a success has lasted for minSuccessTime. A cluster that never left the revision that the template returns to is not
// soaked again (R12b).
func (f *fleet) soaked(s *Snapshot, m *member, since time.Time) time.Time {
	if writtenAt, known := m.work.AppliedAt(); known && s.returns() && !writtenAt.After(s.Update.BeginsAt) {
		return time.Time{}
	}
	return since.Add(f.strategy.minSuccessTime)
}

// settle reports whether a success counts: this process has seen it for long enough, and it was soaked (R10).
func settle(s *Snapshot, work *Work, soaked time.Time) (Phase, time.Time) {
	if work.SucceededSince.IsZero() {
		return PhaseSoaking, s.Now.Add(s.Settle)
	}
	ripe := later(work.SucceededSince.Add(s.Settle), soaked)
	if s.Now.Before(ripe) {
		return PhaseSoaking, ripe
	}
	return PhaseSucceeded, time.Time{}
}

// overdue reports whether a member has failed: it was on its way for longer than the deadline, and the agents had time to
// report since the hub could hear them (R11).
func (f *fleet) overdue(s *Snapshot, m *member, since time.Time, before Phase) (Phase, time.Time) {
	return f.until(s, m, since, before, PhaseFailed)
}

// until is the phase before the deadline of what goes on since a time, and when that ends, or the phase after it.
func (f *fleet) until(s *Snapshot, m *member, since time.Time, before, after Phase) (Phase, time.Time) {
	due := f.dueAt(s, m, since)
	switch {
	case due.IsZero():
		return before, time.Time{}
	case s.Now.Before(due):
		return before, due
	}
	return after, time.Time{}
}

// dueAt returns when the deadline of what goes on since a time fires; zero for never.
func (f *fleet) dueAt(s *Snapshot, m *member, since time.Time) time.Time {
	deadline := f.strategy.deadline
	if f.err != nil || deadline == noDeadline {
		return time.Time{}
	}
	return later(since.Add(deadline), s.graceEnds(m.cluster, min(deadline, maxGrace)))
}

// maxGrace bounds how long no deadline fires after the hub was away (R11).
const maxGrace = 2 * time.Minute
