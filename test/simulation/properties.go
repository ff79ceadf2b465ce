package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// edited is the version of works that someone changed by hand.
const edited = "edited"

// contents are the versions that the revisions hold, by hash.
func (w *World) contents() map[string]string {
	contents := map[string]string{}
	for _, object := range w.Revisions() {
		if rev := revision.Decode(object); rev.Err == nil {
			contents[rev.Hash] = Version(&workv1.ManifestWork{Spec: *rev.Template})
		}
	}
	return contents
}

// CheckQuiet checks what must hold when nothing happens any more by itself: P1, P2, P6, P7.
func (w *World) CheckQuiet() error {
	for _, check := range []func() error{w.checkForged, w.checkWorks, w.checkDelivered, w.checkHistory, w.checkKstatus, w.checkSilence} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// told are the revisions that the status names or, where an older CRD drops that, the revisions themselves.
func (w *World) told() (current, update string, aborted bool) {
	object := w.Object()
	if !w.API.OlderCRD {
		return object.Status.CurrentRevision, object.Status.UpdateRevision, object.Status.AbortedTime != nil
	}
	since := ""
	for _, rev := range w.Revisions() {
		update, aborted = rev.Labels[workv1alpha1.LabelControllerHash], rev.Annotations[workv1alpha1.AnnotationAborted] != ""
		if at := rev.Annotations[workv1alpha1.AnnotationCurrentSince]; at > since {
			since, current = at, update
		}
	}
	return current, update, aborted
}

// checkWorks checks P1 where the rollout is aborted, and P2 where every cluster is well.
func (w *World) checkWorks() error {
	if w.Object() == nil {
		if works := slices.DeleteFunc(w.Works(), func(work *workv1.ManifestWork) bool { return !owned(work) }); len(works) > 0 {
			return fmt.Errorf("the owner is gone, and %d works are left", len(works))
		}
		return nil
	}
	current, update, aborted := w.told()
	if w.Irreparable.HasAny(current, update) {
		return nil // What it held may be told by works that someone edited.
	}
	contents := w.contents()
	wanted := contents[update]
	if aborted {
		if wanted = contents[current]; wanted == "" {
			return nil // Someone deleted what the way back led to.
		}
	} else if !w.allWell(wanted) {
		return nil
	}
	if err := w.checkVersions(wanted, aborted); err != nil || aborted {
		return err
	}
	if w.ownedClusters() > 0 && current != update {
		return fmt.Errorf("quiet, and every cluster is well: current %s is not update %s", current, update)
	}
	return nil
}

// checkVersions checks that every selected cluster has a work, and every work the wanted version.
func (w *World) checkVersions(wanted string, aborted bool) error {
	clusters, leaving := sets.New[string](), sets.New[string]()
	for _, work := range w.Works() {
		if !owned(work) || w.corrupt(work) {
			continue
		}
		if !work.DeletionTimestamp.IsZero() {
			leaving.Insert(work.Namespace)
			continue
		}
		clusters.Insert(work.Namespace)
		if Version(work) != wanted {
			return fmt.Errorf("quiet, aborted=%v: cluster %s has %s, not %s", aborted, work.Namespace, Version(work), wanted)
		}
	}
	// A selected cluster whose work is being deleted waits until its agent has let it go (R8).
	if selected := w.selected().Difference(w.adversaries.clusters); !clusters.Union(leaving.Intersection(selected)).Equal(selected) && w.allPlaced() {
		return fmt.Errorf("quiet: works in %v, selected %v", sets.List(clusters), sets.List(selected))
	}
	return nil
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

// allWell says whether every selected cluster's agent succeeds with a version, and none holds a work that it should let go. Agents that lie may
// hold a rollout up.
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
		if o := w.outcome(work.Namespace, Version(work)); o == Silent && owned(work) {
			return false
		}
	}
	return w.allPlaced()
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
	claimed := sets.New[string]() // By agents that lie: of no revision, or of one that is gone.
	for _, work := range w.Works() {
		if hash := work.Labels[workv1alpha1.LabelControllerHash]; !owned(work) || w.adversaries.ever.Has(work.Namespace) {
			claimed.Insert(hash)
		} else {
			live.Insert(hash)
		}
	}
	live.Delete("")
	there := sets.New[string]()
	for _, rev := range w.Revisions() {
		there.Insert(rev.Labels[workv1alpha1.LabelControllerHash])
	}
	// Works prove nothing of what was never recorded (R7). The spec shows what the update revision holds.
	lost := w.unrecorded.Difference(sets.New(object.Status.UpdateRevision))
	if !there.IsSuperset(live.Difference(w.Irreparable).Difference(lost)) {
		return fmt.Errorf("live revisions %v, there are only %v", sets.List(live), sets.List(there))
	}
	limit := historyLimit(object)
	if others := there.Difference(live).Difference(claimed); others.Len() > limit {
		return fmt.Errorf("%d revisions beside the live ones, the limit is %d", others.Len(), limit)
	}
	return nil
}

// historyLimit is how many revisions beside the live ones a ManifestWorkReplicaSet keeps (R5).
func historyLimit(object *workv1alpha1.ManifestWorkReplicaSet) int {
	return min(int(ptr.Deref(object.Spec.RevisionHistoryLimit, workv1alpha1.DefaultRevisionHistoryLimit)), workv1alpha1.MaxRevisionHistoryLimit)
}

// checkSilence checks P7: another look, also much later, writes nothing and says nothing.
func (w *World) checkSilence() error {
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

// checkIdle checks P7 while the API server refuses writes: however often they are tried, nothing changes and nothing is said.
func (w *World) checkIdle(during time.Duration) error {
	version, told, story := w.API.version, len(w.events), len(w.Story)
	if err := w.Settle(during); err != nil {
		return err
	}
	if w.API.version != version || len(w.events) != told {
		return fmt.Errorf("refused writes that are tried again write something else:\n%s", strings.Join(w.Story[story:], "\n"))
	}
	return nil
}

// noteRecords follows which revisions were rolled out without a ControllerRevision, for lack of the permission: once no work holds such a
// one any more, nothing tells what it was (R7).
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

// CheckWrite checks what must hold at each write: P3 and P4, and that no abort comes without a failure.
func (w *World) CheckWrite(write string) error {
	if err := w.checkForged(); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(write, "delete revision "):
		return w.checkPruned(write)
	case strings.HasPrefix(write, "create revision "):
		w.noteMade(strings.TrimPrefix(write, "create revision "))
		return w.checkCurrent(strings.TrimPrefix(write, "create revision "), true)
	case strings.HasPrefix(write, "patch revision "):
		return w.checkCurrent(strings.TrimPrefix(write, "patch revision "), false)
	case strings.HasPrefix(write, "patch work "), strings.HasPrefix(write, "create work "):
		_, name, _ := strings.Cut(write, " work ")
		return w.checkStarted(name)
	case strings.HasSuffix(write, "/status"):
		w.noteCompleted()
		return w.checkAborted()
	}
	return nil
}

// checkCurrent checks P3: a revision that became the current one in this moment has succeeded on every selected cluster, by what the
// hub has seen. One that was rebuilt was the current one before.
func (w *World) checkCurrent(name string, rebuilt bool) error {
	object, err := w.API.Get(Revisions, Namespace, name)
	if err != nil {
		return err
	}
	rev := revision.Decode(into(object, &appsv1.ControllerRevision{}))
	since := rev.Object.Annotations[workv1alpha1.AnnotationCurrentSince]
	known := w.currentSince[name]
	w.currentSince[name] = since
	if since == known || since == "" || rebuilt {
		return nil // One that tells it no more did not become the current one.
	}
	if w.completed[rev.Hash] {
		delete(w.completed, rev.Hash)
		return nil
	}
	return w.checkSucceeded(name, rev.Hash)
}

// noteCompleted notes a revision whose rollout is complete and that could not be written: without the permission, it is recorded as the current
// one when the permission is back, whatever became of the clusters since.
func (w *World) noteCompleted() {
	object := w.Object()
	if object == nil {
		return
	}
	hash := object.Status.CurrentRevision
	name := revision.Name(Name, hash)
	if hash != "" && hash == object.Status.UpdateRevision && w.currentSince[name] == "" && w.checkSucceeded(name, hash) == nil {
		w.completed[hash] = true
	}
}

// checkSucceeded checks that a revision has succeeded on every selected cluster, by what the hub has seen.
func (w *World) checkSucceeded(name, hash string) error {
	selected := w.seenSelected()
	for _, cached := range w.Hub.stores.Works.List() {
		work := cached.(*workv1.ManifestWork)
		if !selected.Has(work.Namespace) || !work.DeletionTimestamp.IsZero() || w.corrupt(work) || !owned(work) {
			continue
		}
		if work.Labels[workv1alpha1.LabelControllerHash] != hash {
			return fmt.Errorf("%s became current, and the work of cluster %s has hash %s", name, work.Namespace, work.Labels[workv1alpha1.LabelControllerHash])
		}
		if !w.succeeded(work) {
			return fmt.Errorf("%s became current, and cluster %s has not succeeded", name, work.Namespace)
		}
	}
	return nil
}

// noteMade notes the order in which revisions are made first.
func (w *World) noteMade(name string) {
	if _, known := w.made[name]; !known {
		w.made[name] = len(w.made)
	}
}

// checkStarted checks P4: where a write starts a cluster, those in flight for its ref are no more than the batch.
func (w *World) checkStarted(name string) error {
	namespace, workName, _ := strings.Cut(name, "/")
	started := w.work(namespace, workName)
	if started == nil {
		return nil
	}
	at := string(started.UID) + started.Labels[workv1alpha1.LabelControllerHash]
	if w.Network == nil {
		// Over a broker a hub that was restarted sends an agent that it has not heard what the agent has already.
		at += started.Annotations[workv1alpha1.AnnotationAppliedAt]
	}
	if w.started[name] == at {
		return nil // Relabelled only.
	}
	w.started[name] = at
	if w.corrupt(started) {
		return nil // What its agent says frees its slot or takes it. It must not free more than that.
	}
	owner := w.seen()
	if owner == nil || owner.Status.AbortedTime != nil || started.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision {
		return nil
	}
	placement := started.Labels[workv1alpha1.LabelPlacement]
	strategy, batch, deadline := strategyOf(owner, placement)
	switch strategy {
	case clusterv1alpha1.ProgressivePerGroup:
		return w.checkTurn(owner, started, placement, deadline)
	case clusterv1alpha1.Progressive:
	default:
		return nil
	}
	inFlight := w.inFlight(owner, started, deadline)
	if len(inFlight) > batch {
		slices.Sort(inFlight)
		return fmt.Errorf("%s is started: in flight for %s are %v, the batch is %d", name, placement, inFlight, batch)
	}
	return nil
}

// inFlight are the clusters that count for the placement of a work that is started, have what it has, and neither got there since
// the hub wrote it nor failed.
func (w *World) inFlight(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork, deadline time.Duration) []string {
	var clusters []string
	for _, work := range w.Works() {
		if w.corrupt(work) || !owned(work) {
			continue
		}
		// What someone edited by hand is not at the revision (R10).
		if w.countedUnder(owner, work) != started.Labels[workv1alpha1.LabelPlacement] ||
			work.Labels[workv1alpha1.LabelControllerHash] != owner.Status.UpdateRevision || Version(work) != Version(started) {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, work.Annotations[workv1alpha1.AnnotationAppliedAt])
		failed := deadline > 0 && err == nil && w.Clock.Since(at) >= deadline
		if !w.reached(work) && !failed {
			clusters = append(clusters, work.Namespace)
		}
	}
	return clusters
}

// checkAborted says that an abort came without a cluster that failed: a false one costs an outage.
func (w *World) checkAborted() error {
	object := w.Object()
	if object == nil {
		return nil
	}
	known := w.abortedTime
	w.abortedTime = object.Status.AbortedTime
	if object.Status.AbortedTime.IsZero() || !known.IsZero() {
		return nil
	}
	if object.Status.AbortedTime.Equal(w.abortedByHand) {
		return nil
	}
	for _, rev := range w.Revisions() {
		if rev.Annotations[workv1alpha1.AnnotationAborted] != "" {
			return nil // Rebuilt, after someone wiped the status.
		}
	}
	if w.undoes(object.Status.CurrentRevision, object.Status.UpdateRevision) {
		return fmt.Errorf("an undo from %s to %s is aborted", object.Status.CurrentRevision, object.Status.UpdateRevision)
	}
	overdue := func(work *workv1.ManifestWork) bool {
		return owned(work) && !w.corrupt(work) && w.overdue(object, work)
	}
	if slices.ContainsFunc(w.Works(), overdue) || w.refusedForLong(object) || w.liesSuffice(object) {
		return nil
	}
	return fmt.Errorf("aborted, and no cluster has failed")
}

// overdue reports whether a work has not succeeded within its deadline.
func (w *World) overdue(object *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	if w.Network != nil {
		return w.Network.failed(object, work)
	}
	_, past := w.pastDeadline(object, work)
	return past && !w.isWell(work) // A crash loop is well for a moment now and then.
}

// pastDeadline reports whether the hub wrote a work longer ago than its deadline allows, and which deadline that is.
func (w *World) pastDeadline(object *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) (deadline time.Duration, past bool) {
	at, err := time.Parse(time.RFC3339Nano, work.Annotations[workv1alpha1.AnnotationAppliedAt])
	if err != nil {
		return 0, false
	}
	// A cluster that another ref took over has that one's deadline before its label says so.
	for _, placement := range []string{work.Labels[workv1alpha1.LabelPlacement], w.countedUnder(object, work)} {
		if _, _, deadline := strategyOf(object, placement); deadline > 0 && w.Clock.Since(at) >= deadline {
			return deadline, true
		}
	}
	return 0, false
}

// undoes reports whether a rollout goes back to a revision that was the current one, and was made before today's current one (R12). What was
// deleted and rebuilt does not tell.
func (w *World) undoes(current, update string) bool {
	if w.Irreparable.HasAny(current, update) {
		return false
	}
	name := func(hash string) string { return revision.Name(Name, hash) }
	made, known := w.made[name(update)]
	return known && w.currentSince[name(update)] != "" && made < w.made[name(current)]
}
