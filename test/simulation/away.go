package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Join creates the ManagedClusters of available clusters.
func (w *World) Join(clusters ...string) {
	for _, cluster := range clusters {
		_, _ = w.API.Create(Clusters, from(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}))
		w.availability(cluster, metav1.ConditionTrue)
	}
}

// Lose makes OCM mark a cluster as unavailable, as its registration controller does: the condition is Unknown, and there is a taint.
func (w *World) Lose(cluster string) {
	if w.available(cluster) {
		w.Tell("OCM: %s is unavailable", cluster)
		w.availability(cluster, metav1.ConditionUnknown)
	}
}

// Regain makes OCM mark a cluster as available.
func (w *World) Regain(cluster string) {
	if w.managed(cluster) && !w.available(cluster) {
		w.Tell("OCM: %s is available", cluster)
		w.availability(cluster, metav1.ConditionTrue)
	}
}

// Detach deletes a ManagedCluster.
func (w *World) Detach(cluster string) {
	if err := w.API.Delete(Clusters, "", cluster, nil); err == nil {
		w.Tell("user: deletes ManagedCluster %s", cluster)
	}
}

// managed reports whether a cluster has a ManagedCluster.
func (w *World) managed(cluster string) bool {
	_, err := w.API.Get(Clusters, "", cluster)
	return err == nil
}

// available reports whether OCM considers a cluster available.
func (w *World) available(cluster string) bool {
	available, _ := w.API.lease(context.Background(), cluster)
	return available
}

// lease returns the state of a cluster's Lease according to OCM: whether it is renewed, and whether it exists.
func (a *API) lease(_ context.Context, cluster string) (available, exists bool) {
	object, err := a.Get(Clusters, "", cluster)
	if err != nil {
		return false, false
	}
	found := as[clusterv1.ManagedCluster](a, object)
	return len(found.Spec.Taints) == 0 && len(found.Status.Conditions) > 0 && found.Status.Conditions[0].Status == metav1.ConditionTrue, true
}

// availability writes the condition and the taint.
func (w *World) availability(cluster string, available metav1.ConditionStatus) {
	now := metav1.NewTime(w.Clock.Now()).Rfc3339Copy()
	object := &clusterv1.ManagedCluster{}
	object.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: available, LastTransitionTime: now, Reason: "Simulated",
	}}
	var taints []any
	if available != metav1.ConditionTrue {
		taints = []any{map[string]any{
			"key": clusterv1.ManagedClusterTaintUnreachable, "effect": string(clusterv1.TaintEffectNoSelect), "timeAdded": now.UTC().Format("2006-01-02T15:04:05Z"),
		}}
	}
	w.patch(Clusters, "", cluster, map[string]any{"status": from(object).Object["status"]}, true)
	w.patch(Clusters, "", cluster, map[string]any{"spec": map[string]any{"taints": taints}}, false)
}

// sighting is what a process has seen of the availability of a cluster.
type sighting struct {
	available bool
	since     time.Time
}

// seesAway reports whether a cluster is away, as far as the hub's process has seen: it is unavailable, or has been seen available for less
// than a minute. If the process may no longer read ManagedClusters, an unavailable cluster stays unavailable.
func (w *World) seesAway(cluster string) bool {
	seen, known := w.Hub.clusters[cluster]
	return known && (!seen.available || !w.API.NoClusters && w.Clock.Since(seen.since) < time.Minute)
}

// checkAway checks P12: no work is deleted because its cluster was unavailable.
func (w *World) checkAway(work string) error {
	cluster, _, _ := strings.Cut(work, "/")
	owner := w.Object()
	if owner == nil || owner.DeletionTimestamp != nil || w.seenSelected().Has(cluster) || !w.seesAway(cluster) {
		return nil
	}
	return fmt.Errorf("the work %s is deleted while its cluster is away", work)
}

// staysAway reports whether a work stays although no Placement selects its cluster: the cluster is unavailable.
func (w *World) staysAway(cluster string) bool {
	return w.managed(cluster) && !w.available(cluster) && !w.API.NoClusters && !w.selected().Has(cluster)
}

// leftAlone reports whether a work stays with the Placement that lost its cluster because the cluster is unavailable, although another
// Placement selects the cluster. If the cluster has several works, the hub uses the one with the usual name.
func (w *World) leftAlone(work *workv1.ManifestWork) bool {
	placement := work.Labels[workv1alpha1.LabelPlacement]
	for _, other := range w.Works() {
		if other.Namespace == work.Namespace && other.Name == Name && owned(other) {
			placement = other.Labels[workv1alpha1.LabelPlacement]
		}
	}
	return w.seesAway(work.Namespace) && !decidedFor(placement, w.seenDecisions()).Has(work.Namespace)
}
