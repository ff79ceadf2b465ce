package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// The test's own view of failures: a cluster that was overdue at a pass of the hub has failed, regardless of the hub's state, until
// its agent succeeds or another rollout begins. Restarts, stalls, edits and deletions do not change that.

// fact is a cluster that was overdue at a pass.
type fact struct {
	// rollout is the rollout in which it was overdue, and placement is the placement that it counted for.
	rollout, placement string
}

// rolloutOf identifies the rollout in progress: a retry and an undo are separate rollouts.
func (w *World) rolloutOf(owner *workv1alpha1.ManifestWorkReplicaSet) string {
	begun := w.ledger().Begun
	if begun.How == ledger.New {
		begun.At = time.Time{}
	}
	return fmt.Sprint(owner.Status.UpdateRevision, begun.At, begun.Retried)
}

// noteFacts notes which clusters were overdue at the pass that has ended. A pass that saw an older state of the world may find fewer.
func (w *World) noteFacts() {
	owner := w.Object()
	w.informed = w.Hub
	if owner == nil || owner.Status.AbortedTime != nil || w.Hub.Behind() > 0 || w.Network != nil {
		return
	}
	rollout, selected := w.rolloutOf(owner), w.seenSelected()
	maps.DeleteFunc(w.facts, func(cluster string, known fact) bool {
		return known.rollout != rollout || !selected.Has(cluster) && w.workOf(cluster) == nil
	})
	for _, work := range w.Works() {
		if owned(work) && !w.corrupt(work) {
			w.noteFact(owner, work, rollout, selected.Has(work.Namespace))
		}
	}
}

// forgetLostFacts forgets the facts that no process can know any more: a user wiped the status, or restored an older one, before a new
// process had read it, or also deleted the revision.
func (w *World) forgetLostFacts() {
	owner := w.Object()
	if owner == nil || owner.Status.UpdateRevision != "" && !w.restored {
		return
	}
	w.restored = w.restored && w.Hub.Behind() > 0
	maps.DeleteFunc(w.facts, func(_ string, known fact) bool {
		hash, _, _ := strings.Cut(known.rollout, " ")
		return w.informed != w.Hub || !w.hasRevision(hash)
	})
}

// overdueAt identifies the rollout in which a cluster was overdue, and the hash of its revision.
type overdueAt struct{ revision, rollout string }

// noteOverdue notes when each cluster last succeeded, and each cluster that has been overdue at the update revision and that the hub has
// not seen succeed since. A failure of such a cluster may be older than the last write of its work: a user edited or deleted the work after
// it had failed.
func (w *World) noteOverdue(owner *workv1alpha1.ManifestWorkReplicaSet) {
	if owner == nil {
		return
	}
	for _, work := range w.Works() {
		if w.succeeded(work) {
			w.wellAt[work.Namespace] = w.Clock.Now()
		}
		if w.isOverdue(owner, work) || w.gateFails(owner, work) {
			w.wasOverdue[work.Namespace] = overdueAt{revision: owner.Status.UpdateRevision, rollout: w.rolloutOf(owner)}
		} else if work.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision && Version(work) != edited &&
			w.isWell(work) && w.gateOpen(work) && w.showsSuccess(work) {
			delete(w.wasOverdue, work.Namespace)
		}
	}
}

// isOverdue reports whether a cluster is past its deadline at the update revision, or the API server has rejected its work for that long.
// If the network lost the report of a success, the failure is still a fact for the hub.
func (w *World) isOverdue(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	switch {
	case work.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision:
		_, refused := w.refusedSince[work.Namespace]
		return refused && w.overdueOrRefused(owner, work) // It stays a failure if the deadline is extended.
	case Version(work) == edited && w.isWell(work): // Not a success of the revision. During a pause, nothing restores the work in time.
		_, past := w.pastDeadline(owner, work)
		return past
	}
	return !w.isWell(work) && w.overdue(owner, work)
}

// showsSuccess reports whether the hub's cache shows that a cluster has succeeded.
func (w *World) showsSuccess(work *workv1.ManifestWork) bool {
	cached, known, err := w.Hub.stores.Works.GetByKey(work.Namespace + "/" + work.Name)
	return err == nil && known && w.succeeded(cached.(*workv1.ManifestWork))
}

// noteFact notes whether a cluster is overdue, or has succeeded. If its work does not name the placement that the cluster counts for, the
// cluster has not been handed over, and does not fail.
func (w *World) noteFact(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork, rollout string, selected bool) {
	selected = selected && work.Labels[workv1alpha1.LabelPlacement] == w.countedUnder(owner, work) && w.unknownPlacement(owner) == ""
	switch {
	case w.succeeded(work) && work.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision:
		delete(w.facts, work.Namespace)
	case selected && w.isFact(owner, work):
		w.facts[work.Namespace] = fact{rollout: rollout, placement: w.countedUnder(owner, work)}
	}
}

// isFact reports whether the hub could see in its last pass that a cluster was overdue at the update revision.
func (w *World) isFact(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	deadline, past := w.pastDeadline(owner, work)
	if !past || work.DeletionTimestamp != nil || work.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision || Version(work) != testwork.Version(&owner.Spec.ManifestWorkTemplate) {
		return false
	}
	if w.outcome(work.Namespace, Version(work)) != Hangs {
		return false // Its agent reports from time to time, and each report may restart the deadline.
	}
	reported, _ := w.trueTime(revision.Name(Name, owner.Status.UpdateRevision), strings.SplitN(w.rolloutOf(owner)+"  ", " ", 3)[2])
	grace := min(deadline, 2*time.Minute)
	_, gap := w.Hub.connection.Look()
	began := gap.End.Add(-w.HubAhead).Add(grace)
	if w.Clock.Since(w.clocks.retriedAt.Add(time.Second)) < deadline || !w.hubSettled(deadline+grace) {
		return false // A user retries it, or the hub's clock was set back.
	}
	// The deadline of a cluster that relapses runs from the relapse.
	return !w.Clock.Now().Before(began) && w.Clock.Since(reported) >= deadline && w.Clock.Since(w.wellAt[work.Namespace]) >= deadline && owner.Status.CurrentRevision != owner.Status.UpdateRevision
}

// workOf returns the work of a cluster; nil if it has none.
func (w *World) workOf(cluster string) *workv1.ManifestWork {
	works := w.worksIn(cluster)
	if i := slices.IndexFunc(works, func(work *workv1.ManifestWork) bool { return work.Namespace == cluster && owned(work) }); i >= 0 {
		return works[i]
	}
	return nil
}

// checkHalted checks R11: no cluster is started while more clusters have failed than the strategy tolerates.
func (w *World) checkHalted(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, placement string) error {
	rollout := w.rolloutOf(owner)
	_, again := w.facts[started.Namespace]
	if again || w.wasOverdue[started.Namespace].rollout == rollout || w.refusedIn[started.Namespace] == rollout {
		return nil // It is restored or tried again, and was started before.
	}
	_, perGroup := tolerated(owner, placement, 0)
	failed := map[string][]string{}
	for cluster, known := range w.facts {
		// A cluster that an earlier placementRef has just lost stays with it for some time: the label shows when the hub hands it over.
		work := w.workOf(cluster)
		stays := work != nil && work.Labels[workv1alpha1.LabelPlacement] != placement
		if known.rollout == rollout && !stays && w.countsFor(owner, cluster, known) == placement {
			group := ""
			if perGroup {
				group, _ = w.groupOf(placement, cluster)
			}
			failed[group] = append(failed[group], cluster)
		}
	}
	for group, clusters := range failed {
		members := sets.New(clusters...) // A cluster that is being removed counts for its placement until its work is gone.
		if perGroup {
			members.Insert(w.groupsSeen(placement)[group]...)
		} else {
			members.Insert(decidedFor(placement, w.seenDecisions()).UnsortedList()...)
		}
		size := members.Len()
		if allowed, _ := tolerated(owner, placement, size); len(clusters) > allowed {
			slices.Sort(clusters)
			return fmt.Errorf("%s is started, and %v of placement %s %s have failed: %d are tolerated", started.Namespace, clusters, placement, group, allowed)
		}
	}
	return nil
}

// countsFor returns the placement that a cluster counts for now, based on what the hub has seen.
func (w *World) countsFor(owner *workv1alpha1.ManifestWorkReplicaSet, cluster string, known fact) string {
	if work := w.workOf(cluster); work != nil {
		return w.countedUnder(owner, work)
	}
	for _, ref := range owner.Spec.PlacementRefs {
		if decidedFor(ref.Name, w.seenDecisions()).Has(cluster) {
			return ref.Name
		}
	}
	if len(w.seenDecisions()) == 0 {
		return known.placement
	}
	return ""
}

func (w *World) sizeOf(placement string) int { return len(decidedFor(placement, w.seenDecisions())) }

// tolerated returns how many of a placement's clusters may fail, and whether that applies to each decision group.
func tolerated(owner *workv1alpha1.ManifestWorkReplicaSet, placement string, size int) (allowed int, perGroup bool) {
	for i := range owner.Spec.PlacementRefs {
		if ref := &owner.Spec.PlacementRefs[i]; ref.Name == placement {
			var config clusterv1alpha1.RolloutConfig
			switch s := ref.RolloutStrategy; s.Type {
			case clusterv1alpha1.Progressive:
				config = s.Progressive.RolloutConfig
			case clusterv1alpha1.ProgressivePerGroup:
				config, perGroup = s.ProgressivePerGroup.RolloutConfig, true
			default:
				if s.All != nil {
					config = s.All.RolloutConfig
				}
			}
			allowed, _ = intstr.GetScaledValueFromIntOrPercent(&config.MaxFailures, size, true)
		}
	}
	return allowed, perGroup
}

// returnsHere reports whether a write takes a cluster back to the revision that it left and that the template has returned to.
func (w *World) returnsHere(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, before string) bool {
	hash, of := strings.CutPrefix(before, string(started.UID))
	return of && owner.Status.CurrentRevision == owner.Status.UpdateRevision && !strings.HasPrefix(hash, owner.Status.UpdateRevision)
}

// checkTolerated checks P3 for clusters that have not succeeded at a revision that became the current one. Each has failed past its
// deadline, their number is within the tolerance of their placements, and other clusters have succeeded.
func (w *World) checkTolerated(name string, failed map[string]error, succeeded int) error {
	owner := w.seen()
	counts := map[string]int{}
	for _, cluster := range slices.Sorted(maps.Keys(failed)) {
		work := w.workOf(cluster)
		if work == nil || !w.overdueOrRefused(owner, work) && !w.gateFails(owner, work) && !w.lostSuccess(owner, work) &&
			w.wasOverdue[cluster].revision != w.ledger().Update.Hash {
			return failed[cluster]
		}
		placement := w.countedUnder(owner, work)
		key, size := placement, w.sizeOf(placement)
		if _, perGroup := tolerated(owner, placement, size); perGroup {
			group, members := w.groupOf(placement, cluster)
			key, size = placement+" "+group, members
		}
		if counts[key]++; succeeded == 0 {
			return failed[cluster]
		}
		if allowed, _ := tolerated(owner, placement, size); counts[key] > allowed {
			return fmt.Errorf("%s became current with %d failed clusters of %s, %d are tolerated: %w", name, counts[key], key, allowed, failed[cluster])
		}
	}
	return nil
}

// lostSuccess reports whether the deadline of a cluster has passed and, although its agent has succeeded, no report over the broker shows it.
func (w *World) lostSuccess(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	_, past := w.pastDeadline(owner, work)
	return w.Network != nil && past && !w.showsSuccess(work)
}

// groupOf returns the decision group of a cluster, and how many clusters it has.
func (w *World) groupOf(placement, cluster string) (key string, size int) {
	for key, members := range w.groupsSeen(placement) {
		if slices.Contains(members, cluster) {
			return key, len(members)
		}
	}
	return "", 0
}

// overdueOrRefused reports whether a cluster has not succeeded within its deadline, or its work was rejected for that long.
func (w *World) overdueOrRefused(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	if since, refused := w.refusedSince[work.Namespace]; refused {
		_, _, deadline := strategyOf(owner, w.countedUnder(owner, work))
		return deadline > 0 && w.Clock.Since(since) > deadline-time.Second // The status holds whole seconds of the hub's clock.
	}
	return w.overdue(owner, work)
}
