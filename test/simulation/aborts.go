package simulation

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// remembered reports whether an abort is known: it was persisted, or a user asked for it. The hub may remember one even if a user removed
// its status and revisions.
func (w *World) remembered(abort *metav1.Time) bool {
	at := abort.UTC().Format(time.RFC3339)
	before := w.aborts.Has(at)
	w.aborts.Insert(at)
	return before
}

// checkAborted fails if the hub aborted a rollout although no cluster had failed: a false abort costs an outage.
func (w *World) checkAborted() error {
	object := w.Object()
	if object == nil {
		return nil
	}
	known := w.abortedTime
	w.abortedTime = object.Status.AbortedTime
	if object.Status.AbortedTime.IsZero() || w.remembered(object.Status.AbortedTime) || !known.IsZero() {
		return nil
	}
	for _, rev := range w.Revisions() {
		if abort := revision.RecordOf(rev).Abort; abort != nil && abort.At.Equal(object.Status.AbortedTime.Time) {
			return nil // The copy had it before: the status could not be written.
		}
	}
	if w.holds(object) {
		return nil
	}
	if w.undoes(object.Status.CurrentRevision, object.Status.UpdateRevision) {
		return fmt.Errorf("an undo from %s to %s is aborted", object.Status.CurrentRevision, object.Status.UpdateRevision)
	}
	if w.abortDue(object, workv1alpha1.AbortAll) || w.refusedForLong(object) || w.liesSuffice(object, workv1alpha1.AbortAll) {
		return nil
	}
	return fmt.Errorf("aborted, and in no placementRef with AbortAll have too many clusters failed")
}

// checkReported fails if ReportAbort reported an abort although no cluster had failed. It reports each rollout at most once.
func (w *World) checkReported() error {
	object := w.Object()
	if object == nil {
		return nil
	}
	l := w.ledger()
	would := l.WouldAbort
	if would == nil || w.reported[would.At] {
		return nil
	}
	w.reported[would.At] = true
	switch {
	case l.Update.Hash == l.Current.Hash || w.undoes(l.Current.Hash, l.Update.Hash):
		return fmt.Errorf("an abort is reported that AbortAll would not decide: %v", would)
	case w.abortDue(object, workv1alpha1.ReportAbort) || w.refusedForLong(object) || w.liesSuffice(object, workv1alpha1.ReportAbort):
		return nil
	}
	return fmt.Errorf("reported as aborted, and in no placementRef with ReportAbort have too many clusters failed")
}

// holds reports whether the aborted rollout was held: the revision was aborted before, and no user has retried it.
func (w *World) holds(object *workv1alpha1.ManifestWorkReplicaSet) bool {
	l := w.ledger()
	return object.Spec.AbortedRevisionPolicy == workv1alpha1.HoldAborted && l.Abort != nil && !l.Abort.Held.IsZero() &&
		w.aborts.Has(l.Abort.Held.UTC().Format(time.RFC3339)) && l.Update.Hash != l.Current.Hash
}

// abortDue reports whether more clusters of a placementRef with a failureStrategy have failed than it tolerates.
func (w *World) abortDue(owner *workv1alpha1.ManifestWorkReplicaSet, strategy workv1alpha1.FailureStrategy) bool {
	return slices.ContainsFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		return ref.RolloutStrategy.FailureStrategy == strategy && w.exceeds(owner, &ref)
	})
}

// exceeds reports whether more clusters of a placementRef have failed than it tolerates.
func (w *World) exceeds(owner *workv1alpha1.ManifestWorkReplicaSet, ref *workv1alpha1.LocalPlacementReference) bool {
	failed := map[string]int{}
	for _, work := range w.Works() {
		if owned(work) && !w.corrupt(work) && w.failedFor(owner, work, ref.Name) {
			group, _ := w.groupOf(ref.Name, work.Namespace)
			failed[group]++
		}
	}
	groups, all := w.groupsSeen(ref.Name), 0
	counted := func(members []string) int {
		return len(slices.DeleteFunc(slices.Clone(members), func(cluster string) bool { return w.selectsBefore(owner, ref.Name, cluster) }))
	}
	for group, n := range failed {
		all += n
		// A cluster that has left its group counts in every group.
		allowed, perGroup := tolerated(owner, ref.Name, counted(groups[group]))
		mandatory := ref.RolloutStrategy.ProgressivePerGroup != nil && len(ref.RolloutStrategy.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups) > 0
		if perGroup && (mandatory || n+failed[""] > allowed) {
			return true
		}
	}
	allowed, perGroup := tolerated(owner, ref.Name, counted(sets.List(decidedFor(ref.Name, w.seenDecisions()))))
	return !perGroup && all > allowed
}

// selectsBefore reports whether an earlier placementRef selects a cluster. The cluster counts there.
func (w *World) selectsBefore(owner *workv1alpha1.ManifestWorkReplicaSet, placement, cluster string) bool {
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

// failedFor reports whether a cluster counts for a placement, and has been overdue there since it last succeeded.
func (w *World) failedFor(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork, placement string) bool {
	if work.Labels[workv1alpha1.LabelPlacement] != placement && w.countedUnder(owner, work) != placement {
		return false
	}
	return w.wasOverdue[work.Namespace].revision == owner.Status.UpdateRevision || w.overdue(owner, work) || w.gateFails(owner, work)
}

// overdue reports whether a work has not succeeded within its deadline.
func (w *World) overdue(object *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	if w.Network != nil {
		return w.Network.failed(object, work)
	}
	_, past := w.pastDeadline(object, work)
	return past && !w.isWell(work) // A crash loop succeeds for a moment now and then.
}

// pastDeadline reports whether a work has exceeded its deadline, and returns the deadline.
func (w *World) pastDeadline(object *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) (deadline time.Duration, past bool) {
	at, known := w.writtenAt(work)
	if !known {
		return 0, false
	}
	// A cluster that another ref took over has the deadline of that ref, even before its label changes.
	label, counted := work.Labels[workv1alpha1.LabelPlacement], w.countedUnder(object, work)
	if w.mayStillSelect(object, label, counted) {
		counted = label
	}
	for _, placement := range []string{label, counted} {
		if _, _, deadline := strategyOf(object, placement); deadline > 0 && w.Clock.Since(at) >= deadline {
			return deadline, true
		}
	}
	return 0, false
}

// mayStillSelect reports whether the clusters of an earlier placement are unknown to the hub. Its clusters do not fail for a later
// placement.
func (w *World) mayStillSelect(owner *workv1alpha1.ManifestWorkReplicaSet, placement, other string) bool {
	index := func(name string) int {
		return slices.IndexFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return ref.Name == name })
	}
	_, exists, err := w.Hub.stores.Placements.GetByKey(key(Namespace, placement))
	unknown := err != nil || !exists || w.sizeOf(placement) == 0
	return unknown && index(placement) >= 0 && index(placement) < index(other)
}

// undoes reports whether a rollout returns to a revision that was the current one before, and that is older than the current revision. A
// revision that was deleted and created again proves nothing.
func (w *World) undoes(current, update string) bool {
	if w.Irreparable.HasAny(current, update) {
		return false
	}
	name := func(hash string) string { return revision.Name(Name, hash) }
	made, known := w.made[name(update)]
	return known && w.currentSince[name(update)].Len() > 0 && made < w.made[name(current)]
}
