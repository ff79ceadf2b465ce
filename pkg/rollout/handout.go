package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	tracker "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// handOut asks sdk-go's rollout handler which of the waiting clusters come next (R10). The mandatory groups are asked for
// until each of their clusters has succeeded; then the rest is asked for as if it were all.
func (f *fleet) handOut() ([]*member, error) {
	if !f.anyWaiting() {
		return nil, nil
	}
	if mandatory := f.openMandatory(); len(mandatory) > 0 {
		next, err := f.ask(f.strategy.plain(mandatory, 0), f.onTheWay(1), func(int) bool { return true })
		return slices.DeleteFunc(next, func(m *member) bool { return !f.strategy.isMandatory(&f.groups[m.group]) }), err
	}
	return f.handOutRest()
}

// handOutRest asks for the groups that are not mandatory. The handler looks its states up in steps of clusters times states, so
// that it is told of those only that make a difference: for Progressive how many slots are free says it all, for All nothing
// does, and a group is kept waiting by one cluster that is on its way as by a thousand.
func (f *fleet) handOutRest() ([]*member, error) {
	rest := func(group int) bool { return !f.strategy.isMandatory(&f.groups[group]) }
	switch f.strategy.kind {
	case clusterv1alpha1.ProgressivePerGroup:
		return f.ask(f.strategy.plain(nil, 0), f.onTheWay(1), rest)
	case clusterv1alpha1.Progressive:
		free := f.freeSlots(rest)
		if free <= 0 {
			return nil, nil
		}
		return f.ask(f.strategy.plain(nil, free), nil, rest)
	default:
		return f.ask(f.strategy.plain(nil, 0), nil, rest)
	}
}

// onTheWay lists up to limit members that take a slot.
func (f *fleet) onTheWay(limit int) []*member {
	var found []*member
	for i := range f.members {
		if m := &f.members[i]; len(found) < limit && m.takesSlot() {
			found = append(found, m)
		}
	}
	return found
}

// freeSlots is how many of the batch are free, over the groups for which include holds.
func (f *fleet) freeSlots(include func(group int) bool) int {
	total, taken := 0, 0
	for i := range f.members {
		m := &f.members[i]
		if !include(m.group) {
			continue
		}
		total++
		if m.takesSlot() {
			taken++
		}
	}
	return f.strategy.batch(total) - taken
}

// takesSlot says whether a member is on its way. Whoever is past the deadline takes no slot.
func (m *member) takesSlot() bool {
	switch m.phase {
	case PhaseInFlight, PhaseSoaking, PhaseDegraded:
		return true
	}
	return false
}

func (f *fleet) anyWaiting() bool {
	for i := range f.members {
		if f.members[i].phase == PhaseWaiting {
			return true
		}
	}
	return false
}

// openMandatory names the mandatory groups, by their place in f.groups, while one of their clusters has not succeeded. In the
// mandatory phase there is nothing but them: none of the rest may come along.
func (f *fleet) openMandatory() []clusterv1alpha1.MandatoryDecisionGroup {
	open := false
	for i := range f.members {
		m := &f.members[i]
		if f.strategy.isMandatory(&f.groups[m.group]) && m.phase != PhaseSucceeded && m.phase != PhaseCompleted {
			open = true
			break
		}
	}
	if !open {
		return nil
	}
	var mandatory []clusterv1alpha1.MandatoryDecisionGroup
	for g := range f.groups {
		if f.strategy.isMandatory(&f.groups[g]) {
			mandatory = append(mandatory, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: int32(g)}) //nolint:gosec // a few groups
		}
	}
	return mandatory
}

// ask calls the handler with the waiting members of the groups for which include holds, and with those on their way. It needs
// the group indices without gaps, which decisions that are still being written don't promise, so that the groups are numbered
// by their place.
func (f *fleet) ask(plain clusterv1alpha1.RolloutStrategy, onTheWay []*member, include func(group int) bool) ([]*member, error) {
	groups := tracker.ClusterGroupsMap{}
	for g := range f.groups {
		groups[groupKey(g)] = sets.New[string]()
	}
	waiting := map[string]*member{}
	for i := range f.members {
		if m := &f.members[i]; m.phase == PhaseWaiting && include(m.group) {
			groups[groupKey(m.group)].Insert(m.cluster)
			waiting[m.cluster] = m
		}
	}
	var states []handler.ClusterRolloutStatus
	for _, m := range onTheWay {
		if include(m.group) {
			groups[groupKey(m.group)].Insert(m.cluster)
			states = append(states, handler.ClusterRolloutStatus{ClusterName: m.cluster, GroupKey: groupKey(m.group), Status: handler.Progressing})
		}
	}

	pdTracker := tracker.NewPlacementDecisionClustersTrackerWithGroups(nil, nil, groups)
	rollouts, err := handler.NewRolloutHandler(pdTracker, func(string, struct{}) (handler.ClusterRolloutStatus, error) {
		return handler.ClusterRolloutStatus{}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.ref.Field, err)
	}
	_, result, err := rollouts.GetRolloutCluster(plain, states)
	if err != nil {
		return nil, fmt.Errorf("%s.rolloutStrategy: %w", f.ref.Field, err)
	}
	var next []*member
	for i := range result.ClustersToRollout {
		if m, ok := waiting[result.ClustersToRollout[i].ClusterName]; ok && result.ClustersToRollout[i].Status == handler.ToApply {
			next = append(next, m)
		}
	}
	return next, nil
}

func groupKey(group int) tracker.GroupKey {
	return tracker.GroupKey{GroupIndex: int32(group)} //nolint:gosec // a few groups
}
