package v1alpha1

import (
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// Condition types of a ManifestWorkReplicaSet. The first three are upstream's.
const (
	// ConditionPlacementVerified reports whether every Placement exists and selects clusters, and whether these clusters are known.
	// Reasons: AsExpected, PlacementDecisionNotFound, PlacementDecisionEmpty, NotAsExpected.
	ConditionPlacementVerified = upstream.ManifestWorkReplicaSetConditionPlacementVerified

	// ConditionManifestworkApplied reports whether every selected cluster has its ManifestWork as wanted.
	// Reasons: AsExpected, Processing, NotAsExpected, PlacementDecisionEmpty, InvalidManifestWorkName.
	ConditionManifestworkApplied = upstream.ManifestWorkReplicaSetConditionManifestworkApplied

	// ConditionPlacementRolledOut reports whether the rollout is over.
	// Reasons: Progressing, Complete, RolloutDegraded.
	ConditionPlacementRolledOut = upstream.ManifestWorkReplicaSetConditionPlacementRolledOut

	// ConditionProgressing says how the rollout of the update revision goes. It is False both when
	// the rollout is complete and when it does not go on; the reason says which. It is Unknown where it
	// would be True but for spec.paused.
	// Reasons: NewRevisionCreated, FoundNewRevision, NewManifestWorkAvailable, RolloutAborted,
	// ProgressDeadlineExceeded.
	ConditionProgressing = "Progressing"

	// ConditionReconciling is True while a rollout or an abort is under way, and absent in every other state. kstatus,
	// and what builds on it (Flux, Helm, kubectl wait scripts), reads it as "in progress".
	// Reasons: those of Progressing.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while the rollout makes no progress without a person: it stalled, it was aborted, or
	// the spec is invalid. It is absent in every other state, and never there together with Reconciling. kstatus reads
	// it as "failed".
	// Reasons: those of Progressing, of PlacementVerified and of ManifestworkApplied, and DowngradeRefused.
	ConditionStalled = "Stalled"

	// ConditionPaused is True while spec.paused is, and absent in every other state. The message counts what is held back.
	// Reasons: Paused.
	ConditionPaused = "Paused"

	// ConditionDeleting is True while the deletion of the object waits because spec.preserveResourcesOnDeletion is set, and
	// absent in every other state.
	// Reasons: ReleasingWorkloads, PreservingNotSupported.
	ConditionDeleting = "Deleting"
)

// Reasons of the condition types above.
const (
	// ReasonAsExpected is the good reason of PlacementVerified and ManifestworkApplied.
	ReasonAsExpected = upstream.ReasonAsExpected
	// ReasonNotAsExpected means that something is not as the spec wants it; the message names it.
	ReasonNotAsExpected = upstream.ReasonNotAsExpected
	// ReasonProcessing means that a rollout is under way (ManifestworkApplied).
	ReasonProcessing = upstream.ReasonProcessing
	// ReasonPlacementDecisionNotFound means that a Placement does not exist, or that its decisions are missing or being written.
	ReasonPlacementDecisionNotFound = upstream.ReasonPlacementDecisionNotFound
	// ReasonPlacementDecisionEmpty means that the Placements select no cluster.
	ReasonPlacementDecisionEmpty = upstream.ReasonPlacementDecisionEmpty
	// ReasonProgressing means that the rollout, or an abort of it, is under way (PlacementRolledOut).
	ReasonProgressing = upstream.ReasonProgressing
	// ReasonComplete means that every selected cluster has the update revision (PlacementRolledOut).
	ReasonComplete = upstream.ReasonComplete
	// ReasonRolloutDegraded means that the rollout stopped or was aborted (PlacementRolledOut).
	ReasonRolloutDegraded = "RolloutDegraded"
	// ReasonInvalidManifestWorkName means that the value of the owner label, namespace.name, is longer than a
	// label value may be.
	ReasonInvalidManifestWorkName = "InvalidManifestWorkName"

	// ReasonNewRevisionCreated means that the rollout is one of a template that had no revision yet.
	ReasonNewRevisionCreated = "NewRevisionCreated"
	// ReasonFoundNewRevision means that the rollout is one of a template that had a revision already: an undo.
	ReasonFoundNewRevision = "FoundNewRevision"
	// ReasonNewManifestWorkAvailable means that the rollout is complete.
	ReasonNewManifestWorkAvailable = "NewManifestWorkAvailable"
	// ReasonProgressDeadlineExceeded means that the rollout does not go on: clusters failed.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRolloutAborted means that the current revision was written back to every cluster.
	ReasonRolloutAborted = "RolloutAborted"

	// ReasonPaused means that spec.paused is true.
	ReasonPaused = "Paused"

	// ReasonDowngradeRefused means that this version of the hub does not reconcile the object, as a newer one ran last.
	ReasonDowngradeRefused = "DowngradeRefused"

	// ReasonReleasingWorkloads means that agents have yet to give up the objects that stay on their clusters.
	ReasonReleasingWorkloads = "ReleasingWorkloads"
	// ReasonPreservingNotSupported means that works travel over a broker, where nothing can be preserved.
	ReasonPreservingNotSupported = "PreservingNotSupported"
)
