package simulation

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// selected returns the clusters that any ref selects.
func (w *World) selected() sets.Set[string] {
	var decisions []*clusterv1beta1.PlacementDecision
	for _, object := range w.API.List(Decisions, Namespace, nil) {
		decisions = append(decisions, as[clusterv1beta1.PlacementDecision](w.API, object))
	}
	return selectedBy(w.Object(), decisions)
}

// seenSelected returns the clusters that any ref selects, as far as the hub has seen. A cluster that moves from one Placement to another is
// in none of them for a moment, and then does not count.
func (w *World) seenSelected() sets.Set[string] { return selectedBy(w.seen(), w.seenDecisions()) }

func (w *World) seenDecisions() []*clusterv1beta1.PlacementDecision {
	var decisions []*clusterv1beta1.PlacementDecision
	for _, cached := range w.Hub.stores.Decisions.List() {
		decisions = append(decisions, cached.(*clusterv1beta1.PlacementDecision))
	}
	return decisions
}

func selectedBy(owner *workv1alpha1.ManifestWorkReplicaSet, decisions []*clusterv1beta1.PlacementDecision) sets.Set[string] {
	clusters := sets.New[string]()
	if owner == nil {
		return clusters
	}
	for _, ref := range owner.Spec.PlacementRefs {
		clusters = clusters.Union(decidedFor(ref.Name, decisions))
	}
	return clusters
}

// decidedFor returns the clusters of one Placement.
func decidedFor(placement string, decisions []*clusterv1beta1.PlacementDecision) sets.Set[string] {
	clusters := sets.New[string]()
	for _, decision := range decisions {
		if decision.Labels[clusterv1beta1.PlacementLabel] != placement {
			continue
		}
		for _, d := range decision.Status.Decisions {
			clusters.Insert(d.ClusterName)
		}
	}
	return clusters
}

// unknownPlacement returns a Placement that, as far as the hub has seen, is missing, has no decision, or counts more clusters than its
// decisions name; empty if there is none. While there is one, no cluster is started, and none fails.
func (w *World) unknownPlacement(owner *workv1alpha1.ManifestWorkReplicaSet) string {
	decisions := w.seenDecisions()
	for _, ref := range owner.Spec.PlacementRefs {
		cached, found, err := w.Hub.stores.Placements.GetByKey(Namespace + "/" + ref.Name)
		decided := slices.ContainsFunc(decisions, func(d *clusterv1beta1.PlacementDecision) bool {
			return d.Labels[clusterv1beta1.PlacementLabel] == ref.Name
		})
		if err != nil || !found || !decided || decidedFor(ref.Name, decisions).Len() < int(cached.(*clusterv1beta1.Placement).Status.NumberOfSelectedClusters) {
			return ref.Name
		}
	}
	return ""
}

// countedUnder returns the placement under which the hub counts a work, as far as it has seen: the first one that selects the cluster, or
// the one in the label of the work. A work whose cluster is away stays with its placement.
func (w *World) countedUnder(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) string {
	label := work.Labels[workv1alpha1.LabelPlacement]
	decisions := w.seenDecisions()
	stays := refersTo(owner, label) && w.seesAway(work.Namespace) && !decidedFor(label, decisions).Has(work.Namespace)
	if work.DeletionTimestamp.IsZero() && !stays {
		for _, ref := range owner.Spec.PlacementRefs {
			if decidedFor(ref.Name, decisions).Has(work.Namespace) {
				return ref.Name
			}
		}
	}
	return label
}

func refersTo(owner *workv1alpha1.ManifestWorkReplicaSet, placement string) bool {
	return slices.ContainsFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return ref.Name == placement })
}

// seen returns the owner from the hub's cache.
func (w *World) seen() *workv1alpha1.ManifestWorkReplicaSet {
	cached, exists, err := w.Hub.stores.ReplicaSets.GetByKey(Namespace + "/" + Name)
	if err != nil || !exists {
		return nil
	}
	object, _ := cached.(interface {
		DeepCopy() *workv1alpha1.ManifestWorkReplicaSet
	})
	return object.DeepCopy()
}

func strategyOf(owner *workv1alpha1.ManifestWorkReplicaSet, placement string) (kind clusterv1alpha1.RolloutType, batch int, deadline time.Duration) {
	for _, ref := range owner.Spec.PlacementRefs {
		if ref.Name != placement {
			continue
		}
		text := ""
		switch s := ref.RolloutStrategy; s.Type {
		case clusterv1alpha1.Progressive:
			batch, text = s.Progressive.MaxConcurrency.IntValue(), s.Progressive.ProgressDeadline
		case clusterv1alpha1.ProgressivePerGroup:
			text = s.ProgressivePerGroup.ProgressDeadline
		default:
			if s.All != nil {
				text = s.All.ProgressDeadline
			}
		}
		deadline, _ = time.ParseDuration(text)
		return ref.RolloutStrategy.Type, batch, deadline
	}
	return "", 0, 0
}

// Refuse makes the API server give an answer to all writes of the works of a cluster.
func (w *World) Refuse(cluster string, answer Fault) {
	if w.Refusals[cluster] == answer {
		return
	}
	w.Tell("admin: writes of works of %s are answered %q", cluster, answer)
	if answer == NoFault {
		delete(w.Refusals, cluster)
	} else {
		w.Refusals[cluster] = answer
	}
}

// refusal returns the answer from the API server to a write of a work.
func (w *World) refusal(write string) Fault {
	if _, name, ok := strings.Cut(write, " work "); ok {
		cluster, _, _ := strings.Cut(name, "/")
		return w.Refusals[cluster]
	}
	return NoFault
}

// noteRefusal tracks the time since which the API server has rejected the writes of a cluster's work, and in which rollout. A write that
// fails for another reason is neither rejected nor accepted.
func (w *World) noteRefusal(write string, fault Fault) {
	cluster := clusterOfWrite(write)
	if owner := w.Object(); owner != nil && cluster != "" && fault == Denied {
		w.refusedIn[cluster] = w.rolloutOf(owner)
	}
	if _, known := w.refusedSince[cluster]; cluster != "" && fault == Denied && !known {
		w.refusedSince[cluster] = w.Clock.Now()
	}
}

// noteAcceptance ends a rejection when the API server accepts the update revision, or any write of an abort. A write that only adds the
// hash of an older revision proves nothing about the update revision.
func (w *World) noteAcceptance(write string) {
	owner, work := w.Object(), w.workOf(clusterOfWrite(write))
	if owner == nil || work == nil {
		return
	}
	if work.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision || owner.Status.AbortedTime != nil {
		delete(w.refusedSince, work.Namespace)
	}
}

// clusterOfWrite returns the cluster of a work that is created or changed; empty for any other write.
func clusterOfWrite(write string) string {
	_, name, ok := strings.Cut(write, " work ")
	if !ok || strings.HasPrefix(write, "delete ") {
		return ""
	}
	cluster, _, _ := strings.Cut(name, "/")
	return cluster
}

// refusedForLong reports whether the work of a cluster has been refused for a placement's deadline.
func (w *World) refusedForLong(owner *workv1alpha1.ManifestWorkReplicaSet) bool {
	for _, ref := range owner.Spec.PlacementRefs {
		_, _, deadline := strategyOf(owner, ref.Name)
		for cluster, since := range w.refusedSince {
			if deadline > 0 && w.Clock.Since(since) >= deadline && decidedFor(ref.Name, w.seenDecisions()).Has(cluster) {
				return true
			}
		}
	}
	return false
}
