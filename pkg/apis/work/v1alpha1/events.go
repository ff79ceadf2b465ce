package v1alpha1

// Reasons of the events of a ManifestWorkReplicaSet. Each happening has one event, made when the write that says so
// succeeded; a hub that dies between the two makes none, and a restart makes none again. An event that is about a revision
// has it as its related object.
const (
	// EventRevisionCreated means that the template had no revision yet and got one.
	EventRevisionCreated = "RevisionCreated"
	// EventRevisionFound means that the template came back to an older revision: an undo.
	EventRevisionFound = "RevisionFound"
	// EventRevisionRecorded means that what another hub rolled out is recorded as a revision.
	EventRevisionRecorded = "RevisionRecorded"
	// EventRevisionPruned means that a revision was deleted because there were more than spec.revisionHistoryLimit.
	EventRevisionPruned = "RevisionPruned"
	// EventRevisionIgnored is a warning: a ControllerRevision claims to be this object's and does not count, can't be read, or has the
	// name that a revision would get. Each process of the hub says it once.
	EventRevisionIgnored = "RevisionIgnored"

	// EventCurrentRevisionIgnored is a warning: someone set status.currentRevision to a revision that cannot be the current one, and the hub
	// restored the previous value; the note says why.
	EventCurrentRevisionIgnored = "CurrentRevisionIgnored"

	// EventRolloutStarted means that a rollout of the update revision began, or is being retried after an abort.
	EventRolloutStarted = "RolloutStarted"
	// EventRolloutComplete means that the update revision is the current one: every selected cluster succeeded with it, except those whose
	// failure or stuck deletion the rollout tolerates.
	EventRolloutComplete = "RolloutComplete"
	// EventRolloutStalled is a warning: the rollout does not continue by itself; the note counts and names the clusters.
	EventRolloutStalled = "RolloutStalled"
	// EventRolloutResumed means that a stalled rollout continues: clusters recovered, or the strategy or the selection changed.
	EventRolloutResumed = "RolloutResumed"
	// EventPaused means that spec.paused is true: no ManifestWork is written or deleted. The note counts what is held back.
	EventPaused = "Paused"
	// EventResumed means that spec.paused is no longer true, and that the hub continues with what it held back.
	EventResumed = "Resumed"

	// EventClustersUnavailable is a warning: the hub may not read ManagedClusters, so that it can't tell a cluster that is away from one that
	// left; the note has the remedy.
	EventClustersUnavailable = "ManagedClustersUnavailable"
	// EventObjectsNotKept is a warning: pruneStrategy is WhenAvailable, and a work that keeps the dropped objects would exceed a bound; the
	// note names the field. They are deleted at once.
	EventObjectsNotKept = "DroppedObjectsNotKept"
	// EventAbortImpossible is a warning: the rollout failed, failureStrategy AbortAll asks for an abort, and there is no
	// revision to go back to; the note says why.
	EventAbortImpossible = "AbortImpossible"
	// EventAbortIgnored is a warning: someone set status.abortedTime where nothing can be aborted, and the hub removed it; the note says why.
	EventAbortIgnored = "AbortIgnored"
	// EventRetryIgnored is a warning: the annotation AnnotationRetry is not a time, is in the future, or is before the abort.
	EventRetryIgnored = "RetryIgnored"

	// EventAbortEnded means that another hub rolled out the template whose rollout was aborted, and that every selected cluster succeeded with it.
	EventAbortEnded = "AbortEnded"
	// EventRolloutAborted is a warning: the rollout is aborted; the note names the clusters and why they count as failed, or who set
	// status.abortedTime.
	EventRolloutAborted = "RolloutAborted"
	// EventAbortCarriedOut means that the current revision was written back to every cluster; the note names those that can't be
	// written.
	EventAbortCarriedOut = "AbortCarriedOut"
	// EventClustersRestored means that every selected cluster confirmed the revision that it was brought back to.
	EventClustersRestored = "ClustersRestored"

	// EventWorkloadsReleased means that the object is deleted and the workloads stay: every agent gave them up.
	EventWorkloadsReleased = "WorkloadsReleased"
	// EventWorkloadsNotReleased is a warning: ManifestWorks were being deleted before their agents released the workloads, which are
	// deleted with them. Each process of the hub says it once.
	EventWorkloadsNotReleased = "WorkloadsNotReleased"

	// EventWorkNameTaken means that a ManifestWork of somebody else has the name that the object's own would have; the note says what that is
	// called instead. Each process of the hub says it once.
	EventWorkNameTaken = "WorkNameTaken"
	// EventAgentUnreached is a warning: works travel over a broker, and the agents of the named clusters are there and do not get what they are
	// sent. It is made again when the clusters change.
	EventAgentUnreached = "AgentUnreached"
	// EventOlderCRD is a warning: the API server drops fields that the hub needs, because its CRD is an older one. Each
	// process of the hub says it once.
	EventOlderCRD = "OlderCRD"
	// EventFieldsLost is a warning: fields of the spec are gone since an older CRD, or that of OCM's own hub, was in place; the note has their
	// values, and what to do.
	EventFieldsLost = "FieldsLost"
	// EventHistoryUnavailable is a warning: the API server does not let the hub read ControllerRevisions, so that nothing can be
	// aborted. Each process of the hub says it once.
	EventHistoryUnavailable = "HistoryUnavailable"

	// EventSnapshotRestored means that an older version of the hub is back, and restored what was lost from the snapshot of its version; the
	// note says what.
	EventSnapshotRestored = "SnapshotRestored"
	// EventSnapshotIgnored is a warning: an older version of the hub is back, and the snapshot of its version is of another template or
	// object. The state stays as it is.
	EventSnapshotIgnored = "SnapshotIgnored"
	// EventSnapshotRejected is a warning: the snapshot could not be written or restored, and the hub continues without it; the note has the
	// API server's words.
	EventSnapshotRejected = "SnapshotRejected"
)

// Reasons of the events of the ConfigMap that holds the version of the hub.
const (
	// EventHubUpgraded means that a newer version of the hub leads; the note counts the snapshots.
	EventHubUpgraded = "HubUpgraded"
	// EventHubDowngraded means that an older version of the hub leads; the note counts what was restored.
	EventHubDowngraded = "HubDowngraded"
	// EventDowngradeRefused is a warning: a newer version ran last, and there are no snapshots of this one. No ManifestWorkReplicaSet is
	// reconciled; the note says what to do. Each process of the hub says it once.
	EventDowngradeRefused = "DowngradeRefused"
	// EventSnapshotsUnavailable is a warning: the hub may not write the ConfigMap, so that no upgrade takes snapshots. Each process of the hub
	// says it once.
	EventSnapshotsUnavailable = "SnapshotsUnavailable"
)
