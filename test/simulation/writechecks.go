package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// noteRecords tracks which revisions were rolled out without a ControllerRevision, because the permission was missing.
func (w *World) noteRecords() {
	object := w.Object()
	if object == nil {
		return
	}
	if w.API.NoHistory {
		w.unrecorded.Insert(object.Status.CurrentRevision, object.Status.UpdateRevision)
	}
	for _, rev := range w.Revisions() {
		w.unrecorded.Delete(rev.Labels[workv1alpha1.LabelControllerHash])
	}
}

// CheckWrite checks the rules for each write: P3 and P4, and that there is no abort without a failure.
func (w *World) CheckWrite(write string) error {
	if err := w.checkForged(); err != nil {
		return err
	}
	if w.brokenHandover != nil {
		return w.brokenHandover
	}
	switch {
	case strings.HasPrefix(write, "delete revision "):
		return w.checkPruned(write)
	case strings.HasPrefix(write, "delete work "):
		work := strings.TrimPrefix(write, "delete work ")
		return errors.Join(w.checkRemoved(work), w.checkPreserved(work), w.checkAway(work))
	case strings.HasPrefix(write, "create revision "):
		w.noteMade(strings.TrimPrefix(write, "create revision "))
	case strings.HasPrefix(write, "patch revision "):
		return w.checkCurrent()
	case strings.HasPrefix(write, "patch work "), strings.HasPrefix(write, "create work "):
		_, name, _ := strings.Cut(write, " work ")
		w.noteBlindWrite(name)
		return w.checkStarted(name)
	case strings.HasSuffix(write, "/status"):
		return errors.Join(w.checkCurrent(), w.checkAborted(), w.checkApproved(), w.checkReported())
	}
	return nil
}

// noteCurrent notes the revision that became the current one with the last write.
func (w *World) noteCurrent() {
	l := w.ledgerOfHub()
	name, since := revision.Name(Name, l.Current.Hash), l.Ended
	w.becameCurrent = ""
	w.gates.decided, w.gates.decides = w.gates.decides, l.Gated()
	switch {
	case l.Current.Hash == "":
	case since.IsZero() || l.Current.Hash != l.Update.Hash:
		if w.currentSince[name].Len() == 0 {
			w.currentSince[name] = sets.New(w.hubNow().UTC()) // A user named it, or the works showed it.
		}
	case !w.currentSince[name].Has(since.UTC()):
		w.currentSince[name] = w.currentSince[name].Union(sets.New(since.UTC()))
		if !w.hadHashless() {
			w.becameCurrent = l.Current.Hash
		}
	}
}

// hadHashless reports whether every work in the hub's cache was written by another hub, which therefore rolled the revision out.
func (w *World) hadHashless() bool {
	works := w.Hub.stores.Works.List()
	return len(works) > 0 && !slices.ContainsFunc(works, func(cached any) bool {
		return cached.(*workv1.ManifestWork).Labels[workv1alpha1.LabelControllerHash] != ""
	})
}

// checkCurrent checks P3: a revision that has just become the current one has succeeded on every selected cluster, as far as the hub has
// seen.
func (w *World) checkCurrent() error {
	if w.becameCurrent == "" {
		return nil
	}
	return w.checkSucceeded(revision.Name(Name, w.becameCurrent), w.becameCurrent)
}

// toldAway reports whether the hub reports that, at the time of its decision, no Placement selected a cluster because it was unavailable.
// The cluster may have been selected again since.
func (w *World) toldAway(cluster string) bool {
	return slices.ContainsFunc(w.Object().Status.Away, func(away workv1alpha1.AwayCluster) bool { return away.Cluster == cluster })
}

// checkSucceeded checks that a revision has succeeded on every selected cluster, as far as the hub has seen.
func (w *World) checkSucceeded(name, hash string) error {
	selected := w.seenSelected()
	failed, succeeded := map[string]error{}, 0
	for _, cached := range w.Hub.stores.Works.List() {
		work := cached.(*workv1.ManifestWork)
		if !selected.Has(work.Namespace) || !owned(work) || w.toldAway(work.Namespace) {
			continue
		}
		if !work.DeletionTimestamp.IsZero() {
			if work.Labels[workv1alpha1.LabelControllerHash] == hash && w.reached(work) {
				succeeded++ // It counts until it is gone.
			}
			continue
		}
		if w.corrupt(work) {
			succeeded++ // The hub believes what its agent reports.
			continue
		}
		if work.Labels[workv1alpha1.LabelControllerHash] != hash {
			if w.leftAlone(work) || w.onHold(work.Namespace) {
				continue // Nothing waits for it.
			}
			failed[work.Namespace] = fmt.Errorf("%s became current, and the work of cluster %s has hash %s", name, work.Namespace, work.Labels[workv1alpha1.LabelControllerHash])
			continue
		}
		if !w.succeededWithGates(work) {
			failed[work.Namespace] = fmt.Errorf("%s became current, and cluster %s has not succeeded", name, work.Namespace)
			continue
		}
		// After a tolerated failure, a cluster keeps its objects, even if it is available at the moment.
		if kept := work.Annotations[workv1alpha1.AnnotationKeptRevision]; kept != "" {
			failed[work.Namespace] = fmt.Errorf("%s became current, and cluster %s keeps objects of %s", name, work.Namespace, kept)
			continue
		}
		succeeded++
	}
	return w.checkTolerated(name, failed, succeeded)
}

func (w *World) succeededWithGates(work *workv1.ManifestWork) bool {
	return w.succeeded(work) && (!w.gates.decided || w.gateOpen(work))
}

// noteMade notes the order in which revisions are first created.
func (w *World) noteMade(name string) {
	if _, known := w.made[name]; !known {
		w.made[name] = len(w.made)
	}
}

// checkStarted checks P4: if a write starts a cluster, the number of clusters in flight for its ref does not exceed the batch.
func (w *World) checkStarted(name string) error {
	namespace, workName, _ := strings.Cut(name, "/")
	started := w.work(namespace, workName)
	if started == nil {
		return nil
	}
	has := string(started.UID) + started.Labels[workv1alpha1.LabelControllerHash]
	at := has
	if w.Network == nil {
		// Over a broker, a restarted hub may send a version again to an agent that it has not heard, and that already has it.
		at += started.Annotations[workv1alpha1.AnnotationAppliedAt]
	}
	before := w.started[name]
	if before == at {
		return nil // Relabelled only.
	}
	w.started[name] = at
	if w.corrupt(started) {
		return nil // The report from its agent frees or takes only its own slot.
	}
	owner := w.seen()
	if owner == nil || !w.rollsOut(owner, started) {
		return nil
	}
	if w.returnsHere(owner, started, before) || w.appliedBefore(started) {
		return nil
	}
	// A retry that changes only the start of a deadline does not wait for Placements.
	if unknown := w.unknownPlacement(owner); unknown != "" && !strings.HasPrefix(before, has) {
		return fmt.Errorf("%s is started while the clusters of placement %s are unknown", name, unknown)
	}
	had := strings.HasPrefix(before, has)
	if err := w.checkHeld(owner, started, had); err != nil {
		return err
	}
	if !had {
		if err := errors.Join(w.checkRings(owner, started), w.checkOpened(owner, started)); err != nil {
			return err
		}
	}
	return w.checkTurnAndBatch(name, owner, started, had)
}

// rollsOut reports whether a work has the revision of a rollout that is in progress.
func (w *World) rollsOut(owner *workv1alpha1.ManifestWorkReplicaSet, written *workv1.ManifestWork) bool {
	return owner.Status.AbortedTime == nil && !w.releases(written) && written.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision
}

// appliedBefore reports whether a work got its revision by an earlier write than the present one. Over a broker, a write that has no answer
// may arrive, and is not checked.
func (w *World) appliedBefore(written *workv1.ManifestWork) bool {
	at, err := time.Parse(time.RFC3339Nano, written.Annotations[workv1alpha1.AnnotationAppliedAt])
	return w.Network != nil && err == nil && at.Before(w.hubNow().Truncate(time.Second))
}

// startedBy reports whether another work of the cluster has already started it: its agent hid one of the two works for a while.
func (w *World) startedBy(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork) bool {
	return slices.ContainsFunc(w.worksIn(started.Namespace), func(other *workv1.ManifestWork) bool {
		return other.Name != started.Name && other.Namespace == started.Namespace && owned(other) &&
			other.Labels[workv1alpha1.LabelControllerHash] == owner.Status.UpdateRevision
	})
}

// checkTurnAndBatch checks that a cluster may be started: its placement is not halted, it is the turn of its group, and the batch has room.
// A degraded cluster whose work had the revision before (had) is restored, and takes no further slot.
func (w *World) checkTurnAndBatch(name string, owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, had bool) error {
	placement := started.Labels[workv1alpha1.LabelPlacement]
	if w.startedBy(owner, started) {
		return nil
	}
	if err := errors.Join(w.checkHalted(owner, started, placement), w.checkGroup(owner, started, placement)); err != nil {
		return err
	}
	strategy, batch, deadline := strategyOf(owner, placement)
	switch strategy {
	case clusterv1alpha1.ProgressivePerGroup:
		return w.checkTurn(owner, started, placement, deadline)
	case clusterv1alpha1.Progressive:
	default:
		return nil
	}
	inFlight := w.inFlight(owner, started, deadline)
	restored := had && w.outcome(started.Namespace, Version(started)) == Degrades
	if len(inFlight) > batch && !restored {
		slices.Sort(inFlight)
		return fmt.Errorf("%s is started: in flight for %s are %v, the batch is %d", name, placement, inFlight, batch)
	}
	return nil
}

// inFlight returns the clusters that count for the same placement as a started work, have the same version, and have neither succeeded nor
// failed since the hub wrote it.
func (w *World) inFlight(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, deadline time.Duration) []string {
	var clusters []string
	for _, work := range w.Works() {
		if w.corrupt(work) || !owned(work) || w.unknowable(work) {
			continue
		}
		if label := work.Labels[workv1alpha1.LabelPlacement]; label != started.Labels[workv1alpha1.LabelPlacement] && refersTo(owner, label) {
			continue // It counts there until it is handed over. The handover starts nothing.
		}
		// A work that a user edited is not at the revision.
		if w.countedUnder(owner, work) != started.Labels[workv1alpha1.LabelPlacement] ||
			work.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision || Version(work) != Version(started) {
			continue
		}
		if !w.reached(work) && !w.pastItsTime(owner, work, deadline) {
			clusters = append(clusters, work.Namespace)
		}
	}
	return clusters
}

// pastItsTime reports whether the deadline of a cluster has passed, for this work or for a deleted one: the hub creates a deleted work
// again.
func (w *World) pastItsTime(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork, deadline time.Duration) bool {
	at, known := w.writtenAt(work)
	return deadline > 0 && known && w.Clock.Since(at) >= deadline || w.wasOverdue[work.Namespace].rollout == w.rolloutOf(owner)
}

// unknowable reports whether a restarted hub can't know a work. Over a broker, only the agent has the work: the agent may be silent, the
// reports of an unselected cluster are ignored, and without the revisions the content of the work is unknown.
func (w *World) unknowable(work *workv1.ManifestWork) bool {
	if w.Network == nil {
		return false
	}
	if _, known, err := w.Hub.stores.Works.GetByKey(work.Namespace + "/" + work.Name); err != nil || known {
		return false
	}
	_, heard := w.Hub.driver.HeardSince(work.Namespace)
	return !heard || !w.seenSelected().Has(work.Namespace) || w.API.NoHistory || w.Hub.unread
}
