package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Annotate sets the change cause of the ManifestWorkReplicaSet.
func (w *World) Annotate(cause string) {
	w.patch(ReplicaSets, Namespace, Name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{workv1alpha1.AnnotationChangeCause: cause}},
	}, false)
	w.Tell("user: says the cause is %q", cause)
}

// noteCause tracks the change cause that each revision must have: the one that the hub saw on the owner when it created the revision, or
// gave it the next number.
func (w *World) noteCause(write string) {
	_, name, ok := strings.Cut(write, " revision ")
	if !ok || strings.HasPrefix(write, "delete ") {
		return
	}
	object, err := w.API.Get(Revisions, Namespace, name)
	owner := w.seen()
	if err != nil || owner == nil {
		return
	}
	w.noteCauseOf(name, as[appsv1.ControllerRevision](w.API, object), strings.HasPrefix(write, "create "), owner.Annotations[workv1alpha1.AnnotationChangeCause])
}

// statusHasLedger reports whether the status has a ledger of the object.
func (w *World) statusHasLedger() bool {
	told, err := ledger.Decode(w.Object().Status.Ledger, w.Object().UID)
	return err == nil && told.Seq > 0
}

// noteCauseOf is noteCause for a revision that was created or changed while the hub saw the owner's change cause.
func (w *World) noteCauseOf(name string, rev *appsv1.ControllerRevision, made bool, seen string) {
	record := revision.RecordOf(rev)
	digest := revision.Decode(rev).Digest
	returned := w.returns(digest)
	newest, sure := w.newestBeside(rev)
	if !sure || made && w.mayRemember(name, digest, returned) {
		delete(w.causes, name)
		return
	}
	recorded := !record.Recorded.IsZero()
	switch before, known := w.causes[name]; {
	case made && recorded:
		w.causes[name] = cause{number: rev.Revision} // The hub does not know its cause.
	case made:
		w.causes[name] = cause{number: rev.Revision, text: seen, seen: seen}
		if returned && seen == newest.seen {
			w.causes[name] = cause{number: rev.Revision, seen: seen}
		}
	case known && rev.Revision > before.number:
		if seen != "" && seen != newest.seen {
			before.text = seen
		}
		before.number, before.seen = rev.Revision, seen
		w.causes[name] = before
	}
}

// mayRemember reports whether the hub may give a new revision one of two causes: a process may remember a ledger that a user wiped or
// overwrote, or trust a ledger that may be invalid.
func (w *World) mayRemember(name string, digest revision.Digest, returned bool) bool {
	if _, again := w.causes[name]; !returned && (!again || w.statusHasLedger()) {
		return false
	}
	l := w.ledger()
	_, former := l.Formerly(digest)
	return !former
}

// newestBeside returns the change cause of the newest revision other than the given one, among the revisions that the hub has seen: a
// deletion may not have reached its cache. sure is false if that revision may have one of two causes.
func (w *World) newestBeside(rev *appsv1.ControllerRevision) (newest cause, sure bool) {
	number := int64(-1)
	sure = true
	for _, cached := range w.Hub.stores.Revisions.List() {
		if other := cached.(*appsv1.ControllerRevision); other.Name != rev.Name && other.Revision > number {
			number = other.Revision
			newest, sure = w.causes[other.Name]
		}
	}
	return newest, sure
}

// cause is the number of a revision and its change cause. seen is the owner's change cause when the revision got that number.
type cause struct {
	number     int64
	text, seen string
}

// reach is the true state of one revision on the works of honest clusters, according to the results of their agents.
type reach struct {
	// clusters certainly count. doubtful clusters may count: those of adversaries, and those whose state the hub can't know.
	clusters, doubtful sets.Set[string]
	// sick is true if one of them has not succeeded. unsure is true if it is unknown whether all of them have succeeded.
	sick, unsure bool
}

// reaches returns the state of each revision on the works, by hash.
func (w *World) reaches() map[string]*reach {
	contents := w.contents()
	found := map[string]*reach{}
	for _, work := range w.Works() {
		hash := work.Labels[workv1alpha1.LabelControllerHash]
		if !owned(work) || hash == "" {
			continue
		}
		b := found[hash]
		if b == nil {
			b = &reach{clusters: sets.New[string](), doubtful: sets.New[string]()}
			found[hash] = b
		}
		if w.adversaries.ever.Has(work.Namespace) || w.unheard(work) {
			b.doubtful.Insert(work.Namespace)
			b.unsure = true
			continue
		}
		b.clusters.Insert(work.Namespace)
		switch {
		case !work.DeletionTimestamp.IsZero(), w.Network != nil && w.outcome(work.Namespace, Version(work)) == Silent:
			b.unsure = true // Earlier reports count, but a restarted hub has received none.
		case w.failedItsGate(work.Namespace):
			b.unsure = true // It stays failed until its gate opens.
		case !w.succeeded(work) || Version(work) != contents[hash] || keepsOfTheLost(work, contents):
			b.sick = true
		}
	}
	return found
}

// failedItsGate reports whether the ledger has a failure of a cluster because of a success gate.
func (w *World) failedItsGate(cluster string) bool {
	return slices.ContainsFunc(w.ledger().Troubles, func(t ledger.Trouble) bool {
		return t.Cluster == cluster && t.State == ledger.Failed && t.Reason == workv1alpha1.FailureGate
	})
}

// keepsOfTheLost reports whether a work keeps objects of a deleted revision. Without that revision, the work can't be compared with the
// spec that the hub wrote, and does not count as a success.
func keepsOfTheLost(work *workv1.ManifestWork, contents map[string]string) bool {
	kept := work.Annotations[workv1alpha1.AnnotationKeptRevision]
	return kept != "" && contents[kept] == ""
}

// checkRevisionList checks R25 and R26: the list contains the existing revisions, each in the state that the agents brought it to.
func (w *World) checkRevisionList() error {
	object := w.Object()
	if object == nil || w.API.OlderCRD || invalidSpec(object) {
		return nil
	}
	if w.API.NoHistory {
		if n := len(object.Status.Revisions); n > 0 {
			return fmt.Errorf("quiet, and without the permission: status.revisions has %d entries", n)
		}
		return nil
	}
	found := w.reaches()
	wanted := w.listedRevisions(object, found)
	if len(wanted) != len(object.Status.Revisions) {
		return fmt.Errorf("quiet: status.revisions has %d entries, not %d: %+v", len(object.Status.Revisions), len(wanted), object.Status.Revisions)
	}
	if len(wanted) > 1 && !object.Spec.Paused && wanted[0].Revision == wanted[1].Revision {
		return fmt.Errorf("quiet: the two newest revisions, %s and %s, have the number %d", wanted[0].Name, wanted[1].Name, wanted[0].Revision)
	}
	for i, rev := range wanted {
		told := &object.Status.Revisions[i]
		if err := w.checkListed(object, rev, told, found[rev.Labels[workv1alpha1.LabelControllerHash]]); err != nil {
			return fmt.Errorf("quiet: status.revisions[%d] of %s: %w: %+v", i, rev.Name, err, *told)
		}
	}
	return nil
}

// invalidSpec reports whether the status shows that the spec can't be rolled out. The rest of the status is then unchanged.
func invalidSpec(object *workv1alpha1.ManifestWorkReplicaSet) bool {
	applied := meta.FindStatusCondition(object.Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
	progressing := meta.FindStatusCondition(object.Status.Conditions, workv1alpha1.ConditionProgressing)
	return applied == nil || progressing == nil || progressing.ObservedGeneration != applied.ObservedGeneration
}

// listedRevisions returns the revisions that the list must contain, the newest first.
func (w *World) listedRevisions(object *workv1alpha1.ManifestWorkReplicaSet, found map[string]*reach) []*appsv1.ControllerRevision {
	var there []*appsv1.ControllerRevision
	for _, rev := range slices.Backward(w.Revisions()) {
		if metav1.IsControlledBy(rev, object) && rev.Name == Name+"-"+rev.Labels[workv1alpha1.LabelControllerHash] {
			there = append(there, rev)
		}
	}
	kept := sets.New[string]()
	for _, wanted := range []func(hash string) bool{
		func(hash string) bool {
			return hash == object.Status.CurrentRevision || hash == object.Status.UpdateRevision
		},
		func(hash string) bool { return found[hash] != nil },
		func(string) bool { return true },
	} {
		for _, rev := range there {
			if kept.Len() < 16 && wanted(rev.Labels[workv1alpha1.LabelControllerHash]) {
				kept.Insert(rev.Name)
			}
		}
	}
	return slices.DeleteFunc(there, func(rev *appsv1.ControllerRevision) bool { return !kept.Has(rev.Name) })
}

// checkListed checks one entry.
func (w *World) checkListed(object *workv1alpha1.ManifestWorkReplicaSet, rev *appsv1.ControllerRevision, told *workv1alpha1.RevisionStatus, b *reach) error {
	if b == nil {
		b = &reach{}
	}
	hash := rev.Labels[workv1alpha1.LabelControllerHash]
	if told.Name != rev.Name || told.Hash != hash || told.Revision != rev.Revision {
		return fmt.Errorf("it is another one, or in another place")
	}
	if n, least, most := int(told.Clusters), b.clusters.Len(), b.clusters.Union(b.doubtful).Len(); n < least || n > most {
		return fmt.Errorf("%d clusters, not %d to %d", n, least, most)
	}
	if states := statesOf(object, rev, b); !slices.Contains(states, told.State) {
		return fmt.Errorf("the state is none of %v", states)
	}
	if told.AbortedTime != nil != (told.State == workv1alpha1.RevisionAborted) || len(told.AbortReason) > 256 {
		return fmt.Errorf("the abort is not that of the state")
	}
	if known, ok := w.causes[rev.Name]; ok && told.ChangeCause != known.text {
		return fmt.Errorf("the cause is not %q", known.text)
	}
	return checkTimes(rev, told)
}

// checkTimes checks the times of an entry.
func checkTimes(rev *appsv1.ControllerRevision, told *workv1alpha1.RevisionStatus) error {
	created := rev.CreationTimestamp.Time
	record := revision.RecordOf(rev)
	last := created
	for _, at := range []time.Time{record.Began, record.Retried} {
		if at.After(last) {
			last = at.Truncate(time.Second)
		}
	}
	if !told.FirstRolledOutTime.Time.Equal(created) || !told.LastRolledOutTime.Time.Equal(last) {
		return fmt.Errorf("the times are not %s and %s", created, last)
	}
	return nil
}

// statesOf returns the states that a revision may have, according to the table of R25.
func statesOf(object *workv1alpha1.ManifestWorkReplicaSet, rev *appsv1.ControllerRevision, b *reach) []workv1alpha1.RevisionState {
	progressing := meta.FindStatusCondition(object.Status.Conditions, workv1alpha1.ConditionProgressing)
	update := rev.Labels[workv1alpha1.LabelControllerHash] == object.Status.UpdateRevision
	underWay := progressing.Reason == workv1alpha1.ReasonNewRevisionCreated || progressing.Reason == workv1alpha1.ReasonFoundNewRevision
	switch {
	case revision.RecordOf(rev).Abort != nil || update && object.Status.AbortedTime != nil:
		return []workv1alpha1.RevisionState{workv1alpha1.RevisionAborted}
	case update && underWay:
		return []workv1alpha1.RevisionState{workv1alpha1.RevisionProgressing}
	}
	var states []workv1alpha1.RevisionState
	if b.clusters.Len() == 0 {
		states = append(states, workv1alpha1.RevisionArchived)
	}
	if b.clusters.Len()+b.doubtful.Len() == 0 {
		return states
	}
	stalled := update && progressing.Reason == workv1alpha1.ReasonProgressDeadlineExceeded
	if b.sick || stalled || b.unsure {
		states = append(states, workv1alpha1.RevisionNotReady)
	}
	if !b.sick && !stalled {
		states = append(states, workv1alpha1.RevisionAvailable)
	}
	return states
}

// revisionLine returns the list in one line, the newest revision first.
func (w *World) revisionLine() string {
	object, contents := w.Object(), w.contents()
	if object == nil {
		return ""
	}
	parts := make([]string, 0, len(object.Status.Revisions))
	for i := range object.Status.Revisions {
		rev := &object.Status.Revisions[i]
		part := fmt.Sprintf("%s %s %d", contents[rev.Hash], rev.State, rev.Clusters)
		if rev.ChangeCause != "" {
			part += fmt.Sprintf(" %q", rev.ChangeCause)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
