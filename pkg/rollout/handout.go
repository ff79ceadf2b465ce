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
		next, err := f.ask(f.strategy.plain(mandatory), func(int) bool { return true })
		return slices.DeleteFunc(next, func(m *member) bool { return !f.strategy.isMandatory(&f.groups[m.group]) }), err
	}
	return f.ask(f.strategy.plain(nil), func(group int) bool { return !f.strategy.isMandatory(&f.groups[group]) })
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

// ask calls the handler with the groups for which include holds. It needs the group indices without gaps, which
// decisions that are still being written don't promise, so that the groups are numbered by their place.
func (f *fleet) ask(plain clusterv1alpha1.RolloutStrategy, include func(group int) bool) ([]*member, error) {
	groups := tracker.ClusterGroupsMap{}
	for g := range f.groups {
		groups[tracker.GroupKey{GroupIndex: int32(g)}] = sets.New[string]() //nolint:gosec // a few groups
	}
	var states []handler.ClusterRolloutStatus
	waiting := map[string]*member{}
	for i := range f.members {
		m := &f.members[i]
		if !include(m.group) {
			continue
		}
		key := tracker.GroupKey{GroupIndex: int32(m.group)} //nolint:gosec // a few groups
		groups[key].Insert(m.cluster)
		if m.phase == PhaseWaiting {
			waiting[m.cluster] = m
			continue
		}
		states = append(states, handler.ClusterRolloutStatus{ClusterName: m.cluster, GroupKey: key, Status: handlerStatus(m.phase)})
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

// handlerStatus hides time and failure from the handler: whoever is on the way takes a slot, whoever is past the
// deadline takes none.
func handlerStatus(phase Phase) handler.RolloutStatus {
	switch phase {
	case PhaseSucceeded:
		return handler.Succeeded
	case PhaseFailed, PhaseCompleted, PhaseLeaving:
		return handler.Skip
	default:
		return handler.Progressing
	}
}
