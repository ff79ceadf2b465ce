package v1alpha1

import (
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// Condition types of a ManifestWorkReplicaSet. The first three are upstream's.
const (
	// ConditionPlacementVerified reports whether the clusters of every Placement are known, every rollout strategy can be followed, and at
	// least one cluster is selected.
	// Reasons: AsExpected, PlacementDecisionNotFound, PlacementDecisionEmpty, NotAsExpected.
	ConditionPlacementVerified = upstream.ManifestWorkReplicaSetConditionPlacementVerified

	// ConditionManifestworkApplied reports whether every selected cluster has the intended ManifestWork.
	// Reasons: AsExpected, Processing, NotAsExpected, PlacementDecisionEmpty, InvalidManifestWorkName.
	ConditionManifestworkApplied = upstream.ManifestWorkReplicaSetConditionManifestworkApplied

	// ConditionPlacementRolledOut reports whether the selected clusters have the update revision. Unlike Progressing, it changes when a
	// cluster joins or relapses after the rollout was complete.
	// Reasons: Progressing, Complete, RolloutDegraded.
	ConditionPlacementRolledOut = upstream.ManifestWorkReplicaSetConditionPlacementRolledOut

	// ConditionProgressing reports the rollout of the update revision. It is False both when the rollout is complete and when it does not
	// continue; the reason distinguishes the two. It is Unknown while spec.paused holds back a rollout.
	// Reasons: NewRevisionCreated, FoundNewRevision, NewManifestWorkAvailable, RolloutAborted,
	// ProgressDeadlineExceeded.
	ConditionProgressing = "Progressing"

	// ConditionReconciling is True while a rollout or an abort is in progress, and absent otherwise. kstatus, and the tools that use it
	// (Flux, Helm, scripts), interpret it as "in progress". Reasons: those of Progressing and of ManifestworkApplied.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while a user must act before the hub can continue: the rollout is stalled or was aborted, or the spec is
	// invalid. It is absent otherwise, and never present together with Reconciling. kstatus interprets it as "failed". Reasons: those of
	// Progressing, of PlacementVerified and of ManifestworkApplied, and DowngradeRefused.
	ConditionStalled = "Stalled"

	// ConditionPaused is True while spec.paused is true, and absent otherwise. The message lists the changes that are held back.
	// Reasons: Paused.
	ConditionPaused = "Paused"

	// ConditionDeleting is True while the deletion of the object waits because spec.preserveResourcesOnDeletion is set, and
	// absent otherwise.
	// Reasons: ReleasingWorkloads, PreservingNotSupported.
	ConditionDeleting = "Deleting"
)

// Reasons of the condition types above.
const (
	// ReasonAsExpected means that PlacementVerified or ManifestworkApplied is True.
	ReasonAsExpected = upstream.ReasonAsExpected
	// ReasonNotAsExpected means that the state differs from the spec; the message names the cause.
	ReasonNotAsExpected = upstream.ReasonNotAsExpected
	// ReasonProcessing means that a rollout is in progress, or that a cluster joined (ManifestworkApplied).
	ReasonProcessing = upstream.ReasonProcessing
	// ReasonPlacementDecisionNotFound means that a Placement does not exist, or that its decisions are missing or being written.
	ReasonPlacementDecisionNotFound = upstream.ReasonPlacementDecisionNotFound
	// ReasonPlacementDecisionEmpty means that the Placements select no cluster.
	ReasonPlacementDecisionEmpty = upstream.ReasonPlacementDecisionEmpty
	// ReasonProgressing means that the rollout or its abort is in progress, or that no cluster is selected (PlacementRolledOut).
	ReasonProgressing = upstream.ReasonProgressing
	// ReasonComplete means that every selected cluster has the update revision, except those whose failure the rollout tolerates
	// (PlacementRolledOut).
	ReasonComplete = upstream.ReasonComplete
	// ReasonRolloutDegraded means that the rollout is stalled or was aborted, or that a cluster relapsed after it was complete
	// (PlacementRolledOut).
	ReasonRolloutDegraded = "RolloutDegraded"
	// ReasonInvalidManifestWorkName means that the value of the owner label, namespace.name, exceeds the length limit of
	// a label value.
	ReasonInvalidManifestWorkName = "InvalidManifestWorkName"

	// ReasonNewRevisionCreated means that a new revision is being rolled out.
	ReasonNewRevisionCreated = "NewRevisionCreated"
	// ReasonFoundNewRevision means that an earlier revision, to which the template returned, is being rolled out.
	ReasonFoundNewRevision = "FoundNewRevision"
	// ReasonNewManifestWorkAvailable means that the rollout is complete.
	ReasonNewManifestWorkAvailable = "NewManifestWorkAvailable"
	// ReasonProgressDeadlineExceeded means that the rollout is stalled, or that its abort is in progress.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRolloutAborted means that the rollout was aborted, and that the current revision was written to every cluster whose ManifestWork
	// can be written.
	ReasonRolloutAborted = "RolloutAborted"

	// ReasonPaused means that spec.paused is true.
	ReasonPaused = "Paused"

	// ReasonDowngradeRefused means that this version of the hub does not reconcile the object, because a newer version ran last.
	ReasonDowngradeRefused = "DowngradeRefused"

	// ReasonReleasingWorkloads means that agents have not yet released all objects that stay on their clusters.
	ReasonReleasingWorkloads = "ReleasingWorkloads"
	// ReasonPreservingNotSupported means that ManifestWorks travel over a broker, where workloads can't be preserved.
	ReasonPreservingNotSupported = "PreservingNotSupported"
)
