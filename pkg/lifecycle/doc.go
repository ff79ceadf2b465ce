// Package lifecycle makes the decisions about a ManifestWorkReplicaSet: the revision to roll out, the commands to obey, and whether the
// rollout is complete, aborted or restored. The result is a ledger (package ledger).
//
// It is pure: Decide takes one Observation, and equal observations lead to equal decisions. Decide makes the decision in this order:
//
//	Obey        the commands in the status
//	findUpdate  the revision of the template in the spec
//	begin       the retry annotation, and the beginning of the rollout of that revision
//	judge       the plan of package rollout, and its results: failures, halts, an abort, the completion
//
// If the decision needs a read or a write, it contains a Request. The caller performs the request, adds the answer to the Observation, and
// calls Decide again. If the ledger changed, the hub persists the ledger before it acts on the decision (R42).
//
// The links of findUpdate, in the order in which they decide:
//
//	unreadableSpec   an unreadable spec is reported; an abort in progress still continues     (R4, R12)
//	longOwnerLabel   no ManifestWork can have the owner label
//	unusable         revisions that don't count, or can't be read, are reported               (R2, R7)
//	unlabelled       a live revision that lost its labels gets them back                      (R7)
//	endAbort         another hub rolled out the aborted template, and every cluster succeeded (R16)
//	adopt            templates that another hub rolled out become revisions                   (R6)
//	invalidTemplate  a template that no agent could apply is not rolled out
//	pausedTemplate   while spec.paused is true, an edited template waits                      (R23)
//	newTemplate      a template without a revision gets one                                   (R1, R2)
//	undo             if a template returns, its revision becomes the newest                   (R3)
//
// A hub without permission to read ControllerRevisions skips the links that need them: the works have the template's hash
// (templateOnWorks, R43).
//
// A link returns true if it has nothing to do; the next link then decides. A write ends the pass: the next pass begins when the caches show
// the write (R15).
package lifecycle
