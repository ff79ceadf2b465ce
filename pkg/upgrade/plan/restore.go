package plan

import (
	"fmt"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Restoration holds the remaining writes for a ManifestWorkReplicaSet, in this order: the status, the revisions, the annotations.
type Restoration struct {
	// Revisions are the revisions whose copy of the ledger changes: Holder gets Copy, and the others lose their copy.
	Revisions []*revision.Revision
	Holder    *revision.Revision
	Copy      string
	// Status is the status with the restored ledger and its projection; nil if it does not change.
	Status *workv1alpha1.ManifestWorkReplicaSetStatus
	// Annotations are the changes to the object's annotations; a nil value removes the annotation. It is empty if nothing changes.
	Annotations map[string]any
	// Fits is true if there is a valid snapshot of this object. Restored is true if its ledger is restored.
	Fits, Restored bool
	// Kept is the reason why the snapshot is not restored; empty if it is restored, or if there is no snapshot.
	Kept string
}

// Restore returns the writes that restore an object from the snapshot of this build's version. It restores the ledger if both places lost
// it, or if either place has a higher format. Otherwise the ledger is kept, because it may be newer than the snapshot.
func Restore(d *Decision, o *Object) Restoration {
	r := Restoration{Annotations: d.annotations(o, d.Build, "")}
	text, taken := o.Annotations[d.Build.annotation()]
	if !taken {
		return r
	}
	kept, err := ledger.Decode(text, o.UID)
	if err != nil {
		r.Kept = fmt.Sprintf("the snapshot of version %s: %v", d.Build, err)
		return r
	}
	r.Fits = true
	reading := o.reading()
	if reading.Later == nil && reading.Ledger.Seq > 0 {
		return r
	}
	r.Restored = true
	r.Holder = ledger.Holder(&o.History, kept)
	for i := range o.History.Revisions {
		rev := &o.History.Revisions[i]
		copied := rev.Object.Annotations[workv1alpha1.AnnotationLedger]
		kept.Seq = max(kept.Seq, ledger.SeqOf(copied))
		if copied != "" || rev == r.Holder {
			r.Revisions = append(r.Revisions, rev)
		}
	}
	if stored, err := ledger.Decode(o.Status.Ledger, o.UID); err == nil && stored.Seq > kept.Seq {
		if kept.Seq = stored.Seq; stored.Equal(kept) {
			r.Copy = o.Status.Ledger
			return r // An earlier process wrote the ledger and was then killed.
		}
	}
	kept.Seq = max(kept.Seq, ledger.SeqOf(o.Status.Ledger)) + 1
	wanted := &workv1alpha1.ManifestWorkReplicaSetStatus{}
	if err := kept.Project(wanted); err != nil {
		r.Kept, r.Restored = fmt.Sprintf("the snapshot of version %s: %v", d.Build, err), false
		return r
	}
	r.Status, r.Copy = wanted, wanted.Ledger
	return r
}
