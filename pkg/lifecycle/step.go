package lifecycle

import (
	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Action is what a Step does.
type Action string

// The actions.
const (
	// Create creates the revision of a template that has none.
	Create Action = "Create"
	// Record creates a revision of what another hub rolled out.
	Record Action = "Record"
	// Relabel gives a revision the labels back by which it is found.
	Relabel Action = "Relabel"
	// Renumber makes an older revision the newest one.
	Renumber Action = "Renumber"
	// CopyLedger writes the copy of the ledger, and the record of the rollout.
	CopyLedger Action = "CopyLedger"
	// MarkSettings writes on a revision which fields the spec has that an older CRD drops.
	MarkSettings Action = "MarkSettings"
	// ReadLive reads a ControllerRevision that no cache shows.
	ReadLive Action = "ReadLive"
	// ReadSpec reads what the spec of a ManifestWork holds.
	ReadSpec Action = "ReadSpec"
	// Await waits until the cache shows a revision that was read.
	Await Action = "Await"
	// Hold ends the pass.
	Hold Action = "Hold"
	// Proceed hands the outcome to the rollout.
	Proceed Action = "Proceed"
)

// Reason is why a pass ends with a Hold.
type Reason string

// The reasons.
const (
	// Written means that something was written: the next pass begins when the caches show it.
	Written Reason = "Written"
	// Refused means that a request failed: it is made again.
	Refused Reason = "Refused"
	// InvalidSpec means that the spec can't be rolled out. The conditions say so.
	InvalidSpec Reason = "InvalidSpec"
	// Decided means that the ledger changed in a way that has to be persisted before anything else is decided.
	Decided Reason = "Decided"
	// InvalidOwnerLabel means that no ManifestWork can have the owner label. The conditions say so.
	InvalidOwnerLabel Reason = "InvalidOwnerLabel"
)

// Step is the next thing to do about the revisions.
type Step struct {
	Action Action
	// Why is the reason, for logs and tests.
	Why string
	// Key names the step among those of a pass. Its answer has the same.
	Key string
	// Verb is what the request is called where it fails.
	Verb string

	// Revision is what is created, or what is patched as it was seen.
	Revision *appsv1.ControllerRevision
	// Patch is what changes of it.
	Patch Patch
	// Name is the ControllerRevision's that ReadLive reads.
	Name string
	// Work is the ManifestWork whose spec ReadSpec reads, and Digest what that means.
	Work   *workv1.ManifestWork
	Digest revision.Digest
	// Event is what people read once the step is done; nil for nothing.
	Event *Event

	// Reason is why the pass ends with a Hold, Failed is the request because of which it does, and Problem what the conditions say.
	Reason  Reason
	Failed  *Answer
	Problem Problem

	// Decision is what was decided so far.
	Decision Decision
}

// Patch is what changes of a ControllerRevision.
type Patch struct {
	// Labels are set.
	Labels map[string]string
	// Record is the new record of the revision; nil if the record does not change.
	Record *revision.Record
	// Ledger is the text of the ledger; empty if it does not change.
	Ledger string
	// ChangeCause is the new change cause; empty if it does not change.
	ChangeCause string
	// Number is the new revision number; 0 where that stays.
	Number int64
}

// Event is what people read of a step.
type Event struct {
	// Warning reports whether somebody should look at it.
	Warning bool
	// Reason and Action are those of the event, Note its text.
	Reason, Action, Note string
	// Once means that each process says it once.
	Once bool
}

// Problem is what a condition names.
type Problem struct {
	// Failed is the request that failed; nil for none. The words of the API server and the remedy come first then.
	Failed *Answer
	// Text is the problem with its remedy, or what follows from the request that failed.
	Text string
}

// Decision is what is decided about an object. Begin and Judge each return the decision that they receive, with what they add.
type Decision struct {
	// Ledger is the ledger as it counts from now on. If it differs from that of the View, it is persisted before anything follows from it.
	Ledger ledger.Ledger
	// Update is the revision that is rolled out. It is the template's, except while an earlier abort finishes first.
	Update *work.Revision
	// TemplateHeld is true if the template has no revision, and Update is the previous one: no further cluster gets it.
	TemplateHeld bool
	// Pending is true if the template waits for an abort to finish, or for its revision to be written. The hub continues by itself. The
	// status does not observe this generation yet.
	Pending bool
	// TemplatePending is true if the template is not Update's, and waits for the end of a pause.
	TemplatePending bool
	// Snapshot is that of the rollout.
	Snapshot *rollout.Snapshot

	// Problems are for the conditions.
	Problems []Problem
	// Events are for users, in order. What is decided later adds events at the end only.
	Events []Event
}
