package rollout

import (
	"time"
)

// Limits are the bounds that a placementRef's strategy sets, in clusters.
type Limits struct {
	// Placement is the name of the Placement.
	Placement string
	// Total is the number of clusters that count for the placementRef.
	Total int
	// Batch is the number of clusters that may be in flight at once, outside of mandatory groups.
	Batch int
	// MaxFailures is the number of clusters that may fail. More failures halt the placementRef. Extra is how many more may fail before the
	// placementRef fails too: a percentage then applies to all clusters that have counted since the rollout began. For ProgressivePerGroup,
	// both are zero, and Groups has the limits of each group.
	MaxFailures, Extra int
	// Failed is the number of failed clusters. Halting is the number of clusters that count toward a halt.
	Failed, Halting int
	// Halted is true if the next clusters are not started. Excess is the number of the halting clusters that must recover before the next
	// clusters are started.
	Halted bool
	Excess int
	// Groups are the decision groups that have clusters and their own limit, in order.
	Groups []GroupLimits
	// PerGroup is true if each group has its own limit.
	PerGroup bool
	// Deadline is progressDeadline; zero for none. Soak is the minSuccessTime that applies.
	Deadline, Soak time.Duration
	// AbortAll is true if a failure of the placementRef aborts the rollout. Undo is true if AbortAll is set but has no effect, because the
	// rollout is an undo.
	AbortAll, Undo bool
	// Err is the reason why the strategy cannot be followed.
	Err error
}

// GroupLimits are the bounds of one decision group.
type GroupLimits struct {
	Name  string
	Index int32
	Total int
	// MaxFailures is the number of its clusters that may fail, and Extra is as in Limits. They apply to mandatory groups, to each group of
	// ProgressivePerGroup, and to a listed group with its own limit. Own is true for such a listed group: its clusters do not count toward
	// the limit of the placementRef.
	MaxFailures, Extra int
	Own                bool
	// Mandatory is true if the group must succeed before others begin.
	Mandatory bool
}

// LimitsOf returns the limits of each placementRef, in spec order.
func LimitsOf(s *Snapshot) []Limits {
	p, states := decide(s)
	all := make([]Limits, 0, len(states))
	for i, ps := range states {
		l := ps.limits()
		l.Halted = p.Refs[i].Halted
		l.Undo = l.AbortAll && s.undoes()
		l.AbortAll = l.AbortAll && !l.Undo
		all = append(all, l)
	}
	return all
}

func (ps *placementState) limits() Limits {
	l := Limits{
		Placement: ps.ref.Name, Total: ps.size(), Soak: ps.strategy.MinSuccessTime, AbortAll: ps.strategy.AbortAll, Err: ps.err,
		PerGroup: ps.perGroup(), Failed: ps.count((*member).failed),
	}
	l.Batch, l.Deadline = ps.batch(), ps.deadline()
	limits := ps.failureLimits(0, func(m *member) bool { return m.phase.halts }, (*member).countsAtAll)
	tolerated := ps.failureLimits(ps.missing(), (*member).failed, (*member).countsAtAll)
	for i := range limits {
		l.Halting += limits[i].count
		l.Excess += max(0, limits[i].count-limits[i].allowed)
	}
	for g := range ps.groups {
		if limits[g].size > 0 {
			_, own := ps.ownFailures(g)
			l.Groups = append(l.Groups, GroupLimits{
				Name: ps.groups[g].Name, Index: ps.groups[g].Index, Total: limits[g].size, MaxFailures: limits[g].allowed,
				Extra: tolerated[g].allowed - limits[g].allowed, Own: own, Mandatory: ps.mandatory(g),
			})
		}
	}
	if !l.PerGroup {
		shared := len(ps.groups)
		l.MaxFailures, l.Extra = limits[shared].allowed, tolerated[shared].allowed-limits[shared].allowed
	}
	return l
}

func (ps *placementState) deadline() time.Duration {
	if !ps.hasDeadline() {
		return 0
	}
	return ps.strategy.Deadline
}
