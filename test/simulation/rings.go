package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// The test has its own rules for listed groups: before a cluster is started, every cluster of each earlier entry has succeeded or failed,
// and each bakeTime has passed. It runs from the true time of the last cluster's first success.

// ringsOf returns the listed groups of a placementRef.
func ringsOf(owner *workv1alpha1.ManifestWorkReplicaSet, placement string) []workv1alpha1.RolloutGroup {
	for i := range owner.Spec.PlacementRefs {
		if ref := &owner.Spec.PlacementRefs[i]; ref.Name == placement {
			return ref.RolloutStrategy.Groups
		}
	}
	return nil
}

// ringOf returns the position of a decision group, given as "<index>/<name>", in a list, or the length of the list if it is not there.
func ringOf(rings []workv1alpha1.RolloutGroup, key string) int {
	index, name, _ := strings.Cut(key, "/")
	at := slices.IndexFunc(rings, func(r workv1alpha1.RolloutGroup) bool {
		return r.GroupName != "" && r.GroupName == name || r.GroupName == "" && r.Label() == index
	})
	if at < 0 {
		return len(rings)
	}
	return at
}

// checkRings checks that the listed groups allow a cluster to be started, as far as the hub has seen.
func (w *World) checkRings(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork) error {
	placement := started.Labels[workv1alpha1.LabelPlacement]
	rings := ringsOf(owner, placement)
	if !w.ringsHold(owner, started) {
		return nil
	}
	groups := w.groupsSeen(placement)
	for r := range rings[:ringOf(rings, started.Annotations[workv1alpha1.AnnotationDecisionGroup])] {
		exists := false
		for key, clusters := range groups {
			if ringOf(rings, key) != r {
				continue
			}
			exists = exists || len(clusters) > 0
			for _, cluster := range clusters {
				if err := w.checkRingDone(owner, placement, cluster, &rings[r]); err != nil {
					return fmt.Errorf("%s is started before group %s is done: %w", started.Namespace, rings[r].Label(), err)
				}
			}
		}
		if !exists && !w.anyWorkOf(placement, rings, r) {
			return fmt.Errorf("%s is started, and group %s before it does not exist", started.Namespace, rings[r].Label())
		}
	}
	return nil
}

// ringsHold reports whether listed groups can hold back the start of a cluster: the rollout is neither complete nor a return, and the
// cluster was not started before.
func (w *World) ringsHold(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork) bool {
	l := w.ledger()
	before := func(t ledger.Trouble) bool { return t.Cluster == started.Namespace }
	return w.Network == nil && l.Ended.IsZero() && !l.Begun.AtOnce && owner.Status.CurrentRevision != owner.Status.UpdateRevision &&
		!slices.ContainsFunc(l.Troubles, before)
}

// anyWorkOf reports whether a work of a Placement has been written in a listed group.
func (w *World) anyWorkOf(placement string, rings []workv1alpha1.RolloutGroup, r int) bool {
	return slices.ContainsFunc(w.Works(), func(work *workv1.ManifestWork) bool {
		return work.Labels[workv1alpha1.LabelPlacement] == placement && ringOf(rings, work.Annotations[workv1alpha1.AnnotationDecisionGroup]) == r
	})
}

// checkRingDone checks that one cluster of a listed group is done, and that its bakeTime has passed.
func (w *World) checkRingDone(owner *workv1alpha1.ManifestWorkReplicaSet, placement, cluster string, ring *workv1alpha1.RolloutGroup) error {
	troubled := func(t ledger.Trouble) bool { return t.Cluster == cluster && t.State == ledger.Failed }
	skips := func(ref workv1alpha1.LocalPlacementReference) bool {
		return ref.Name == placement && ref.RolloutStrategy.SkipsUnavailable()
	}
	if w.seesAway(cluster) && slices.ContainsFunc(owner.Spec.PlacementRefs, skips) && !w.hasUpdate(owner, cluster) {
		return nil // The status may not list it yet.
	}
	if w.toldAway(cluster) || slices.ContainsFunc(w.ledger().Troubles, troubled) {
		return nil
	}
	for _, cached := range w.Hub.stores.Works.List() {
		work := cached.(*workv1.ManifestWork)
		if work.Namespace != cluster || !owned(work) {
			continue
		}
		if w.corrupt(work) || w.countedUnder(owner, work) != placement {
			return nil
		}
		return w.checkBaked(owner, work, ring)
	}
	if w.onHold(cluster) || decidedElsewhere(w, owner, placement, cluster) {
		return nil
	}
	return fmt.Errorf("%s has no work", cluster)
}

// hasUpdate reports whether the work of a cluster has the update revision.
func (w *World) hasUpdate(owner *workv1alpha1.ManifestWorkReplicaSet, cluster string) bool {
	work := w.workOf(cluster)
	return work != nil && work.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision
}

// checkBaked checks that a work of a listed group has succeeded with the update revision, and that its bakeTime has passed. Groups pass over
// a cluster on hold that lacks the revision.
func (w *World) checkBaked(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork, ring *workv1alpha1.RolloutGroup) error {
	switch hash := work.Labels[workv1alpha1.LabelControllerHash]; {
	case hash != owner.Status.UpdateRevision && w.onHold(work.Namespace):
		return nil
	case hash != owner.Status.UpdateRevision:
		return fmt.Errorf("%s has %s", work.Namespace, hash)
	case !w.reached(work):
		return fmt.Errorf("%s has not succeeded", work.Namespace)
	}
	if at := w.firstSuccess(work); ring.BakeTime != nil && w.Clock.Since(at) < ring.BakeTime.Duration {
		return fmt.Errorf("%s succeeded %s ago, and bakes for %s", work.Namespace, w.Clock.Since(at), ring.BakeTime.Duration)
	}
	return nil
}

// decidedElsewhere reports whether an earlier placementRef selects a cluster.
func decidedElsewhere(w *World, owner *workv1alpha1.ManifestWorkReplicaSet, placement, cluster string) bool {
	for i := range owner.Spec.PlacementRefs {
		name := owner.Spec.PlacementRefs[i].Name
		if name == placement {
			return false
		}
		if decidedFor(name, w.seenDecisions()).Has(cluster) {
			return true
		}
	}
	return false
}

// firstSuccess returns the time at which the agent first reported a success of the content of a work; zero if it has
// not.
func (w *World) firstSuccess(work *workv1.ManifestWork) time.Time {
	if a := w.agents[work.UID]; a != nil {
		for _, r := range a.reports {
			if r.success && r.generation == w.specGeneration(work) {
				return r.at
			}
		}
	}
	return time.Time{}
}

// ringMissing reports whether a listed group has no clusters: then its placementRef waits. A cluster that stays with the Placement that lost
// it does not belong to the group.
func (w *World) ringMissing() bool {
	owner := w.Object()
	for i := range owner.Spec.PlacementRefs {
		ref := &owner.Spec.PlacementRefs[i]
		for r := range ref.RolloutStrategy.Groups {
			exists := false
			for key, clusters := range w.groupsSeen(ref.Name) {
				own := func(cluster string) bool {
					return !decidedElsewhere(w, owner, ref.Name, cluster) && !slices.ContainsFunc(w.worksIn(cluster), w.leftAlone)
				}
				exists = exists || ringOf(ref.RolloutStrategy.Groups, key) == r && slices.ContainsFunc(clusters, own)
			}
			if !exists {
				return true
			}
		}
	}
	return false
}
