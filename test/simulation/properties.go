package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// edited is the version of works that a user edited by hand.
const edited = "edited"

// contents returns the version that each revision holds, by hash.
func (w *World) contents() map[string]string {
	contents := map[string]string{}
	for _, object := range w.Revisions() {
		if rev := revision.Decode(object); rev.Err == nil {
			contents[rev.Hash] = Version(&workv1.ManifestWork{Spec: *rev.Template})
		}
	}
	return contents
}

// CheckQuiet checks the properties that must hold when nothing more happens by itself: P1, P2, P6, P7, and R14.
func (w *World) CheckQuiet() error {
	for _, check := range []func() error{w.checkForged, w.checkKept, w.checkWorks, w.checkDelivered, w.checkHistory, w.checkKstatus, w.checkProgress, w.checkRevisionList, w.checkCondition, w.checkSilence} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkProgress checks R14: a rollout is stalled if nothing continues it automatically, unless a placement selects no clusters or has no
// deadline.
func (w *World) checkProgress() error {
	object := w.Object()
	if object == nil || object.Status.State != workv1alpha1.StateRollingOut ||
		!meta.IsStatusConditionTrue(object.Status.Conditions, workv1alpha1.ConditionPlacementVerified) {
		return nil
	}
	for _, ref := range object.Spec.PlacementRefs {
		if _, _, deadline := strategyOf(object, ref.Name); deadline == 0 {
			return nil
		}
	}
	if w.waitsForRule(object) || w.allSkipped() {
		return nil
	}
	return fmt.Errorf("quiet: every placement has a deadline, and the rollout is neither complete nor stalled: %+v", object.Status.Conditions)
}

// allSkipped reports whether the hub skips every selected cluster: such a rollout waits for the first one that is back.
func (w *World) allSkipped() bool {
	return !slices.ContainsFunc(sets.List(w.selected()), func(cluster string) bool { return !w.toldSkipped(cluster) })
}

// told returns the revisions that the status names or, if an older CRD drops these fields, the state of the ControllerRevisions.
func (w *World) told() (current, update string, aborted bool) {
	l := w.ledger()
	return l.Current.Hash, l.Update.Hash, l.Abort != nil
}

// checkWorks checks P1 if the rollout is aborted, and P2 if every cluster is healthy, unless the object is paused.
func (w *World) checkWorks() error {
	if w.Object() == nil {
		if works := slices.DeleteFunc(w.Works(), func(work *workv1.ManifestWork) bool { return !owned(work) }); len(works) > 0 {
			return fmt.Errorf("the owner is gone, and %d works are left", len(works))
		}
		return nil
	}
	if w.Object().Spec.Paused {
		return nil // The works do not change (P9).
	}
	current, update, aborted := w.told()
	if w.Irreparable.HasAny(current, update) {
		return nil // Only edited works may show its content.
	}
	if w.brokenHandover != nil {
		return w.brokenHandover
	}
	contents := w.contents()
	wanted := contents[update]
	if aborted {
		if wanted = contents[current]; wanted == "" {
			return nil // A user deleted the stable revision.
		}
	} else if !w.allWell(wanted) || w.ringMissing() || w.groupsWait() {
		return nil
	}
	if err := w.checkVersions(wanted, aborted); err != nil || aborted {
		return err
	}
	if w.ownedClusters() > 0 && current != update && !w.anyAway() && !w.waitsForRule(w.Object()) {
		return fmt.Errorf("quiet, and every cluster is well: current %s is not update %s", current, update)
	}
	return nil
}

// checkVersions checks that every selected cluster has a work, and that every work has the wanted version.
func (w *World) checkVersions(wanted string, aborted bool) error {
	clusters, leaving := sets.New[string](), sets.New[string]()
	for _, work := range w.Works() {
		if !owned(work) || w.corrupt(work) || w.outOfReach(work) {
			continue
		}
		if !work.DeletionTimestamp.IsZero() {
			leaving.Insert(work.Namespace)
			continue
		}
		stays := w.leftAlone(work)
		away := stays || w.staysAway(work.Namespace)
		if !away || stays && w.selected().Has(work.Namespace) { // Another placement selects it.
			clusters.Insert(work.Namespace)
		}
		if err := w.checkVersion(work, wanted, aborted, away); err != nil {
			return err
		}
	}
	// A selected cluster whose work is being deleted waits until its agent has released it.
	if selected := w.selected().Difference(w.adversaries.clusters); !w.withoutKeptBack(clusters.Union(leaving.Intersection(selected))).Equal(w.withoutKeptBack(selected)) && w.allPlaced() {
		return fmt.Errorf("quiet: works in %v, selected %v", sets.List(clusters), sets.List(selected))
	}
	return nil
}

// checkVersion checks that a cluster has the wanted version, and keeps no objects of another. A cluster that is away has it after an abort.
func (w *World) checkVersion(work *workv1.ManifestWork, wanted string, aborted, away bool) error {
	passedOver := away || w.keptBack(work.Namespace) || w.toldSkipped(work.Namespace)
	if (aborted || !passedOver) && Version(work) != wanted {
		return fmt.Errorf("quiet, aborted=%v: cluster %s has %s, not %s (away: %v)", aborted, work.Namespace, Version(work), wanted, away)
	}
	if kept := keptObjects(work); !away && w.Drops && len(kept) > 0 && w.settles(work.Namespace, wanted) {
		return fmt.Errorf("quiet, aborted=%v: cluster %s has %s, and keeps %v", aborted, work.Namespace, wanted, kept)
	}
	return nil
}

// outOfReach reports whether the hub can't know that a work exists: works travel over a broker, its cluster is no longer selected, the hub
// was restarted, and the agent has not reported since.
func (w *World) outOfReach(work *workv1.ManifestWork) bool {
	return w.unknowable(work) && !w.selected().Has(work.Namespace) && w.outcome(work.Namespace, Version(work)) == Silent
}

// unheard reports whether the hub does not know that a work exists, because its agent has not reported it since the hub was restarted: the
// agent is silent, or its cluster is unavailable. A selected cluster gets its work again when its turn comes, but not before the end of a
// pause.
func (w *World) unheard(work *workv1.ManifestWork) bool {
	if w.Network == nil {
		return false
	}
	_, known, err := w.Hub.stores.Works.GetByKey(work.Namespace + "/" + work.Name)
	paused := w.Object() != nil && w.Object().Spec.Paused
	away := w.managed(work.Namespace) && !w.available(work.Namespace)
	return err == nil && !known && (paused || away || w.outcome(work.Namespace, Version(work)) == Silent)
}

// ownedClusters returns how many honest clusters have a work that is not being deleted.
func (w *World) ownedClusters() int {
	clusters := sets.New[string]()
	for _, work := range w.Works() {
		if owned(work) && !w.corrupt(work) && work.DeletionTimestamp.IsZero() {
			clusters.Insert(work.Namespace)
		}
	}
	return clusters.Len()
}

// allWell reports whether the agent of every relevant cluster succeeds with a version, and none of them holds a work that it should
// release. A dishonest agent may delay a rollout.
func (w *World) allWell(version string) bool {
	if w.adversaries.clusters.Len() > 0 {
		return false
	}
	for cluster := range w.selected() {
		if o := w.outcome(cluster, version); o != Succeeds && o != Lies {
			return false
		}
	}
	for _, work := range w.Works() {
		if owned(work) && !w.gateOpen(work) {
			return false
		}
		o := w.outcome(work.Namespace, Version(work))
		if owned(work) && (o == Silent || o != Succeeds && o != Lies && w.staysAway(work.Namespace)) { // A cluster that is away fails, too.
			return false
		}
	}
	return w.allPlaced()
}

// anyAway reports whether a cluster is away.
func (w *World) anyAway() bool {
	return slices.ContainsFunc(w.Works(), func(work *workv1.ManifestWork) bool {
		return owned(work) && (w.staysAway(work.Namespace) || w.leftAlone(work))
	})
}

func (w *World) allPlaced() bool {
	for _, ref := range w.Object().Spec.PlacementRefs {
		if _, err := w.API.Get(Placements, Namespace, ref.Name); err != nil {
			return false
		}
	}
	return true
}

// checkHistory checks P6.
func (w *World) checkHistory() error {
	object := w.Object()
	if object == nil || len(object.Spec.PlacementRefs) == 0 {
		return nil
	}
	live := sets.New(object.Status.CurrentRevision, object.Status.UpdateRevision)
	claimed := sets.New[string]() // Hashes on the works of agents that are dishonest or have not reported.
	for _, work := range w.Works() {
		hash, kept := work.Labels[workv1alpha1.LabelControllerHash], work.Annotations[workv1alpha1.AnnotationKeptRevision]
		if !owned(work) || w.adversaries.ever.Has(work.Namespace) || w.unheard(work) {
			claimed.Insert(hash, kept)
		} else {
			live.Insert(hash, kept)
		}
	}
	live.Delete("")
	there := sets.New[string]()
	for _, rev := range w.Revisions() {
		there.Insert(rev.Labels[workv1alpha1.LabelControllerHash])
	}
	// Works prove nothing about a revision that was never recorded. The spec shows the content of the update revision, unless a user edited it
	// during a pause.
	lost := w.unrecorded
	if !object.Spec.Paused {
		lost = lost.Difference(sets.New(object.Status.UpdateRevision))
	}
	if !there.IsSuperset(live.Difference(w.Irreparable).Difference(lost)) {
		return fmt.Errorf("live revisions %v, there are only %v", sets.List(live), sets.List(there))
	}
	limit := historyLimit(object)
	if others := there.Difference(live).Difference(claimed).Difference(w.awaited()); others.Len() > limit {
		return fmt.Errorf("%d revisions beside the live ones, the limit is %d", others.Len(), limit)
	}
	return nil
}

// historyLimit returns how many revisions a ManifestWorkReplicaSet keeps in addition to the live ones.
func historyLimit(object *workv1alpha1.ManifestWorkReplicaSet) int {
	return min(int(ptr.Deref(object.Spec.RevisionHistoryLimit, workv1alpha1.DefaultRevisionHistoryLimit)), workv1alpha1.MaxRevisionHistoryLimit)
}

// repeatRetry runs a minute in which the hub may repeat a retry. If the hub's clock was set back, a retry can come due in the second in
// which a work says that it was written. A write with that time then changes nothing. The repetition changes no content.
func (w *World) repeatRetry() error {
	if len(w.clocks.setBacks) == 0 || w.clocks.retriedAt.IsZero() {
		return nil
	}
	generations, told := map[types.UID]int64{}, len(w.Story)
	for _, work := range w.Works() {
		generations[work.UID] = work.Generation
	}
	w.Clock.Step(time.Minute)
	w.due = true
	if err := w.Settle(0); err != nil {
		return err
	}
	repeats := func(line string) bool { return strings.Contains(line, "hub: patch work ") }
	changed := func(work *workv1.ManifestWork) bool { return generations[work.UID] != work.Generation }
	if repeated := w.Story[told:]; slices.ContainsFunc(w.Works(), changed) || len(slices.DeleteFunc(slices.Clone(repeated), repeats)) > 0 {
		return fmt.Errorf("not quiet when idle, except for a retry:\n%s", strings.Join(repeated, "\n"))
	}
	return nil
}

// checkSilence checks P7: another pass, even much later, writes nothing and emits nothing.
func (w *World) checkSilence() error {
	if err := w.repeatRetry(); err != nil {
		return err
	}
	version, told, story, written := w.API.version, len(w.events), len(w.Story), w.Hub.written
	for _, later := range []time.Duration{0, time.Minute, time.Hour} {
		w.Clock.Step(later)
		w.due = true
		if err := w.Settle(0); err != nil {
			return err
		}
	}
	if w.API.version != version || len(w.events) != told || w.Hub.written != written {
		return fmt.Errorf("not quiet when idle:\n%s", strings.Join(w.Story[story:], "\n"))
	}
	return nil
}

// checkIdle checks P7 while the API server rejects writes: retries change nothing and emit nothing.
func (w *World) checkIdle(during time.Duration) error {
	version, told, story, awaited := w.API.version, len(w.events), len(w.Story), w.clocks.retryAwaited
	if err := w.Settle(during); err != nil || awaited { // A requested retry may become due.
		return err
	}
	if w.API.version != version || len(w.events) != told {
		return fmt.Errorf("refused writes that are tried again write something else:\n%s", strings.Join(w.Story[story:], "\n"))
	}
	return nil
}
