package v1alpha1

import (
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// Labels and annotations of the objects that a ManifestWorkReplicaSet owns.
const (
	// LabelReplicaSet holds the owner of a ManifestWork or ControllerRevision as "<namespace>.<name>".
	LabelReplicaSet = upstream.ManifestWorkReplicaSetControllerNameLabelKey
	// LabelOwnerHash holds, on a ManifestWork, OwnerHash of its owner. OCM's hub will write it once ocm#1684 is merged.
	LabelOwnerHash = "work.open-cluster-management.io/ownerkey-hash"
	// LabelPlacement holds the name of the Placement that a ManifestWork's cluster belongs to.
	LabelPlacement = upstream.ManifestWorkReplicaSetPlacementNameLabelKey
	// LabelControllerHash holds the hash of the revision that a ManifestWork has, or of the ControllerRevision itself.
	LabelControllerHash = "work.open-cluster-management.io/controller-hash"

	// AnnotationOwner holds, on a ManifestWork, its owner as "<namespace>/<name>". It is valid only together with LabelOwnerHash.
	AnnotationOwner = "work.open-cluster-management.io/manifestworkreplicaset-owner"

	// AnnotationAppliedAt holds the time at which the hub wrote the revision that a ManifestWork has, in RFC 3339 with nanoseconds. Every
	// write that changes the work's generation renews it.
	AnnotationAppliedAt = "work.open-cluster-management.io/revision-applied-at"
	// AnnotationAccepted holds, on a ManifestWork, the SHA-256 digest of the spec that the hub requested, a slash, and the generation that
	// the write creates. If the API server stores a different spec, the SHA-256 digest of the stored spec replaces the generation, so that a
	// hub that starts later does not write the work again.
	AnnotationAccepted = "work.open-cluster-management.io/revision-accepted"
	// AnnotationDecisionGroup holds, as "<index>/<name>", the decision group of a ManifestWork's cluster when the revision was written. A
	// cluster that leaves its Placement is still counted in that group.
	AnnotationDecisionGroup = "work.open-cluster-management.io/revision-decision-group"

	// AnnotationRetry holds, on a ManifestWorkReplicaSet, a time in RFC 3339. Aborts and failures up to that time are retried, once. It is for
	// Git, from which no status can be written.
	AnnotationRetry = "work.open-cluster-management.io/retry"

	// AnnotationGeneration holds the generation of the ManifestWorkReplicaSet from which a revision was created.
	AnnotationGeneration = "work.open-cluster-management.io/generation"
	// AnnotationRecord holds, on a revision, the hub's record of the revision and its rollouts, as JSON. For its fields, see
	// Record in pkg/revision.
	AnnotationRecord = "work.open-cluster-management.io/record"
	// AnnotationLedger is the annotation of a revision that holds the copy of status.ledger.
	AnnotationLedger = "work.open-cluster-management.io/ledger"
	// AnnotationKeptRevision holds, on a ManifestWork, the hash of the revision whose objects the work keeps beside its own.
	AnnotationKeptRevision = "work.open-cluster-management.io/kept-revision"
	// AnnotationCopiedLabels holds, on a ManifestWork, the keys of the labels that were copied from its owner, separated by commas. If the
	// owner loses such a label, the work also loses it. Labels that others set stay.
	AnnotationCopiedLabels = "work.open-cluster-management.io/copied-labels"

	// AnnotationSnapshotPrefix is the prefix of the key of a snapshot, on a ManifestWorkReplicaSet. It is followed by the version of the hub
	// whose state the snapshot holds. The value is JSON.
	AnnotationSnapshotPrefix = "rollback.work.open-cluster-management.io/"

	// Finalizer keeps a ManifestWorkReplicaSet until its ManifestWorks are deleted.
	Finalizer = upstream.ManifestWorkReplicaSetFinalizer
)

// The rules of a ManagedCluster that determine when rollouts may start on it.
const (
	// AnnotationHold is an annotation of a ManagedCluster: no rollout starts on that cluster. The value is the reason.
	AnnotationHold = "work.open-cluster-management.io/hold"
	// AnnotationWindow is an annotation of a ManagedCluster: rollouts start on that cluster only within these windows, such as "Europe/Berlin
	// Mon-Fri 22:00-05:00". Several windows are separated by semicolons.
	AnnotationWindow = "work.open-cluster-management.io/window"
	// ClaimHold and ClaimWindow are ClusterClaims with the same meaning, which a cluster reports itself.
	ClaimHold   = "hold.work.open-cluster-management.io"
	ClaimWindow = "window.work.open-cluster-management.io"
)
