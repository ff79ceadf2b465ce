package v1alpha1

// Reasons of the events of a ManifestWorkReplicaSet. The hub emits each event once, after the write that records it. If the hub is killed
// in between, the event is lost. A restart repeats only the events that each process of the hub emits once. The related object of an event
// about a revision is that revision.
const (
	// EventRevisionCreated means that a new template got a revision.
	EventRevisionCreated = "RevisionCreated"
	// EventRevisionFound means that the template of an earlier revision returned: an undo.
	EventRevisionFound = "RevisionFound"
	// EventRevisionRecorded means that the hub recorded, as a revision, a template that another hub rolled out.
	EventRevisionRecorded = "RevisionRecorded"
	// EventRevisionPruned means that a revision was deleted because there were more revisions than spec.revisionHistoryLimit allows.
	EventRevisionPruned = "RevisionPruned"
	// EventRevisionIgnored is a warning: a ControllerRevision with the label of this object does not belong to it, can't be read, or has the
	// name that a new revision needs. Each process of the hub emits it once.
	EventRevisionIgnored = "RevisionIgnored"

	// EventCurrentRevisionIgnored is a warning: a user set status.currentRevision to a revision that cannot be the current one, and the hub
	// restored the previous value; the note gives the reason.
	EventCurrentRevisionIgnored = "CurrentRevisionIgnored"

	// EventStatusRestored is a warning: the status was lost, replaced by a backup, or changed together with its ledger. The hub restored the
	// fields that the note names. Such a change is not a command.
	EventStatusRestored = "StatusRestored"

	// EventRolloutStarted means that a rollout of the update revision began, or is being retried after an abort.
	EventRolloutStarted = "RolloutStarted"
	// EventRolloutComplete means that the update revision is the current one: every selected cluster succeeded with it, except those whose
	// failure or stuck deletion the rollout tolerates.
	EventRolloutComplete = "RolloutComplete"
	// EventRolloutStalled is a warning: the rollout does not continue by itself; the note counts and names the clusters.
	EventRolloutStalled = "RolloutStalled"
	// EventRolloutResumed means that a stalled rollout continues: clusters recovered, or the strategy or the selection changed.
	EventRolloutResumed = "RolloutResumed"
	// EventPaused means that spec.paused is true: no ManifestWork is written or deleted. The note lists the changes that are held back.
	EventPaused = "Paused"
	// EventResumed means that spec.paused is no longer true, and that the hub continues with the changes that it held back.
	EventResumed = "Resumed"

	// EventClustersUnavailable is a warning: the hub has no permission to read ManagedClusters, so it can't distinguish clusters that are
	// away from clusters that are no longer selected. The note has the remedy.
	EventClustersUnavailable = "ManagedClustersUnavailable"
	// EventObjectsNotKept is a warning: pruneStrategy is WhenAvailable, but a ManifestWork that keeps the dropped objects would exceed a
	// limit. The objects are deleted at once. The note names the field.
	EventObjectsNotKept = "DroppedObjectsNotKept"
	// EventAbortImpossible is a warning: the rollout failed, and failureStrategy is AbortAll or ReportAbort, but there is no revision to
	// restore. The note gives the reason.
	EventAbortImpossible = "AbortImpossible"
	// EventAbortIgnored is a warning: a user set status.abortedTime when nothing could be aborted, and the hub removed it; the note gives
	// the reason.
	EventAbortIgnored = "AbortIgnored"
	// EventRetryIgnored is a warning: the value of AnnotationRetry is not a time, is in the future, or is before the abort; or a user removed
	// the whole list status.failures.
	EventRetryIgnored = "RetryIgnored"

	// EventApprovalNeeded means that a decision group waits for an approval; the note names the group and the revision.
	EventApprovalNeeded = "ApprovalNeeded"
	// EventApprovalIgnored is a warning: a user changed status.approvals for another revision, for a rollout that is not in progress, or for
	// a group that requires no approval or has begun, and the hub reverted the change; the note gives the reason.
	EventApprovalIgnored = "ApprovalIgnored"

	// EventAbortEnded means that another hub rolled out the template whose rollout was aborted, and that every selected cluster succeeded
	// with it. The abort has ended.
	EventAbortEnded = "AbortEnded"
	// EventRolloutAborted is a warning: the rollout was aborted; the note names the failed clusters and the causes, or the user who set
	// status.abortedTime.
	EventRolloutAborted = "RolloutAborted"
	// EventRolloutWouldAbort is a warning: failureStrategy is ReportAbort, and AbortAll would have aborted the rollout. The note names the
	// failed clusters and the causes.
	EventRolloutWouldAbort = "RolloutWouldAbort"
	// EventRevisionHeld is a warning: the template returned to an aborted revision, and abortedRevisionPolicy Hold keeps it aborted. The
	// note gives the time and the reason for the abort.
	EventRevisionHeld = "RevisionHeld"
	// EventAbortCarriedOut means that the current revision was written to every cluster, except those that the note names.
	EventAbortCarriedOut = "AbortCarriedOut"
	// EventClustersRestored means that every selected cluster confirmed the restored revision.
	EventClustersRestored = "ClustersRestored"

	// EventWorkloadsReleased means that the object was deleted, and that its workloads stay, except on the clusters that the note names.
	EventWorkloadsReleased = "WorkloadsReleased"
	// EventWorkloadsNotReleased is a warning: ManifestWorks were already being deleted before their agents released the workloads, so the
	// workloads are deleted too. Each process of the hub emits it once.
	EventWorkloadsNotReleased = "WorkloadsNotReleased"

	// EventWorkNameTaken means that the ManifestWork of another owner has the name that this object's ManifestWork would have. The note has
	// the name that is used instead. Each process of the hub emits it once.
	EventWorkNameTaken = "WorkNameTaken"
	// EventAgentUnreached is a warning: ManifestWorks travel over a broker, and the agents of the named clusters are connected, but do not
	// receive the hub's events. It is emitted again when the clusters change.
	EventAgentUnreached = "AgentUnreached"
	// EventOlderCRD is a warning: the API server drops status.ledger, because the CRD belongs to another release. Each process of the hub
	// emits it once.
	EventOlderCRD = "OlderCRD"
	// EventHistoryUnavailable is a warning: the hub has no permission to read ControllerRevisions, so no rollout can be aborted. Each
	// process of the hub emits it once.
	EventHistoryUnavailable = "HistoryUnavailable"

	// EventSnapshotRestored means that an older version of the hub runs again, and restored lost decisions from the snapshot of its version.
	// The note names both versions.
	EventSnapshotRestored = "SnapshotRestored"
	// EventSnapshotIgnored is a warning: an older version of the hub runs again, but the snapshot of its version can't be read, or belongs to
	// another template or object. The state does not change.
	EventSnapshotIgnored = "SnapshotIgnored"
	// EventSnapshotRejected is a warning: the snapshot could not be written or restored, and the hub continues without it; the note has
	// the message from the API server.
	EventSnapshotRejected = "SnapshotRejected"
)

// Reasons of the events of the ConfigMap that holds the version of the hub.
const (
	// EventHubUpgraded means that a newer version of the hub leads; the note counts the snapshots.
	EventHubUpgraded = "HubUpgraded"
	// EventHubDowngraded means that an older version of the hub leads; the note counts the restored objects.
	EventHubDowngraded = "HubDowngraded"
	// EventDowngradeRefused is a warning: a newer version ran last, and there are no snapshots of this one. No ManifestWorkReplicaSet is
	// reconciled; the note has the remedy. Each process of the hub emits it once.
	EventDowngradeRefused = "DowngradeRefused"
	// EventSnapshotsUnavailable is a warning: the hub has no permission to write the ConfigMap, so it takes no snapshots before an
	// upgrade. Each process of the hub emits it once.
	EventSnapshotsUnavailable = "SnapshotsUnavailable"
)
