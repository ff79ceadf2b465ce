package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	tracker "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// nextBatch asks sdk-go's rollout handler which of the candidates come next (R10). The mandatory groups are asked for
// until each of their clusters has succeeded; then the rest is asked for as if it were all.
func (f *fleet) nextBatch(candidate func(*member) bool) ([]*member, error) {
	if !f.any(candidate) {
		return nil, nil
	}
	if f.mandatoryOpen() || f.groupsUnknown() {
		return f.ask(request{candidate: candidate, include: f.mandatory, inOrder: true, allMandatory: true})
	}
	return f.handOutRest(candidate)
}

// handOutRest asks for the groups that are not mandatory. The handler looks its states up in steps of clusters times states, so
// that it is told of those only that make a difference: for Progressive how many slots are free says it all, for All nothing
// does, and a group is kept waiting by one cluster that is on its way as by a thousand.
func (f *fleet) handOutRest(candidate func(*member) bool) ([]*member, error) {
	rest := func(group int) bool { return !f.mandatory(group) }
	switch f.strategy.kind {
	case clusterv1alpha1.ProgressivePerGroup:
		return f.ask(request{candidate: candidate, include: rest, inOrder: true})
	case clusterv1alpha1.Progressive:
		return f.handOutBatch(candidate, rest)
	default:
		return f.ask(request{candidate: candidate, include: rest})
	}
}

// handOutBatch fills the free slots of a Progressive batch. Members that may be in flight already come first, and leave the others the
// slots that none of them could be in (P4).
func (f *fleet) handOutBatch(candidate func(*member) bool, include func(group int) bool) ([]*member, error) {
	var next []*member
	free := f.freeSlots(include) - f.count(include, func(m *member) bool { return m.mayStart() && m.mayBeInFlight && !candidate(m) })
	for _, mayBeInFlight := range []bool{true, false} {
		some := func(m *member) bool { return candidate(m) && m.mayBeInFlight == mayBeInFlight }
		waiting := f.count(include, some)
		if free <= 0 || waiting == 0 {
			continue
		}
		asked, err := f.ask(request{candidate: some, include: include, free: free})
		if err != nil {
			return nil, err
		}
		next = append(next, asked...)
		free -= waiting
	}
	return next, nil
}

func (f *fleet) mandatory(group int) bool { return f.strategy.isMandatory(&f.groups[group]) }

// groupsUnknown says that a group may come first which no decision shows yet: they are written one after the other.
func (f *fleet) groupsUnknown() bool {
	inOrder := f.strategy.kind == clusterv1alpha1.ProgressivePerGroup || f.strategy.mandatory.any()
	return inOrder && !f.ref.settled()
}

// freeSlots is how many of the batch are free, over the groups for which include holds.
func (f *fleet) freeSlots(include func(group int) bool) int {
	total := f.count(include, func(*member) bool { return true })
	return f.strategy.batch(total) - f.count(include, func(m *member) bool { return m.takesSlot() || m.keepsSlot(f.ref.Name) })
}

// count counts the members for which a condition holds, over the groups for which include holds.
func (f *fleet) count(include func(group int) bool, holds func(*member) bool) int {
	n := 0
	for i := range f.members {
		if m := &f.members[i]; include(m.group) && holds(m) {
			n++
		}
	}
	return n
}

// takesSlot reports whether a member is on its way. Whoever is past the deadline takes no slot, nor who is refused.
func (m *member) takesSlot() bool {
	switch m.phase {
	case PhaseInFlight, PhaseSoaking, PhaseDegraded:
		return true
	}
	return m.retried
}

// mayStart says that a member waits, and that its ref may start it.
func (m *member) mayStart() bool { return m.phase == PhaseWaiting && !m.held }

func (f *fleet) any(holds func(*member) bool) bool {
	for i := range f.members {
		if holds(&f.members[i]) {
			return true
		}
	}
	return false
}

// mandatoryOpen says that a cluster of a mandatory group has not succeeded. Until then there is nothing but them: none of the rest may
// come along.
func (f *fleet) mandatoryOpen() bool {
	for i := range f.members {
		m := &f.members[i]
		if f.mandatory(m.group) && m.phase != PhaseSucceeded && m.phase != PhaseCompleted {
			return true
		}
	}
	return false
}

// request is a question to the handler.
type request struct {
	// candidate says who may come next.
	candidate func(*member) bool
	// include says which groups it is about.
	include func(group int) bool
	// inOrder says that a group has to wait for those before it.
	inOrder bool
	// allMandatory says that the groups are mandatory ones.
	allMandatory bool
	// free is how many slots of a Progressive batch are free.
	free int
}

// ask calls the handler with the candidates of the groups that are asked for and, where the groups have an order, with one that
// keeps the later ones waiting. It stops at the first group that it is given while one is on its way, and wants indices without gaps,
// which decisions that are still being written don't promise: it gets the groups that have such members, numbered by their place.
func (f *fleet) ask(r request) ([]*member, error) {
	var first *member
	if r.inOrder {
		first = f.firstOnTheWay(r)
	}
	waiting := map[string]*member{}
	groups := make([]sets.Set[string], len(f.groups))
	add := func(m *member) {
		if groups[m.group] == nil {
			groups[m.group] = sets.New[string]()
		}
		groups[m.group].Insert(m.cluster)
	}
	for i := range f.members {
		if m := &f.members[i]; r.candidate(m) && r.include(m.group) {
			add(m)
			waiting[m.cluster] = m
		}
	}
	if first != nil {
		add(first)
	}
	asked := tracker.ClusterGroupsMap{}
	var states []handler.ClusterRolloutStatus
	for g, clusters := range groups {
		if clusters == nil {
			continue
		}
		key := tracker.GroupKey{GroupIndex: int32(len(asked))} //nolint:gosec // a few groups
		asked[key] = clusters
		if first != nil && first.group == g {
			states = append(states, handler.ClusterRolloutStatus{ClusterName: first.cluster, GroupKey: key, Status: handler.Progressing})
		}
	}
	result, err := f.getRolloutCluster(r, asked, states)
	if err != nil {
		return nil, err
	}
	var next []*member
	for i := range result.ClustersToRollout {
		if m, ok := waiting[result.ClustersToRollout[i].ClusterName]; ok && result.ClustersToRollout[i].Status == handler.ToApply {
			next = append(next, m)
		}
	}
	return next, nil
}

// firstOnTheWay is one of the members of the first group of which one is on its way, there or out, or waits without being a candidate: held, say, or refused
// with its deadline to come.
func (f *fleet) firstOnTheWay(r request) *member {
	var first *member
	for i := range f.members {
		m := &f.members[i]
		onTheWay := m.takesSlot() || m.phase == PhaseLeaving || !r.candidate(m) && (m.phase == PhaseWaiting || m.keepsTurn())
		if onTheWay && r.include(m.group) && (first == nil || m.group < first.group) {
			first = m
		}
	}
	return first
}

func (f *fleet) getRolloutCluster(r request, groups tracker.ClusterGroupsMap, states []handler.ClusterRolloutStatus) (handler.RolloutResult, error) {
	var mandatory []clusterv1alpha1.MandatoryDecisionGroup
	if r.allMandatory {
		for _, key := range groups.GetOrderedGroupKeys() {
			mandatory = append(mandatory, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: key.GroupIndex})
		}
	}
	pdTracker := tracker.NewPlacementDecisionClustersTrackerWithGroups(nil, nil, groups)
	rollouts, err := handler.NewRolloutHandler(pdTracker, func(string, struct{}) (handler.ClusterRolloutStatus, error) {
		return handler.ClusterRolloutStatus{}, nil
	})
	if err != nil {
		return handler.RolloutResult{}, fmt.Errorf("%s: %w", f.ref.Field, err)
	}
	_, result, err := rollouts.GetRolloutCluster(f.strategy.plain(mandatory, r.free), states)
	if err != nil {
		return handler.RolloutResult{}, fmt.Errorf("%s.rolloutStrategy: %w", f.ref.Field, err)
	}
	return result, nil
}
