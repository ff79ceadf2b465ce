package view

import (
	"cmp"
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Revision is one revision in the history of a ManifestWorkReplicaSet.
type Revision struct {
	// Name is the name of its ControllerRevision, and Hash is its hash. The newest rollout has the largest Number.
	Name   string                     `json:"name"`
	Hash   string                     `json:"hash"`
	Number int64                      `json:"number"`
	State  workv1alpha1.RevisionState `json:"state"`
	// Update is true for status.updateRevision, and Current for status.currentRevision.
	Update  bool `json:"update,omitempty"`
	Current bool `json:"current,omitempty"`
	// WasCurrent is true if the revision is or was the current revision: every selected cluster reached it.
	WasCurrent bool `json:"wasCurrent,omitempty"`
	// Now is the number of clusters that have the revision. It is negative if unknown. Reached is the largest number of clusters that had it,
	// or nil if not recorded.
	Now     int32  `json:"now"`
	Reached *int32 `json:"reached,omitempty"`
	// Started is the time at which its last rollout began. Ended is the time at which that rollout completed or was aborted; it is zero if
	// unknown or not ended.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// AbortReason is the reason why its last rollout was aborted.
	AbortReason string `json:"abortReason,omitempty"`
	// WouldAbort describes when and why AbortAll would have aborted its last rollout, while ReportAbort did not.
	WouldAbort  string `json:"wouldAbort,omitempty"`
	ChangeCause string `json:"changeCause,omitempty"`
	CreatedBy   string `json:"createdBy,omitempty"`
	// Approvals are the decision groups that users approved in its last rollout.
	Approvals []Approval `json:"approvals,omitempty"`
	// Stored is true if its ControllerRevision was read. An undo requires it.
	Stored bool `json:"stored,omitempty"`
}

// Revisions returns the history, newest first: the revisions in the status, and older revisions that have only a ControllerRevision.
func Revisions(o *Objects) []Revision { return slices.Clone(Prepared(o).known.revisions) }

// listed returns the history.
func (o *Objects) listed() []Revision {
	status := &o.ReplicaSet.Status
	revisions := make([]Revision, 0, len(status.Revisions)+len(o.Revisions))
	for i := range status.Revisions {
		revisions = append(revisions, ofStatus(&status.Revisions[i]))
	}
	for _, rev := range o.history().Revisions {
		at := slices.IndexFunc(revisions, func(r Revision) bool { return r.Hash == rev.Hash })
		if at < 0 {
			at = len(revisions)
			revisions = append(revisions, Revision{Name: rev.Object.Name, Hash: rev.Hash, State: workv1alpha1.RevisionArchived})
		}
		revisions[at].add(&rev)
	}
	for i := range revisions {
		r := &revisions[i]
		r.Update, r.Current = r.Hash == status.UpdateRevision, r.Hash == status.CurrentRevision
		r.WasCurrent = r.WasCurrent || r.Current
		if len(status.Revisions) == 0 { // Another CRD is installed.
			r.guess(o)
		}
		if r.Now >= 0 && o.aborted() && len(o.Works) > 0 {
			// The counts in the status may be older than the writes of the abort.
			switch unconfirmed := o.unconfirmed(); {
			case r.Update:
				r.Now = o.written(r) + unconfirmed
			case r.Current:
				r.Now = o.written(r) - unconfirmed
			}
		}
	}
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Hash, b.Hash)) })
	return revisions
}

// written returns how many ManifestWorks have a revision.
func (o *Objects) written(r *Revision) int32 {
	return int32(o.having(r)) //nolint:gosec // A count.
}

// unconfirmed returns the number of clusters that have not confirmed an abort's write. A cluster with an offline agent still runs the
// aborted revision.
func (o *Objects) unconfirmed() (n int32) {
	status := &o.ReplicaSet.Status
	for i := range o.Works {
		w := &o.Works[i]
		at, known := w.AppliedAt()
		if known && w.Hash() == status.CurrentRevision && !at.Before(status.AbortedTime.Time) && !confirmed(w) {
			n++
		}
	}
	return n
}

func ofStatus(of *workv1alpha1.RevisionStatus) Revision {
	found := Revision{
		Name: of.Name, Hash: of.Hash, Number: of.Revision, State: of.State, Now: of.Clusters, Reached: of.ReachedClusters,
		AbortReason: of.AbortReason, ChangeCause: of.ChangeCause, CreatedBy: of.CreatedBy,
	}
	if of.LastRolledOutTime != nil {
		found.Started = of.LastRolledOutTime.Time
	}
	if of.AbortedTime != nil {
		found.Ended = of.AbortedTime.Time
	}
	return found
}

// add adds the data recorded in the ControllerRevision.
func (r *Revision) add(rev *revision.Revision) {
	r.Stored = rev.Err == nil
	r.Number = rev.Object.Revision
	r.ChangeCause = cmp.Or(r.ChangeCause, rev.ChangeCause())
	r.CreatedBy = cmp.Or(r.CreatedBy, rev.CreatedBy)
	r.Approvals = RecordedApprovals(&rev.Record)
	r.AbortReason = cmp.Or(rev.Abort.Why(), r.AbortReason)
	if rev.WouldAbort != nil {
		r.WouldAbort = rev.WouldAbort.Text(rev.WouldAbort.Clusters)
	}
	if r.Reached == nil {
		r.Reached = rev.Reached
	}
	if rev.Abort != nil {
		r.Ended = rev.Abort.At
		if r.State == workv1alpha1.RevisionArchived {
			r.State = workv1alpha1.RevisionAborted
		}
	}
	r.WasCurrent = !rev.Ended.IsZero()
	if r.Ended.IsZero() && r.State != workv1alpha1.RevisionProgressing {
		r.Ended = rev.Ended
	}
	if r.Started.IsZero() {
		r.Started = rev.Object.CreationTimestamp.Time
	}
	if r.Ended.Before(r.Started) {
		r.Ended = time.Time{} // The recorded end belongs to an earlier rollout.
	}
}

// guess derives the fields that come from status.revisions from the works, as far as possible. State stays empty unless the revision was
// aborted.
func (r *Revision) guess(o *Objects) {
	if r.State != workv1alpha1.RevisionAborted {
		r.State = ""
	}
	if r.Now = -1; len(o.Works) > 0 {
		r.Now = o.written(r)
	}
}
