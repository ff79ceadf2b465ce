package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	tracker "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// sdk-go's rollout handler, which all of OCM's controllers share, decides one thing here: of the clusters that may start, which come
// first. That is the order of clusters in a batch, the order of decision groups, and which group has its turn.
//
// Everything that the handler concludes from times and failures is decided in this package: which clusters are in flight, soaking or
// failed, how many slots of a batch are free, whether the mandatory groups are done, and whether a ref may start anything (R10, R11).
// The handler therefore gets a strategy without times and limits, the clusters that may start, and no state but this: one cluster on
// its way in the first group that has to finish before the next one begins.
//
// Asked with the user's strategy and all states, the handler starts clusters that must not start, and the other way round. The table
// in docs/concepts/rollout.md lists these cases, and TestHandlerDeviations shows each of them. TestHandlerAgrees holds the decisions of
// this package against the handler everywhere else.

// question is what the handler is asked.
type question struct {
	// candidate reports who may come next.
	candidate func(*member) bool
	// include reports which groups the question is about.
	include func(group int) bool
	// inOrder means that a group has to wait for those before it.
	inOrder bool
	// allMandatory means that the groups are mandatory ones.
	allMandatory bool
	// free is how many slots of a Progressive batch are free.
	free int
}

// ask returns the candidates that come next. The handler needs group indices without gaps, and decisions that are still being written
// have gaps. It gets the groups with candidates, numbered by their place.
func (f *fleet) ask(q question) ([]*member, error) {
	waiting := map[string]*member{}
	groups := make([]sets.Set[string], len(f.groups))
	add := func(m *member) {
		if groups[m.group] == nil {
			groups[m.group] = sets.New[string]()
		}
		groups[m.group].Insert(m.cluster)
	}
	for i := range f.members {
		if m := &f.members[i]; q.candidate(m) && q.include(m.group) {
			add(m)
			waiting[m.cluster] = m
		}
	}
	first := f.firstOnTheWay(q)
	if first != nil {
		add(first)
	}
	result, err := f.rolloutClusters(q, groups, first)
	if err != nil {
		return nil, err
	}
	var next []*member
	for i := range result {
		if m, ok := waiting[result[i].ClusterName]; ok && result[i].Status == handler.ToApply {
			next = append(next, m)
		}
	}
	return next, nil
}

// firstOnTheWay returns one member of the first group that later groups wait for: one that is on its way, to the revision or out of the
// ref, or that waits without being a candidate, such as a held one, or a rejected one before its deadline. It returns nil where groups
// have no order.
func (f *fleet) firstOnTheWay(q question) *member {
	if !q.inOrder {
		return nil
	}
	var first *member
	for i := range f.members {
		m := &f.members[i]
		if q.include(m.group) && (first == nil || m.group < first.group) && m.holdsTurn(q.candidate) {
			first = m
		}
	}
	return first
}

// holdsTurn reports whether groups after the member's wait for it.
func (m *member) holdsTurn(candidate func(*member) bool) bool {
	if m.takesSlot() || m.phase == PhaseLeaving {
		return true
	}
	return !candidate(m) && (m.phase == PhaseWaiting || m.keepsTurn())
}

// rolloutClusters calls the handler with groups of clusters, of which one at most is on its way.
func (f *fleet) rolloutClusters(q question, groups []sets.Set[string], onTheWay *member) ([]handler.ClusterRolloutStatus, error) {
	asked := tracker.ClusterGroupsMap{}
	var states []handler.ClusterRolloutStatus
	var mandatory []clusterv1alpha1.MandatoryDecisionGroup
	for g, clusters := range groups {
		if clusters == nil {
			continue
		}
		key := tracker.GroupKey{GroupIndex: int32(len(asked))} //nolint:gosec // a few groups
		asked[key] = clusters
		if onTheWay != nil && onTheWay.group == g {
			states = append(states, handler.ClusterRolloutStatus{ClusterName: onTheWay.cluster, GroupKey: key, Status: handler.Progressing})
		}
		if q.allMandatory {
			mandatory = append(mandatory, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: key.GroupIndex})
		}
	}
	rollouts, err := handler.NewRolloutHandler(tracker.NewPlacementDecisionClustersTrackerWithGroups(nil, nil, asked), noStatus)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.ref.Field, err)
	}
	_, result, err := rollouts.GetRolloutCluster(f.strategy.plain(mandatory, q.free), states)
	if err != nil {
		return nil, fmt.Errorf("%s.rolloutStrategy: %w", f.ref.Field, err)
	}
	return result.ClustersToRollout, nil
}

// noStatus stands for the function that the handler takes and does not call.
func noStatus(string, struct{}) (handler.ClusterRolloutStatus, error) {
	return handler.ClusterRolloutStatus{}, nil
}

// plain returns the strategy that the handler gets: type, groups and batch size, without times and limits. free is how many slots of a
// Progressive batch are free.
func (s *strategy) plain(mandatory []clusterv1alpha1.MandatoryDecisionGroup, free int) clusterv1alpha1.RolloutStrategy {
	config := clusterv1alpha1.RolloutConfig{ProgressDeadline: "None"}
	groups := clusterv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: mandatory}
	out := clusterv1alpha1.RolloutStrategy{Type: s.kind}
	switch s.kind {
	case clusterv1alpha1.Progressive:
		out.Progressive = &clusterv1alpha1.RolloutProgressive{
			RolloutConfig: config, MandatoryDecisionGroups: groups, MaxConcurrency: intstr.FromInt32(int32(free)), //nolint:gosec // a few thousand
		}
	case clusterv1alpha1.ProgressivePerGroup:
		out.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config, MandatoryDecisionGroups: groups}
	default:
		out.All = &clusterv1alpha1.RolloutAll{RolloutConfig: config}
	}
	return out
}
