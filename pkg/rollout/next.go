package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	tracker "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Which clusters of a placementRef get the update revision next (R10):
//
//  1. A cluster gets the update revision again if the API server rejects its work, or if it failed and its work was changed. This starts
//     no other cluster. A cluster that failed because of the rejection needs a free slot (retryFailed).
//  2. A placementRef with too many failures starts nothing (halts in failed.go).
//  3. Candidates are the clusters that wait.
//  4. Mandatory groups come first. The other groups follow when every cluster of the mandatory groups is done.
//  5. For Progressive, the number of clusters that are next is the number of free slots: the batch size minus the clusters that take a
//     slot. Clusters that may have the revision already, because a write had no answer, get the free slots first (fillBatch).
//  6. sdk-go's handler, which all of OCM's controllers share, puts the candidates in order: by name for All and Progressive, and group by
//     group for mandatory groups and ProgressivePerGroup. It gets no times, failures or limits, because it would decide differently on
//     them. TestHandlerDeviations shows each of these cases, and TestHandlerAgrees compares all other cases.

// start adds the writes of the update revision to the clusters that are next.
func (p *Plan) start(s *Snapshot, ps *placementState, outcome *RefOutcome) {
	if ps.err != nil {
		return
	}
	for _, m := range ps.members {
		if m.writtenAgain() {
			p.write(s, ps, m, s.Update, ps.why(s, m))
		}
	}
	if !outcome.Halted {
		next, err := ps.nextBatch(s)
		if err != nil {
			outcome.Err = err
			return
		}
		p.Writes = slices.Grow(p.Writes, len(next))
		for _, m := range next {
			p.write(s, ps, m, s.Update, ps.why(s, m))
		}
	}
	p.retryFailed(s, ps)
}

// retryFailed writes again to the clusters that failed because the API server rejects their works. They gave their slots back, so each
// needs a free slot: when the API server accepts their works again, no more clusters are in flight than a batch has slots. The clusters
// whose last try is the oldest come first.
func (p *Plan) retryFailed(s *Snapshot, ps *placementState) {
	var failed []*member
	for _, m := range ps.members {
		if m.rejection != nil && m.failed() && !m.written {
			failed = append(failed, m)
		}
	}
	slices.SortStableFunc(failed, func(a, b *member) int { return a.rejection.TriedAt.Compare(b.rejection.TriedAt) })
	free := slots{}
	for _, m := range failed {
		if free.take(ps.pool(m), ps.unchosen) {
			p.write(s, ps, m, s.Update, ps.why(s, m))
		} else {
			p.Postponed = append(p.Postponed, m.cluster)
		}
	}
}

func (ps *placementState) why(s *Snapshot, m *member) string {
	switch {
	case m.work == nil:
		return "selected by " + ps.ref.Name
	case m.work.At(s.Update):
		return trimmed
	case m.phase.fails || m.work.Hash() == s.Update.Hash:
		return "restored: the content differs from what was written"
	default:
		return "its turn in " + ps.ref.Name
	}
}

// standIn writes the current revision to the clusters that have no work and whose turn has not come, because their placementRef is halted
// or waits for a listed group, or because the rollout is stalled. Each still gets the update revision in its turn. A cluster whose agent
// has not reported is left out, because it may have a work.
func (p *Plan) standIn(s *Snapshot, states []*placementState) {
	for i, ps := range states {
		stops := p.Refs[i].Halted || p.Stalled
		if p.Unknown() || !stops && !p.Refs[i].gated() && p.Refs[i].gate != GroupFailed {
			continue
		}
		for _, m := range ps.members {
			switch {
			case m.work != nil || !m.startable() || m.chosen || m.mayBeInFlight(s):
			case s.Current == nil || s.Current.Hash == s.Update.Hash:
				if !stops {
					continue // It waits for a group, which the conditions name.
				}
				p.Bare = append(p.Bare, m.cluster)
			default:
				p.write(s, ps, m, s.Current, "it has no work, and its turn does not come for now")
			}
		}
	}
	slices.Sort(p.Bare)
}

// question is a question to the handler.
type question struct {
	// candidate reports whether a member may be next: it waits, and the question is about it.
	candidate func(*member) bool
	// among reports whether the question is about a member.
	among func(*member) bool
	// inOrder is true if each group waits for the groups before it.
	inOrder bool
	// free is the number of free slots in a batch; zero if there is no batch.
	free int
}

// nextBatch returns the candidates that are next, and marks them as chosen. Each listed group that may begin follows the strategy
// separately, as do the other clusters after the last listed group. The handler compares each state with each cluster, so it gets as few
// states as possible: for a batch, only the number of free slots, and for a waiting group, one cluster in flight.
func (ps *placementState) nextBatch(s *Snapshot) (next []*member, err error) {
	if !ps.any((*member).startable) {
		return nil, nil
	}
	mandatory := len(ps.rings) == 0 && ps.mandatoryFirst()
	for unit := range ps.open + 1 {
		q := question{candidate: (*member).startable}
		q.among = func(m *member) bool { return ps.ringOf[m.group] == unit && ps.mandatory(m.group) == mandatory }
		pool := sharedPool
		if unit < len(ps.rings) && ps.rings[unit].MaxConcurrency != nil {
			pool = unit
		}
		var found []*member
		switch {
		case mandatory, pool == sharedPool && ps.perGroup():
			ps.limit, q.inOrder = WaitGroup, true
			found, err = ps.ask(q)
		case ps.strategy.Kind == clusterv1alpha1.All:
			found, err = ps.ask(q)
		default:
			ps.limit = WaitSlot
			found, err = ps.fillBatch(s, q, pool)
		}
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			m.chosen = true // It takes a slot from the groups after it.
		}
		next = append(next, found...)
	}
	return next, nil
}

// mandatoryFirst reports whether only mandatory groups may start: a cluster of these groups is not done, or OCM has not written its count
// of the decisions yet. OCM writes the groups one after the other and the count last, so another group may still have to come first.
func (ps *placementState) mandatoryFirst() bool {
	ordered := ps.perGroup() || ps.strategy.Mandatory.Any()
	return ordered && !ps.ref.Settled() || ps.any(func(m *member) bool { return !m.phase.done && ps.mandatory(m.group) })
}

// fillBatch returns the clusters for the free slots of a Progressive batch. Members that may already be in flight come first. The other
// members get only the remaining slots (P4).
func (ps *placementState) fillBatch(s *Snapshot, q question, pool int) ([]*member, error) {
	var next []*member
	free := ps.unchosen(pool)
	for _, first := range []bool{true, false} {
		q.candidate = func(m *member) bool { return m.startable() && m.mayBeInFlight(s) == first }
		n := ps.count(func(m *member) bool { return q.among(m) && q.candidate(m) })
		if free <= 0 || n == 0 {
			continue
		}
		q.free = free
		asked, err := ps.ask(q)
		if err != nil {
			return nil, err
		}
		next = append(next, asked...)
		free -= n
	}
	return next, nil
}

// sharedPool is the pool of the strategy's slots. All clusters outside of mandatory groups share it, except those of a listed group with
// its own maxConcurrency. The pool of such a group is its index in the list.
const sharedPool = -1

// pool returns the pool of the slot that a member needs.
func (ps *placementState) pool(m *member) int {
	if r := ps.ringOf[m.group]; r < len(ps.rings) && ps.rings[r].MaxConcurrency != nil {
		return r
	}
	return sharedPool
}

// slots are the free slots of each pool that has been counted.
type slots map[int]int

// take takes a slot of a pool, and reports whether one was free. count counts the free slots of a pool.
func (s slots) take(pool int, count func(pool int) int) bool {
	if _, counted := s[pool]; !counted {
		s[pool] = count(pool)
	}
	s[pool]--
	return s[pool] >= 0
}

// unchosen returns how many slots of a pool are free and not taken by the clusters that are next.
func (ps *placementState) unchosen(pool int) int {
	return ps.freeIn(pool) - ps.countIn(pool, func(m *member) bool { return m.chosen })
}

// freeIn returns how many slots of a pool are free.
func (ps *placementState) freeIn(pool int) int {
	switch {
	case pool != sharedPool:
		return placement.Batch(ps.rings[pool].MaxConcurrency, ps.countIn(pool, (*member).countsAtAll)) - ps.countIn(pool, (*member).takesSlot)
	case ps.strategy.Kind != clusterv1alpha1.Progressive:
		return len(ps.members)
	}
	return ps.batch() - ps.countIn(pool, (*member).takesSlot) - ps.returning
}

func (ps *placementState) batch() int {
	return placement.Batch(&ps.strategy.MaxConcurrency, ps.countIn(sharedPool, (*member).countsAtAll))
}

// countIn counts the members of a pool, outside of mandatory groups, for which a condition holds.
func (ps *placementState) countIn(pool int, holds func(*member) bool) int {
	return ps.count(func(m *member) bool { return !ps.mandatory(m.group) && ps.pool(m) == pool && holds(m) })
}

func (ps *placementState) count(holds func(*member) bool) int {
	n := 0
	for _, m := range ps.members {
		if holds(m) {
			n++
		}
	}
	return n
}

// ask returns the candidates that are next. The handler needs group indices without gaps, but decisions that are still being written have
// gaps. So the handler gets the groups with candidates, numbered consecutively, and one cluster of the first group that later groups wait
// for.
func (ps *placementState) ask(q question) ([]*member, error) {
	groups := make([][]string, len(ps.groups))
	first := ps.firstOnTheWay(q)
	for _, m := range ps.members {
		if m == first || q.among(m) && q.candidate(m) {
			groups[m.group] = append(groups[m.group], m.cluster)
		}
	}
	asked := tracker.ClusterGroupsMap{}
	var states []handler.ClusterRolloutStatus
	for g, clusters := range groups {
		if len(clusters) == 0 {
			continue
		}
		key := tracker.GroupKey{GroupIndex: int32(len(asked))} //nolint:gosec // a few groups
		asked[key] = sets.New(clusters...)
		if first != nil && first.group == g {
			states = append(states, handler.ClusterRolloutStatus{ClusterName: first.cluster, GroupKey: key, Status: handler.Progressing})
		}
	}
	noStatus := func(string, struct{}) (status handler.ClusterRolloutStatus, err error) { return } // Never called.
	rollouts, err := handler.NewRolloutHandler(tracker.NewPlacementDecisionClustersTrackerWithGroups(nil, nil, asked), noStatus)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ps.ref.Field, err)
	}
	_, result, err := rollouts.GetRolloutCluster(q.plain(), states)
	if err != nil {
		return nil, fmt.Errorf("%s.rolloutStrategy: %w", ps.ref.Field, err)
	}
	next := make([]*member, 0, len(result.ClustersToRollout))
	for i := range result.ClustersToRollout {
		if found := &result.ClustersToRollout[i]; found.Status == handler.ToApply {
			next = append(next, ps.selection.find(found.ClusterName))
		}
	}
	return next, nil
}

// firstOnTheWay returns one member of the first group that later groups wait for; nil if groups have no order. Groups do not wait for a
// candidate, unless this plan already writes to it.
func (ps *placementState) firstOnTheWay(q question) *member {
	if !q.inOrder {
		return nil
	}
	keepsTurn := func(m *member) bool {
		return m.takesSlot() || m.phase.keepsTurn && !q.candidate(m)
	}
	var first *member
	for _, m := range ps.members {
		if q.among(m) && (first == nil || m.group < first.group) && keepsTurn(m) {
			first = m
		}
	}
	return first
}

// plain returns the strategy for the handler: groups in order, or one batch, without times or limits.
func (q *question) plain() clusterv1alpha1.RolloutStrategy {
	config := clusterv1alpha1.RolloutConfig{ProgressDeadline: "None"}
	if q.inOrder {
		perGroup := &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config}
		return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: perGroup}
	}
	free := intstr.FromInt32(int32(q.free)) //nolint:gosec // a few thousand
	batch := &clusterv1alpha1.RolloutProgressive{RolloutConfig: config, MaxConcurrency: free}
	return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: batch}
}
