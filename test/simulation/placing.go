package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// DecisionGroup is a decision group of a Placement.
type DecisionGroup struct {
	Name     string
	Clusters []string
}

// groupsKept is the number of placements of a Placement in which the oracle looks for the group of a cluster: the hub's caches may lag.
const groupsKept = 3

// PlaceGroups creates or changes a Placement as OCM's placement controller does. A group without clusters does not exist, and the groups
// after it move up. The controller writes the clusters of each decision, then the Placement's status, and only then the labels of the
// decisions that existed before. between is called after each write.
func (w *World) PlaceGroups(name string, between func(shown bool), groups ...DecisionGroup) {
	w.placing = w.Hub
	defer func() { w.placing = nil }()
	w.groupings[name] = append(w.groupings[name], groups)
	w.groupings[name] = w.groupings[name][max(0, len(w.groupings[name])-groupsKept):]
	groups = slices.DeleteFunc(slices.Clone(groups), func(g DecisionGroup) bool { return len(g.Clusters) == 0 })
	if len(groups) == 0 {
		groups = []DecisionGroup{{}}
	}
	_, _ = w.API.Create(Placements, from(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}))
	existing, selected := w.decisions(name), 0
	labelled := existing
	if !w.counted(name) {
		labelled = 0 // OCM creates the first decisions with their labels.
	}
	var shown []clusterv1beta1.DecisionGroupStatus
	for i, group := range groups {
		decision := fmt.Sprintf("%s-decision-%d", name, i+1)
		if i >= labelled {
			w.decide(name, i, nil)
			w.label(decision, i, group.Name)
		}
		w.decide(name, i, group.Clusters)
		between(false)
		shown = append(shown, clusterv1beta1.DecisionGroupStatus{
			DecisionGroupIndex: int32(i), DecisionGroupName: group.Name, Decisions: []string{decision}, ClustersCount: int32(len(group.Clusters)), //nolint:gosec // Small.
		})
		selected += len(group.Clusters)
		for _, cluster := range group.Clusters {
			w.haveAgent(cluster)
		}
	}
	for i := len(groups); i < existing; i++ {
		_ = w.API.Delete(Decisions, Namespace, fmt.Sprintf("%s-decision-%d", name, i+1), nil)
		between(false)
	}
	w.count(name, selected, true, shown)
	delete(w.emptied, name)
	between(true)
	for i, group := range groups {
		w.label(fmt.Sprintf("%s-decision-%d", name, i+1), i, group.Name)
		between(true)
	}
	w.Tell("placement %s has the groups %v", name, groups)
}

// counted reports whether the status of a Placement was written.
func (w *World) counted(placement string) bool {
	return slices.ContainsFunc(w.API.List(Placements, Namespace, nil), func(object *unstructured.Unstructured) bool {
		return object.GetName() == placement && len(as[clusterv1beta1.Placement](w.API, object).Status.Conditions) > 0
	})
}

func (w *World) label(decision string, index int, group string) {
	w.patch(Decisions, Namespace, decision, map[string]any{"metadata": map[string]any{"labels": map[string]any{
		clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(index), clusterv1beta1.DecisionGroupNameLabel: group,
	}}}, false)
}

// checkGroup checks that a cluster is started in a group to which the Placement assigned it, if the strategy depends on groups.
func (w *World) checkGroup(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, placement string) error {
	ordered := slices.ContainsFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		s := &ref.RolloutStrategy
		return ref.Name == placement && (s.Type == clusterv1alpha1.ProgressivePerGroup || s.Type == clusterv1alpha1.Progressive && len(s.Groups) > 0)
	})
	_, name, _ := strings.Cut(started.Annotations[workv1alpha1.AnnotationDecisionGroup], "/")
	var assigned []string
	for _, groups := range w.groupings[placement] {
		for _, group := range groups {
			if slices.Contains(group.Clusters, started.Namespace) {
				assigned = append(assigned, group.Name)
			}
		}
	}
	restarted := w.placing != nil && w.placing != w.Hub // It has not seen the decisions change.
	if !ordered || restarted || len(assigned) == 0 || slices.Contains(assigned, name) {
		return nil
	}
	return fmt.Errorf("%s is started in group %q, and Placement %s assigned it to %q", started.Namespace, name, placement, assigned)
}
