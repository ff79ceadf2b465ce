// Package lifecycle decides about the revisions of a ManifestWorkReplicaSet: which one is that of the template, which one counts as the current one,
// and what has to be recorded before anything follows from it.
//
// It is pure: each function takes one observation, the View, and returns one Step. Whoever performs the step adds the answer to the View and
// asks again, until the step is Proceed or Hold. A pass asks three times: Next for the revision of the template, Begin for what has to be
// persisted before its rollout goes on, and Conclude (or Abort; both in conclude.go) for what has to be
// recorded of what package rollout decided. An abort by hand is in begin.go.
//
// The links of a chain stand in the order in which they decide. Those of Next:
//
//	unreadableSpec   what can't be read is reported; an abort is carried out all the same     (R4, R12)
//	longOwnerLabel   no ManifestWork can have the owner label
//	unusable         revisions that don't count, or can't be read, are named                  (R2, R7)
//	lostStatus       a status that was lost is rebuilt from the revisions                     (R16)
//	olderStatus      a status that is older than the revisions counts as lost                 (R16)
//	unlabelled       a live revision that lost its labels gets them back                      (R7)
//	endAbort         another hub rolled out what was aborted, and every cluster succeeded     (R16)
//	adopt            what another hub rolled out becomes revisions                            (R6)
//	settleCurrent    status.currentRevision names a revision that may be the current one      (R6, R16)
//	invalidTemplate  a template that no agent could apply is not rolled out
//	paused           while spec.paused is true, an edited template waits               (R23)
//	newTemplate      a template without a revision gets one                                   (R1, R2)
//	undo             a template that came back makes its revision the newest                  (R3)
//
// A hub that may not read ControllerRevisions has another mode (modes.go), and other links:
//
//	keptStatus       what the status may not hold is remembered by this process
//	invalidTemplate
//	paused
//	templateOnWorks  the works have the template's hash                                       (R1)
//
// Those of Begin:
//
//	checkRetry       an event names a retry annotation that is not a time, or is in the future
//	abortByHand      a person set status.abortedTime                                          (R12)
//	retryAborted     an annotation asks for a retry of an aborted rollout                     (R4)
//	newRollout       a rollout of another revision begins; an unfinished abort ends first     (R4)
//	persist          the status says so before any work is written                            (R4, R16)
//	markAbort        the revision records an abort, or that somebody tries it again           (R4, R16)
//
// A link returns nil where it has nothing to do, and the next one decides. A write ends the pass: the next pass begins when the caches show it
// (R15).
package lifecycle
