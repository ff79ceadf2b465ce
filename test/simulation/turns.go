package simulation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// checkTurn checks R8 when a write starts a cluster of a decision group. It fails if all remaining works of an earlier group are being
// deleted and their deadline has not passed: the hub would skip that group, which may be a canary. The check uses the state that the hub
// has seen.
func (w *World) checkTurn(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, placement string, deadline time.Duration) error {
	groups := w.groupsSeen(placement)
	key := started.Annotations[workv1alpha1.AnnotationDecisionGroup]
	for _, cached := range w.Hub.stores.Works.List() {
		work := cached.(*workv1.ManifestWork)
		group := work.Annotations[workv1alpha1.AnnotationDecisionGroup]
		if w.corrupt(work) || work.DeletionTimestamp.IsZero() || work.Labels[workv1alpha1.LabelPlacement] != placement || group == "" || group >= key {
			continue
		}
		hangs := deadline > 0 && w.Clock.Since(work.DeletionTimestamp.Time) >= deadline
		older := work.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision
		// If the placement has since moved the cluster to another group, the cluster counts there.
		moved := decidedFor(placement, w.seenDecisions()).Has(work.Namespace)
		if older && !hangs && !moved && !groupExists(groups, group) {
			return fmt.Errorf("%s of group %s is started, and all that is left of group %s is the work of %s, which is being deleted",
				started.Namespace, key, group, work.Namespace)
		}
	}
	return nil
}

// groupExists reports whether a decision group has clusters. It may have another index by now.
func groupExists(groups map[string][]string, group string) bool {
	_, name, _ := strings.Cut(group, "/")
	for key := range groups {
		if _, other, _ := strings.Cut(key, "/"); key == group || name != "" && other == name {
			return true
		}
	}
	return false
}

// groupsSeen returns the clusters of each decision group of a placement, by the group's key.
func (w *World) groupsSeen(placement string) map[string][]string {
	groups, shown := map[string][]string{}, map[string]string{}
	if cached, found, _ := w.Hub.stores.Placements.GetByKey(Namespace + "/" + placement); found {
		for _, group := range cached.(*clusterv1beta1.Placement).Status.DecisionGroups {
			for _, name := range group.Decisions {
				shown[name] = fmt.Sprintf("%d/%s", group.DecisionGroupIndex, group.DecisionGroupName)
			}
		}
	}
	for _, decision := range w.seenDecisions() {
		if decision.Labels[clusterv1beta1.PlacementLabel] != placement {
			continue
		}
		key := decision.Labels[clusterv1beta1.DecisionGroupIndexLabel] + "/" + decision.Labels[clusterv1beta1.DecisionGroupNameLabel]
		key = cmp.Or(shown[decision.Name], key)
		for _, d := range decision.Status.Decisions {
			groups[key] = append(groups[key], d.ClusterName)
		}
	}
	return groups
}
