package v1alpha1

import (
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// Labels and annotations of the objects that a ManifestWorkReplicaSet owns.
const (
	// LabelReplicaSet holds the owner of a ManifestWork or ControllerRevision as "<namespace>.<name>".
	LabelReplicaSet = upstream.ManifestWorkReplicaSetControllerNameLabelKey
	// LabelPlacement holds the name of the Placement that a ManifestWork's cluster belongs to (R8).
	LabelPlacement = upstream.ManifestWorkReplicaSetPlacementNameLabelKey
	// LabelControllerHash holds the hash of the revision that a ManifestWork has or a ControllerRevision is.
	LabelControllerHash = "work.open-cluster-management.io/controller-hash"

	// AnnotationAppliedAt holds when the hub wrote the revision that a ManifestWork has (R10), in RFC 3339
	// with nanoseconds. Every write that changes the work's generation renews it.
	AnnotationAppliedAt = "work.open-cluster-management.io/revision-applied-at"
	// AnnotationAccepted holds, on a ManifestWork, the SHA-256 digest of the spec that the hub asked for, a slash, and the generation that the
	// write makes. Where the API server stores another spec than that, the SHA-256 digest of what it stored takes the place of the generation: a
	// hub that is started later does not write such a work again (R10).
	AnnotationAccepted = "work.open-cluster-management.io/revision-accepted"
	// AnnotationDecisionGroup holds the decision group that the cluster of a ManifestWork was in when the revision
	// was written, as "<index>/<name>": a cluster that leaves its Placement is still counted in that group (R8, R11).
	AnnotationDecisionGroup = "work.open-cluster-management.io/revision-decision-group"

	// AnnotationRetry holds, on a ManifestWorkReplicaSet, a time in RFC 3339: what was aborted or has failed by then is retried, once (R4, R11). It
	// is for Git, where no status can be written.
	AnnotationRetry = "work.open-cluster-management.io/retry"

	// AnnotationGeneration holds the generation of the ManifestWorkReplicaSet that a revision was made from (R2).
	AnnotationGeneration = "work.open-cluster-management.io/generation"
	// AnnotationCurrentSince holds, on a revision, when it became the current one (R16), in RFC 3339 with nanoseconds.
	// The revision with the latest one is the current revision.
	AnnotationCurrentSince = "work.open-cluster-management.io/revision-current-since"
	// AnnotationSurpassed holds, on a revision that was the current one, when this hub found that another one had rolled out past it
	// meanwhile (R6), in RFC 3339 with nanoseconds. It takes AnnotationCurrentSince's place.
	AnnotationSurpassed = "work.open-cluster-management.io/revision-surpassed"
	// AnnotationRecorded holds, on a revision that another hub rolled out, when this hub recorded it from the works (R6), in RFC 3339 with
	// nanoseconds. A revision without it was made from a template.
	AnnotationRecorded = "work.open-cluster-management.io/revision-recorded"
	// AnnotationRecordedOn holds, on a recorded revision that became the current one, the only cluster that had it: no other cluster goes
	// back to it until a rollout of it was complete (R6).
	AnnotationRecordedOn = "work.open-cluster-management.io/revision-recorded-on"
	// AnnotationDigests holds, on a revision, what it remembers of the current one and of those that were current before, as JSON by hash: their
	// SHA-256 digests, when they were created first, and since when they were current (R12).
	AnnotationDigests = "work.open-cluster-management.io/revision-digests"
	// AnnotationSettings holds, on the newest revision, the fields of its owner's spec that an older CRD drops, as JSON: where they are gone
	// after such a CRD was in place, the hub says so.
	AnnotationSettings = "work.open-cluster-management.io/revision-settings"
	// AnnotationAborted holds, on a revision, when its rollout was aborted (R16), in RFC 3339.
	AnnotationAborted = "work.open-cluster-management.io/revision-aborted"

	// AnnotationAbortReason holds, on a revision, why its rollout was aborted, for a person.
	AnnotationAbortReason = "work.open-cluster-management.io/revision-abort-reason"
	// AnnotationAbortedBy holds, on a revision whose rollout was aborted by hand, who asked for the abort: status.abortedBy.
	AnnotationAbortedBy = "work.open-cluster-management.io/revision-aborted-by"
	// AnnotationReached holds, on a revision, the most clusters that had it when its rollout was aborted or complete (R25).
	AnnotationReached = "work.open-cluster-management.io/revision-reached-clusters"
	// AnnotationCreatedBy holds, on a revision, the field manager that owned the template when the revision was created (R25).
	AnnotationCreatedBy = "work.open-cluster-management.io/revision-created-by"
	// AnnotationCauseSeen holds, on a revision, the change cause of the ManifestWorkReplicaSet when the template returned to the revision, where the
	// revision has another one of its own (R25).
	AnnotationCauseSeen = "work.open-cluster-management.io/revision-cause-seen"
	// AnnotationReturned holds, on a revision whose template returned after the history limit had deleted its first one, when that was created (R12),
	// in RFC 3339 with nanoseconds.
	AnnotationReturned = "work.open-cluster-management.io/revision-returned"
	// AnnotationRestored holds, on a revision whose rollout was aborted, when every selected cluster had confirmed the revision that
	// it was brought back to, in RFC 3339 with nanoseconds.
	AnnotationRestored = "work.open-cluster-management.io/revision-restored"
	// AnnotationRetriedAt holds, on a revision, when a person asked to try it again by clearing status.abortedTime (R4), in RFC 3339
	// with nanoseconds.
	AnnotationRetriedAt = "work.open-cluster-management.io/revision-retried-at"
	// AnnotationRetriedAbort holds, on a revision whose rollout was retried, the time of the abort that was retried, in RFC 3339 with
	// nanoseconds. A status that still has this abort is older than the revision.
	AnnotationRetriedAbort = "work.open-cluster-management.io/revision-retried-abort"
	// AnnotationReused holds, on a revision, when a template came back to it (R3), in RFC 3339 with nanoseconds: a rollout of
	// it has the reason FoundNewRevision, and begins then.
	AnnotationReused = "work.open-cluster-management.io/revision-reused"
	// AnnotationAtOnce is "true" on a revision that a template came back to within spec.rollbackWindow: the undo reaches every cluster at once
	// (R12c). An abort of that undo removes it.
	AnnotationAtOnce = "work.open-cluster-management.io/revision-at-once"
	// AnnotationKeptRevision holds, on a ManifestWork, the hash of the revision whose objects it keeps beside those of its own (R28).
	AnnotationKeptRevision = "work.open-cluster-management.io/kept-revision"
	// AnnotationCopiedLabels holds, on a ManifestWork, the keys of the labels that were copied from its owner, separated by
	// commas: when the owner loses one, the work loses it too, and keeps those that others put there (R9).
	AnnotationCopiedLabels = "work.open-cluster-management.io/copied-labels"

	// AnnotationSnapshotPrefix is what the key of a snapshot begins with, on a ManifestWorkReplicaSet; the version of the hub follows whose
	// state it holds (R36). The value is JSON.
	AnnotationSnapshotPrefix = "rollback.work.open-cluster-management.io/"

	// Finalizer keeps a ManifestWorkReplicaSet until its ManifestWorks are deleted.
	Finalizer = upstream.ManifestWorkReplicaSetFinalizer
)
