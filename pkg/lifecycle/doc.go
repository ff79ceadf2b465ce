// Package lifecycle decides about a ManifestWorkReplicaSet: which revision is rolled out, what a person asked for, and whether the rollout is
// complete, aborted or restored. What it decides is a ledger (package ledger).
//
// It is pure: each function takes one observation, the View. A pass asks three times:
//
//	Next    obeys the commands in the status, and finds the revision of the template. It names what has to be read or written first, as a
//	        Step; whoever performs the step adds the answer to the View and asks again, until the step is Proceed or Hold.
//	Begin   obeys the retry annotation, and begins the rollout of that revision.
//	Judge   takes what package rollout found into the ledger: failures, halts, an abort, the completion.
//
// If the ledger that comes out differs from the one in the View, it is persisted before anything follows from it (R42).
//
// The links of Next stand in the order in which they decide:
//
//	unreadableSpec   what can't be read is reported; an abort is carried out all the same     (R4, R12)
//	longOwnerLabel   no ManifestWork can have the owner label
//	unusable         revisions that don't count, or can't be read, are named                  (R2, R7)
//	unlabelled       a live revision that lost its labels gets them back                      (R7)
//	endAbort         another hub rolled out what was aborted, and every cluster succeeded     (R16)
//	adopt            what another hub rolled out becomes revisions                            (R6)
//	invalidTemplate  a template that no agent could apply is not rolled out
//	pausedTemplate   while spec.paused is true, an edited template waits                      (R23)
//	newTemplate      a template without a revision gets one                                   (R1, R2)
//	undo             a template that came back makes its revision the newest                  (R3)
//
// A hub that may not read ControllerRevisions skips those that are about them: the works have the template's hash (templateOnWorks, R43).
//
// A link returns nil where it has nothing to do, and the next one decides. A write ends the pass: the next pass begins when the caches show it
// (R15).
package lifecycle
