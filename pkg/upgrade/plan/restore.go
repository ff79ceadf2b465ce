package plan

import (
	"fmt"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Restoration is what remains to be written of a ManifestWorkReplicaSet, in this order: the status, the revisions, and the annotations
// last.
type Restoration struct {
	// Revisions are those whose copy of the ledger changes: Holder gets Copy, and the others lose theirs.
	Revisions []*revision.Revision
	Holder    *revision.Revision
	Copy      string
	// Status is the status with the restored ledger and its projection; nil if it stays.
	Status *workv1alpha1.ManifestWorkReplicaSetStatus
	// Annotations are the changes of the object's annotations; nil values are removed. Empty if nothing changes.
	Annotations map[string]any
	// Fits reports whether there is a snapshot of this object. Restored reports whether its ledger is restored.
	Fits, Restored bool
	// Kept is the reason why the snapshot is not restored; empty if it is restored, or if there is none.
	Kept string
}

// Restore returns what remains to be restored of an object from the snapshot of this build's version: the ledger, if both of its places
// lost it, or if one of them has a later format. Otherwise the ledger stays, because it may be newer than the snapshot.
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
			return r // A process that was killed wrote it.
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
