package simulation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Create creates the ManifestWorkReplicaSet.
func (w *World) Create(version string, refs ...workv1alpha1.LocalPlacementReference) {
	object := &workv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Spec:       workv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: w.template(version), PlacementRefs: refs},
	}
	if w.Drops {
		object.Spec.PruneStrategy = workv1alpha1.PruneWhenAvailable
	}
	if _, err := w.API.Create(ReplicaSets, from(object)); err != nil {
		panic(err)
	}
	w.Tell("user: creates version %s", version)
}

// Edit changes the spec.
func (w *World) Edit(what string, change func(*workv1alpha1.ManifestWorkReplicaSetSpec)) {
	object := w.Object()
	if object == nil {
		return
	}
	change(&object.Spec)
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": from(&object.Spec).Object}, false)
	w.Tell("user: %s", what)
}

// Preserve sets whether the workloads stay when the ManifestWorkReplicaSet is deleted.
func (w *World) Preserve(preserve bool) {
	w.Edit(fmt.Sprintf("sets preserveResourcesOnDeletion to %v", preserve), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PreserveResourcesOnDeletion = &preserve
	})
}

// Delete deletes the ManifestWorkReplicaSet.
func (w *World) Delete() {
	if err := w.API.Delete(ReplicaSets, Namespace, Name, nil); err != nil {
		panic(err)
	}
	w.Tell("user: deletes it")
}

// Update sets the template to a version.
func (w *World) Update(version string) {
	clear(w.refusedSince) // Another template may be accepted.
	w.Edit("updates to version "+version, func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.ManifestWorkTemplate = w.template(version) })
}

// HoldAborted sets spec.abortedRevisionPolicy.
func (w *World) HoldAborted(policy workv1alpha1.AbortedRevisionPolicy) {
	w.Edit(fmt.Sprintf("sets abortedRevisionPolicy to %q", policy), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.AbortedRevisionPolicy = policy
	})
}

// AbortByHand sets status.abortedTime, as a user does. The hub replaces the time with its own.
func (w *World) AbortByHand() {
	now := metav1.NewTime(w.Clock.Now()).Rfc3339Copy()
	w.remembered(&now)
	w.abortedTime = &now
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"abortedTime": now}}, true)
	w.Tell("user: sets status.abortedTime")
}

// Place creates or changes a Placement and its decisions, with one decision per group of clusters.
func (w *World) Place(name string, groups ...[]string) {
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	_, _ = w.API.Create(Placements, from(placement))
	selected := 0
	for i := range max(len(groups), w.decisions(name)) {
		var clusters []string
		if i < len(groups) {
			clusters = groups[i]
		}
		w.decide(name, i, clusters)
		selected += len(clusters)
		for _, cluster := range clusters {
			w.haveAgent(cluster)
		}
	}
	w.count(name, selected, true, nil)
	delete(w.emptied, name)
	w.Tell("placement %s selects %v", name, groups)
}

// count sets the number of clusters that a Placement selects, and the decision groups that its status shows; none if shown is nil. OCM does so
// after it has written the decisions, together with the condition PlacementSatisfied.
func (w *World) count(placement string, selected int, counted bool, shown []clusterv1beta1.DecisionGroupStatus) {
	var conditions []map[string]any
	if counted {
		conditions = []map[string]any{{"type": clusterv1beta1.PlacementConditionSatisfied, "status": "True"}}
	}
	w.patch(Placements, Namespace, placement, map[string]any{"status": map[string]any{
		"numberOfSelectedClusters": selected, "conditions": conditions, "decisionGroups": shown,
	}}, true)
}

// Recreate deletes a Placement with its decisions, and creates it again as OCM's placement controller does: at first with a decision
// without clusters. Place completes it.
func (w *World) Recreate(name string) {
	w.noteEmptied(name)
	for i := range w.decisions(name) {
		_ = w.API.Delete(Decisions, Namespace, fmt.Sprintf("%s-decision-%d", name, i+1), nil)
	}
	_ = w.API.Delete(Placements, Namespace, name, nil)
	_, _ = w.API.Create(Placements, from(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}))
	w.decide(name, 0, nil)
	w.Tell("placement %s is created again, and its decision is empty", name)
}

// Empty removes the clusters from a Placement's decisions, as OCM does before it writes new ones. Its count stays, or was not written yet.
func (w *World) Empty(name string, counted bool) {
	w.noteEmptied(name)
	for i := range w.decisions(name) {
		w.decide(name, i, nil)
	}
	if !counted {
		w.count(name, 0, false, nil)
	}
	w.Tell("the decisions of placement %s are empty, its count is written: %v", name, counted)
}

func (w *World) decisions(placement string) int {
	n := 0
	for _, object := range w.API.List(Decisions, Namespace, nil) {
		if object.GetLabels()[clusterv1beta1.PlacementLabel] == placement {
			n++
		}
	}
	return n
}

func (w *World) decide(placement string, group int, clusters []string) {
	decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: fmt.Sprintf("%s-decision-%d", placement, group+1),
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(group),
			clusterv1beta1.DecisionGroupNameLabel: fmt.Sprintf("g%d", group),
		},
	}}
	_, _ = w.API.Create(Decisions, from(decision))
	decided := make([]map[string]string, 0, len(clusters))
	for _, cluster := range clusters {
		decided = append(decided, map[string]string{"clusterName": cluster, "reason": ""})
	}
	w.patch(Decisions, Namespace, decision.Name, map[string]any{"status": map[string]any{"decisions": decided}}, true)
}
