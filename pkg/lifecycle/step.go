package lifecycle

import (
	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
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
	// MarkSettings writes on a revision which fields the spec has that an older CRD drops.
	MarkSettings Action = "MarkSettings"
	// MarkCurrent writes on a revision that it is the current one.
	MarkCurrent Action = "MarkCurrent"
	// MarkAborted writes on a revision that its rollout was aborted.
	MarkAborted Action = "MarkAborted"
	// ClearAborted removes that: somebody tries the revision again.
	ClearAborted Action = "ClearAborted"
	// MarkRestored writes on a revision that every cluster confirmed the one that it was brought back to.
	MarkRestored Action = "MarkRestored"
	// PersistStatus writes what decides into the status, with the conditions.
	PersistStatus Action = "PersistStatus"
	// RemoveAbort removes status.abortedTime where nothing can be aborted.
	RemoveAbort Action = "RemoveAbort"
	// Unmark removes from a revision that it was the current one: another hub rolled out past it.
	Unmark Action = "Unmark"
	// BumpCollision persists that a hash is taken.
	BumpCollision Action = "BumpCollision"
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
	// Collisions is the new status.collisionCount.
	Collisions int32
	// Plan and Stage are what PersistStatus reports; an empty Stage is the one that the plan shows.
	Plan  *rollout.Plan
	Stage status.Stage
	// Event is what people read once the step is done; nil for nothing.
	Event *Event

	// Reason is why the pass ends with a Hold, Failed is the request because of which it does, and Problem what the conditions say.
	Reason  Reason
	Failed  *Answer
	Problem Problem

	// Outcome is what was decided so far.
	Outcome Outcome
}

// Patch is what changes of a ControllerRevision.
type Patch struct {
	// Labels are set.
	Labels map[string]string
	// Record is the new record of the revision; nil if the record does not change.
	Record *revision.Record
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

// Decision is what is decided about the revisions. Each of Next, Begin and Conclude receives the decision of the previous one.
type Decision struct {
	// Revisions are the deciding fields of the status, as they count from now on.
	Revisions status.Revisions
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
	// Aborting is true if a work that can be written was not restored when the decision was made.
	Aborting bool
}

// Outcome is the decision of a chain so far, with what follows from it for users and for this process.
type Outcome struct {
	Decision
	// Problems are for the conditions.
	Problems []Problem
	// Events are for users, in order. Answers add events at the end only.
	Events []Event
	// Urgent is true if the next pass should come as soon as possible.
	Urgent bool
	// AwaitsHistory is true if the hub checks regularly whether it may read ControllerRevisions.
	AwaitsHistory bool

	// The rest is for this process to remember.

	// RolledOut is the template that is rolled out without a history; empty for none.
	RolledOut RolledOut
	// AbortedFor is why the rollout is aborted; empty if it is not.
	AbortedFor string
	// Keep is true if Revisions are to be remembered: the status may not have them, and a history may not be readable.
	Keep bool
	// Incomplete is the revision whose rollout is found incomplete; empty for none, nil for no change.
	Incomplete *string
	// Completed is the revision whose rollout was complete, but which could not record that; empty for none.
	Completed string
	// Unstable is the hash of the revision that is no longer known to be stable, because another hub rolled out; empty for none.
	Unstable string
}

// RolledOut names what a template means by the hash that it was rolled out under.
type RolledOut struct {
	Hash   string
	Digest revision.Digest
}
