package plan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Restoration is what remains to be written of a ManifestWorkReplicaSet, in this order: the revisions, the status, and the annotations
// last.
type Restoration struct {
	Revisions []RevisionPatch
	// Status holds the new values of the fields that decisions depend on; nil if they stay. A field without a value stays.
	Status *status.Revisions
	// Annotations are the changes of the object's annotations; nil values are removed. Empty if nothing changes.
	Annotations map[string]any
	// Fits reports whether there is a snapshot, of this object and its template. Restored says what is restored of it, for a person; empty for
	// nothing.
	Fits     bool
	Restored string
	// Kept is the reason why the snapshot is not restored; empty if it is restored, or if there is none.
	Kept string
}

// RevisionPatch is a change of a ControllerRevision.
type RevisionPatch struct {
	Revision *revision.Revision
	// Annotations are those that are set.
	Annotations map[string]string
	// Number is the wanted .revision; nil if it stays.
	Number *int64
}

// Restore returns what remains to be restored of an object from the snapshot of this build's version. Only what was lost is restored:
// a field, an annotation or a number that is there as a hub writes it stays, because it may be newer than the snapshot. The spec is never
// restored.
func Restore(d *Decision, o *Object) Restoration {
	r := Restoration{Annotations: d.annotations(o, d.Build, "")}
	text, taken := o.Annotations[d.Build.annotation()]
	if !taken {
		return r
	}
	s, err := decode(text)
	switch {
	case err != nil:
		r.Kept = fmt.Sprintf("the annotation %s cannot be read: %v", d.Build.annotation(), err)
	case s.UID != o.UID:
		r.Kept = fmt.Sprintf("the snapshot of version %s was taken of another object with this name", d.Build)
	case s.Generation != o.Generation && !o.holdsTemplate(s.Template):
		r.Kept = fmt.Sprintf("the template has changed since the snapshot of version %s was taken", d.Build)
	default:
		r.Fits = true
		(&restorer{snapshot: s, live: o, result: &r}).restore()
	}
	return r
}

// restorer compares an object with its snapshot.
type restorer struct {
	snapshot *snapshot
	live     *Object
	result   *Restoration
	// history is the live one with the patches so far.
	history  revision.History
	restored []string
}

func (r *restorer) restore() {
	r.history = revision.History{Revisions: make([]revision.Revision, len(r.live.History.Revisions))}
	for i, rev := range r.live.History.Revisions {
		rev.Object = rev.Object.DeepCopy()
		r.history.Revisions[i] = rev
	}
	wanted := r.live.deciding()
	changed := r.status(&wanted)
	patched := r.revisions(wanted.AbortedTime)
	if r.current(&wanted) || changed {
		r.result.Status = &wanted
	}
	if patched > 0 {
		r.restored = append(r.restored, fmt.Sprintf("numbers and annotations of %d revisions", patched))
	}
	r.result.Restored = strings.Join(r.restored, "; ")
}

// status restores what is known without the revisions: a lost update revision, collisions, and a lost abort.
func (r *restorer) status(wanted *status.Revisions) (changed bool) {
	s := &r.snapshot.Status
	if count := ptr.Deref(s.CollisionCount, 0); count > ptr.Deref(wanted.CollisionCount, 0) && count <= revision.MaxCollisions {
		wanted.CollisionCount, changed = s.CollisionCount, true
		r.restored = append(r.restored, fmt.Sprintf("status.collisionCount %d", *s.CollisionCount))
	}
	abort := r.abortIsLost()
	if wanted.UpdateRevision == "" && s.UpdateRevision != "" {
		wanted.UpdateRevision, changed = s.UpdateRevision, true
		r.restored = append(r.restored, "status.updateRevision "+s.UpdateRevision)
	}
	if abort {
		wanted.AbortedTime, changed = s.AbortedTime, true
		r.restored = append(r.restored, "status.abortedTime "+s.AbortedTime.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return changed
}

// abortIsLost reports whether the snapshot has an abort of the rollout that is under way, and the status has none. A rollout that was
// completed, begun or retried since is another one. An abort that is there stays, also where the snapshot has none: without it, a revision
// that failed would be rolled out again.
func (r *restorer) abortIsLost() bool {
	s, live := &r.snapshot.Status, r.live.deciding()
	if s.AbortedTime == nil || live.AbortedTime != nil || r.live.NoHistory {
		return false
	}
	if !lostOrEqual(live.UpdateRevision, s.UpdateRevision) || !lostOrEqual(live.CurrentRevision, s.CurrentRevision) {
		return false
	}
	update, kept := r.live.History.ByHash(s.UpdateRevision), r.snapshot.revision(s.UpdateRevision)
	if update == nil || update.Err != nil || kept == nil || s.CurrentRevision == s.UpdateRevision {
		return false
	}
	if latest := r.live.History.LatestCurrent(); latest != nil && latest.Hash == s.UpdateRevision {
		return false // Its rollout was completed.
	}
	return !rolledOutSince(update, kept) && !r.madeSince(update)
}

// madeSince reports whether a revision was created after the snapshot: it had been deleted by the history limit, and its template was
// applied again.
func (r *restorer) madeSince(rev *revision.Revision) bool {
	return rev.Age().Generation > r.snapshot.Generation
}

// rolledOutSince reports whether a template came back to a revision, or somebody retried it, since the snapshot.
func rolledOutSince(rev *revision.Revision, kept *revisionSnapshot) bool {
	record := kept.record()
	return later(rev.Reused, record.Reused) || later(rev.Retried, record.Retried)
}

// current restores a lost current revision, unless another one was the current one since.
func (r *restorer) current(wanted *status.Revisions) bool {
	hash := r.snapshot.Status.CurrentRevision
	if wanted.CurrentRevision != "" || hash == "" || !lostOrEqual(r.live.Status.UpdateRevision, r.snapshot.Status.UpdateRevision) {
		return false
	}
	if r.surpassed() {
		return false
	}
	if latest := r.history.LatestCurrent(); latest != nil && latest.Hash != hash {
		return false
	}
	wanted.CurrentRevision = hash
	r.restored = append(r.restored, "status.currentRevision "+hash)
	return true
}

// surpassed reports whether the hub found, since the snapshot, that another hub had rolled out past the current revision.
func (r *restorer) surpassed() bool {
	for i := range r.live.History.Revisions {
		rev := &r.live.History.Revisions[i]
		kept := r.snapshot.revision(rev.Hash)
		if kept == nil {
			kept = &revisionSnapshot{}
		}
		if later(rev.Surpassed, kept.record().Surpassed) {
			return true
		}
	}
	return false
}

func lostOrEqual(live, kept string) bool { return live == "" || live == kept }

// revisions restores numbers and annotations, and returns of how many revisions. aborted is when the rollout of the update revision was
// aborted.
func (r *restorer) revisions(aborted *metav1.Time) (patched int) {
	renumber := r.renumber()
	surpassed := r.surpassed()
	for i := range r.history.Revisions {
		rev := &r.history.Revisions[i]
		kept := r.snapshot.revision(rev.Hash)
		if kept == nil {
			continue
		}
		patch := RevisionPatch{Revision: &r.live.History.Revisions[i], Annotations: lost(rev, kept, surpassed || r.madeSince(rev))}
		if aborted != nil && r.live.Status.AbortedTime == nil && rev.Hash == r.snapshot.Status.UpdateRevision {
			markAborted(patch.Annotations, rev, kept, aborted)
		}
		if renumber && rev.Object.Revision != kept.Number {
			patch.Number = &kept.Number
		}
		if len(patch.Annotations) == 0 && patch.Number == nil {
			continue
		}
		patched++
		r.result.Revisions = append(r.result.Revisions, patch)
		if rev.Object.Annotations == nil {
			rev.Object.Annotations = map[string]string{}
		}
		for key, value := range patch.Annotations {
			rev.Object.Annotations[key] = value
		}
		rev.Record = revision.RecordOf(rev.Object)
	}
	return patched
}

// renumber reports whether the numbers are restored: since the snapshot no revision was made and no template came back, and the update
// revision stays the newest. Otherwise the template would be taken for one that came back.
func (r *restorer) renumber() bool {
	var newest *revisionSnapshot
	tied := false
	for i := range r.live.History.Revisions {
		rev := &r.live.History.Revisions[i]
		kept := r.snapshot.revision(rev.Hash)
		switch {
		case kept == nil, later(rev.Reused, kept.record().Reused):
			return false
		case newest == nil, kept.Number > newest.Number:
			newest, tied = kept, false
		case kept.Number == newest.Number:
			tied = true
		}
	}
	return newest != nil && !tied && lostOrEqual(r.live.Status.UpdateRevision, newest.Hash)
}
