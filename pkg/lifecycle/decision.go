package lifecycle

import (
	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Decision is the decision about an object. There are three cases: a Request must be answered first; the pass ends early (End); or the pass
// persists the ledger, or acts on the plan.
type Decision struct {
	// Request is the read or write whose answer the decision needs; nil for none.
	Request *Request
	// End is why the pass ends early; empty if it does not.
	End Reason
	// Failed is the failed request that ends the pass, and Problem is the problem with an invalid spec for the conditions.
	Failed  *Answer
	Problem Problem

	// Ledger is the new ledger. If its number differs from that of the ledger in the Observation, the hub persists the new ledger before it
	// acts on it.
	Ledger ledger.Ledger
	// Update is the revision that is rolled out. It is the template's, except while an earlier abort finishes first.
	Update *work.Revision
	// TemplateHeld is true if the template has no revision, and Update is the previous one: no further cluster gets it.
	TemplateHeld bool
	// Pending is true if the template waits for an abort to finish, or for its revision to be written. The hub continues by itself. The
	// status does not observe this generation yet.
	Pending bool
	// TemplatePending is true if the template is not that of Update, and waits for the end of a pause.
	TemplatePending bool
	// Snapshot is the snapshot of the rollout, and Plan is the plan for it.
	Snapshot *rollout.Snapshot
	Plan     *rollout.Plan

	// Problems are for the conditions.
	Problems []Problem
	// Events are for users, in order. Later decisions only append events.
	Events []Event
}

// Reason is why a pass ends early.
type Reason string

// The reasons.
const (
	// Written means that the hub wrote an object: the next pass begins when the caches show the write.
	Written Reason = "Written"
	// Refused means that a request failed, and will be retried.
	Refused Reason = "Refused"
	// InvalidSpec means that the spec can't be rolled out. The conditions report this.
	InvalidSpec Reason = "InvalidSpec"
	// Decided means that the ledger changed in a way that must be persisted before any other decision.
	Decided Reason = "Decided"
	// InvalidOwnerLabel means that no ManifestWork can have the owner label. The conditions report this.
	InvalidOwnerLabel Reason = "InvalidOwnerLabel"
)

// Action is the kind of a Request.
type Action string

// The actions.
const (
	// Create creates the revision of a template that has none.
	Create Action = "Create"
	// Record creates a revision of a template that another hub rolled out.
	Record Action = "Record"
	// Relabel restores the labels by which the caches find a revision.
	Relabel Action = "Relabel"
	// Renumber makes an older revision the newest one.
	Renumber Action = "Renumber"
	// CopyLedger writes the copy of the ledger, and the record of the rollout.
	CopyLedger Action = "CopyLedger"
	// ReadLive reads a ControllerRevision that no cache shows.
	ReadLive Action = "ReadLive"
	// ReadSpec reads the spec of a ManifestWork.
	ReadSpec Action = "ReadSpec"
	// ReadWorks reads the ManifestWorks of clusters whose failures are new. The pass ends if the cache has an older version of any of them.
	ReadWorks Action = "ReadWorks"
	// Await waits until the cache shows a revision that was read.
	Await Action = "Await"
)

// Request is a read or write whose answer a decision needs.
type Request struct {
	Action Action
	// Key identifies the request within a pass. Its answer has the same key.
	Key string

	// Revision is the ControllerRevision to create, or to patch if it has not changed since this process saw it.
	Revision *appsv1.ControllerRevision
	// Patch is the change to Revision.
	Patch Patch
	// Name is the name of the ControllerRevision that ReadLive reads.
	Name string
	// Work is the ManifestWork whose spec ReadSpec reads, and Digest is the digest of that spec.
	Work   *workv1.ManifestWork
	Digest revision.Digest
	// Works are the ManifestWorks that ReadWorks reads. Abort is true if an abort depends on them.
	Works []*workv1.ManifestWork
	Abort bool
	// Event is the event to emit when the request has succeeded; nil for none.
	Event *Event
}

// Patch is a change to a ControllerRevision.
type Patch struct {
	// Labels are the labels to set.
	Labels map[string]string
	// Record is the new record of the revision; nil if the record does not change.
	Record *revision.Record
	// Ledger is the text of the ledger; empty if it does not change.
	Ledger string
	// ChangeCause is the new change cause; empty if it does not change.
	ChangeCause string
	// Number is the new revision number; 0 if it does not change.
	Number int64
}

// Event is a Kubernetes event about a decision.
type Event struct {
	// Warning is true if the event needs a user's attention.
	Warning bool
	// Reason and Action are those of the event. Note is its text.
	Reason, Action, Note string
	// Once is true if each process emits the event only once.
	Once bool
}

// Problem is a problem that the conditions report.
type Problem struct {
	// Failed is the request that failed; nil for none. The message then starts with the API server's answer and the remedy.
	Failed *Answer
	// Text is the problem with its remedy, or the consequence of the failed request.
	Text string
}
