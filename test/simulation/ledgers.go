package simulation

import (
	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// ledger returns the valid ledger, based on both places on the API server; zero if there is none.
func (w *World) ledger() ledger.Ledger { return w.ledgerWith(w.history) }

// ledgerOfHub returns the ledger that the hub can read. Without permission to read ControllerRevisions, that is the ledger in the status.
func (w *World) ledgerOfHub() ledger.Ledger {
	if w.API.NoHistory {
		return w.ledgerWith(func() revision.History { return revision.History{} })
	}
	return w.ledger()
}

func (w *World) ledgerWith(history func() revision.History) ledger.Ledger {
	object := w.Object()
	if object == nil {
		return ledger.Ledger{}
	}
	digest, _ := revision.DigestOf(&object.Spec.ManifestWorkTemplate)
	return ledger.Read(&ledger.Places{Owner: object.UID, Template: digest, Status: object.Status.Ledger, History: history()}).Ledger
}

// history returns the revisions on the API server.
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

// returns reports whether a template was the stable one before, according to the valid ledger or to the ledger in the status. A process
// that wrote the status itself trusts it, even after a user deleted all revisions.
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
