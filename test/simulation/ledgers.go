package simulation

import (
	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// ledger returns the ledger that counts, as the API server has its places; zero for none.
func (w *World) ledger() ledger.Ledger {
	object := w.Object()
	if object == nil {
		return ledger.Ledger{}
	}
	digest, _ := revision.DigestOf(&object.Spec.ManifestWorkTemplate)
	return ledger.Read(&ledger.Places{Owner: object.UID, Template: digest, Status: object.Status.Ledger, History: w.history()}).Ledger
}

// history returns the revisions that the API server has.
func (w *World) history() revision.History {
	var revisions []revision.Revision
	for _, rev := range w.Revisions() {
		revisions = append(revisions, w.decoded(rev))
	}
	return revision.NewHistory(w.Object(), revisions)
}

func (w *World) decoded(rev *appsv1.ControllerRevision) revision.Revision {
	return revision.Revision{Object: rev, Hash: rev.Labels[workv1alpha1.LabelControllerHash], Record: revision.RecordOf(rev)}
}

// returns reports whether a template was the stable one before, by the ledger that counts or by that of the status: a process that wrote the
// latter itself believes it, also after somebody deleted all revisions.
func (w *World) returns(digest revision.Digest) bool {
	l := w.ledger()
	if _, former := l.Formerly(digest); former {
		return true
	}
	told, err := ledger.Decode(w.Object().Status.Ledger, w.Object().UID)
	if err != nil {
		return false
	}
	_, former := told.Formerly(digest)
	return former
}
