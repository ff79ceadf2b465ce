package forecast

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Outlook predicts the hub's actions if no cluster reports anything new: no cluster recovers, and the API server still rejects the same
// writes. All failing clusters count. The outlook ends with the deadlines of the clusters that have the revision now.
type Outlook struct {
	// Failing are the clusters that fail, in the order of their deadlines.
	Failing []Failing
	// Abort is the time at which the rollout is aborted; nil if it is not. If a pause delays the abort, it is the time when the abort becomes
	// due.
	Abort *Turn
	// Stops lists when failures stop each placementRef before any abort, in spec order. It omits placementRefs that failures do not stop or
	// that are already halted.
	Stops []Turn
	// Blocked is why failures of a placementRef with AbortAll do not lead to an abort.
	Blocked rollout.AbortBlock
	// Stalled is true if the rollout cannot continue without the user after the last deadline.
	Stalled bool
	// Missing is a listed decision group that stalls the rollout, because it is still missing at its time Until; nil if there is none.
	Missing *rollout.GroupState
	// Unknown is true while the clusters of a Placement are unknown: deadlines run, and the failures count later.
	Unknown bool
}

// Failing is a cluster that fails at its deadline. Ref is the index of its placementRef.
type Failing struct {
	Cluster string
	Ref     int
	At      time.Time
}

// Turn is the time when a placementRef has too many failed clusters.
type Turn struct {
	At time.Time
	// Ref is the index of the placementRef, and Failed is the number of its clusters that have failed by that time.
	Ref, Failed int
}

// OutlookOf returns the outlook of a snapshot that is not aborted.
func OutlookOf(s *rollout.Snapshot) *Outlook {
	found := &Outlook{}
	for _, standing := range rollout.ExplainAll(s) {
		if standing.Then == rollout.PhaseFailed && !standing.Failed {
			ref := slices.IndexFunc(s.Refs, func(ref placement.Ref) bool { return ref.Name == standing.Placement })
			found.Failing = append(found.Failing, Failing{Cluster: standing.Cluster, Ref: ref, At: standing.ChangesAt})
		}
	}
	slices.SortFunc(found.Failing, func(a, b Failing) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Cluster, b.Cluster)) })
	c := &clock{s: s, plans: map[time.Time]*rollout.Plan{}, times: []time.Time{s.Now}}
	for i := range found.Failing {
		if at := found.Failing[i].At; !at.Equal(c.times[len(c.times)-1]) {
			c.times = append(c.times, at)
		}
	}
	now, last := c.plan(0), c.plan(len(c.times)-1)
	found.Blocked, found.Stalled, found.Unknown = last.AbortBlocked, last.Stalled, now.Unknown()
	if at := c.first(func(p *rollout.Plan) bool { return p.AbortDue() != nil }); at >= 0 {
		ref := slices.IndexFunc(c.plan(at).Refs, func(ref rollout.RefOutcome) bool { return ref.Failed })
		found.Abort = c.turn(at, max(0, ref))
		c.times = c.times[:at] // The outlook ends with the abort.
	}
	for i := range now.Groups {
		g := &now.Groups[i]
		if found.Abort == nil && g.State == rollout.GroupMissing && !g.Until.IsZero() && rollout.Decide(s.At(g.Until)).Stalled {
			found.Missing = g
		}
	}
	for i := range s.Refs {
		halted := func(p *rollout.Plan) bool { return p.Refs[i].Halted }
		if at := c.first(halted); at > 0 && !halted(now) {
			found.Stops = append(found.Stops, *c.turn(at, i))
		}
	}
	return found
}

// clock evaluates a snapshot at different times.
type clock struct {
	s     *rollout.Snapshot
	times []time.Time
	plans map[time.Time]*rollout.Plan
}

// first returns the index of the first time at which a condition holds; -1 for none. Once true, a condition stays true: clusters only fail.
func (c *clock) first(holds func(*rollout.Plan) bool) int {
	n := len(c.times)
	if n == 0 || !holds(c.plan(n-1)) {
		return -1
	}
	return sort.Search(n, func(i int) bool { return holds(c.plan(i)) })
}

// plan returns the hub's plan at a time.
func (c *clock) plan(i int) *rollout.Plan {
	at := c.times[i]
	if p := c.plans[at]; p != nil {
		return p
	}
	p := rollout.Decide(c.s.At(at))
	c.plans[at] = p
	return p
}

func (c *clock) turn(i, ref int) *Turn {
	return &Turn{At: c.times[i], Ref: ref, Failed: rollout.LimitsOf(c.s.At(c.times[i]))[ref].Failed}
}
