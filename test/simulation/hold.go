package simulation

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// AnnotateCluster sets a hold or windows on a ManagedCluster, as an administrator does. An empty value removes them.
func (w *World) AnnotateCluster(cluster, annotation, value string) {
	if !w.managed(cluster) {
		return
	}
	w.Tell("administrator: sets %s of %s to %q", annotation, cluster, value)
	var written any
	if value != "" {
		written = value
	}
	w.patch(Clusters, "", cluster, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: written}}}, false)
}

// Hold puts a cluster on hold; an empty reason ends the hold.
func (w *World) Hold(cluster, reason string) {
	w.AnnotateCluster(cluster, workv1alpha1.AnnotationHold, reason)
}

// Windows sets the windows of a cluster. An empty value removes them.
func (w *World) Windows(cluster, windows string) {
	w.AnnotateCluster(cluster, workv1alpha1.AnnotationWindow, windows)
}

// rule reports whether a hold or a closed window keeps new revisions from a cluster, as far as the hub's process has seen, and whether this
// has no end.
func (w *World) rule(cluster string) (keptBack, endless bool) {
	hold, keptBack, _ := w.Hub.rules[cluster].At(w.hubNow())
	return keptBack, keptBack && hold.Opens.IsZero()
}

func (w *World) keptBack(cluster string) bool { keptBack, _ := w.rule(cluster); return keptBack }

// onHold reports whether a rollout completes without a cluster.
func (w *World) onHold(cluster string) bool { _, endless := w.rule(cluster); return endless }

// withoutKeptBack returns the clusters on which rollouts may start.
func (w *World) withoutKeptBack(clusters sets.Set[string]) sets.Set[string] {
	return sets.New(slices.DeleteFunc(sets.List(clusters), func(c string) bool { return w.keptBack(c) || w.toldSkipped(c) })...)
}

// toldSkipped reports whether the hub is right to skip a cluster: the cluster is unavailable.
func (w *World) toldSkipped(cluster string) bool {
	return w.seesAway(cluster) && slices.ContainsFunc(w.Object().Status.Away, func(away workv1alpha1.AwayCluster) bool {
		return away.Cluster == cluster && away.Skipped
	})
}

// waitsForRule reports whether a rollout is right to stay in progress: the status lists a cluster with a rule that has not succeeded.
func (w *World) waitsForRule(object *workv1alpha1.ManifestWorkReplicaSet) bool {
	return slices.ContainsFunc(object.Status.Held, func(held workv1alpha1.HeldCluster) bool { return w.keptBack(held.Cluster) })
}

// groupsWait reports whether later decision groups may wait for a cluster whose windows are closed.
func (w *World) groupsWait() bool {
	owner := w.Object()
	return slices.ContainsFunc(owner.Status.Held, func(held workv1alpha1.HeldCluster) bool {
		return w.keptBack(held.Cluster) && !w.onHold(held.Cluster)
	}) && slices.ContainsFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		strategy := &ref.RolloutStrategy
		mandatory := strategy.Progressive != nil && len(strategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups) > 0
		return mandatory || len(strategy.Groups) > 0 || strategy.Type == clusterv1alpha1.ProgressivePerGroup
	})
}

// unansweredFor is the time for which a hub assumes that a write without an answer may have succeeded.
const unansweredFor = 30 * time.Second

// checkHeld checks P13: nothing is started on a cluster that is on hold, or outside its windows. again is true if the work had the
// revision. A cluster that has failed or that a user retries is not started, and the answer to a write may be lost.
func (w *World) checkHeld(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, again bool) error {
	cluster := started.Namespace
	l := w.ledger()
	known := slices.ContainsFunc(l.Troubles, func(t ledger.Trouble) bool { return t.Cluster == cluster })
	lost := w.Fault != nil || w.Network != nil && w.Clock.Since(w.Network.hub.away) < unansweredFor
	if again || known || lost || !w.keptBack(cluster) || owner.Spec.Paused || w.heldBefore(cluster, owner.Status.UpdateRevision) {
		return nil
	}
	return fmt.Errorf("%s is started, and its rule is %+v", cluster, w.Hub.rules[cluster])
}

// heldBefore reports whether another work of the cluster has a revision.
func (w *World) heldBefore(cluster, hash string) bool {
	return slices.ContainsFunc(w.worksIn(cluster), func(other *workv1.ManifestWork) bool {
		return other.Name != Name && other.Labels[workv1alpha1.LabelControllerHash] == hash
	})
}
