package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationChangeCause is the annotation of a ManifestWorkReplicaSet that explains why its template changes. The hub copies it to the
// revision that it creates or reuses, as Deployments do.
const AnnotationChangeCause = "kubernetes.io/change-cause"

// MaxRevisionStatuses is the largest number of entries in status.revisions.
const MaxRevisionStatuses = 16

// RevisionState is the state of a revision. The first one that applies is used, in this order: Aborted, Progressing, Archived,
// NotReady, Available.
type RevisionState string

// The states of a revision.
const (
	// RevisionAborted means that the last rollout of the revision was aborted.
	RevisionAborted RevisionState = "Aborted"
	// RevisionProgressing means that the revision is the update revision, and its rollout is in progress.
	RevisionProgressing RevisionState = "Progressing"
	// RevisionArchived means that no ManifestWork has the revision. The hub keeps it so that the template can return to it.
	RevisionArchived RevisionState = "Archived"
	// RevisionNotReady means that the revision has not succeeded on every cluster that has it, or its rollout is stalled.
	RevisionNotReady RevisionState = "NotReady"
	// RevisionAvailable means that the revision has succeeded on every cluster that has it.
	RevisionAvailable RevisionState = "Available"
)

// RevisionStatus is one revision of a ManifestWorkReplicaSet with its state, derived from its ControllerRevision and the
// ManifestWorks.
type RevisionStatus struct {
	// name is the name of the ControllerRevision that holds the template, in the namespace of this object.
	// +required
	Name string `json:"name"`

	// hash identifies the revision in status.currentRevision, in status.updateRevision, and in the label
	// work.open-cluster-management.io/controller-hash of the ManifestWorks.
	// +required
	Hash string `json:"hash"`

	// revision is the number of the ControllerRevision. The revision of the template in the spec has the highest number: an undo gives an
	// older revision the next number.
	// +required
	Revision int64 `json:"revision"`

	// state is the state of the revision. The first one that applies is used:
	// Aborted: its last rollout was aborted.
	// Progressing: it is the update revision, and its rollout is in progress.
	// Archived: no ManifestWork has it; the hub keeps it so that you can return to it.
	// NotReady: it has not succeeded on every cluster that has it, or its rollout is stalled.
	// Available: it has succeeded on every cluster that has it.
	// Later releases may add states.
	// +required
	State RevisionState `json:"state"`

	// clusters is the number of clusters whose ManifestWork has this revision.
	// +required
	Clusters int32 `json:"clusters"`

	// reachedClusters is the largest number of clusters that had this revision when one of its rollouts ended: it was complete or aborted, or
	// another rollout replaced it. It is unset before that.
	// +optional
	ReachedClusters *int32 `json:"reachedClusters,omitempty"`

	// firstRolledOutTime is the time at which the ControllerRevision was created. If the revision was deleted and its template returned, this
	// is the time of the return.
	// +optional
	FirstRolledOutTime *metav1.Time `json:"firstRolledOutTime,omitempty"`

	// lastRolledOutTime is the time at which the last rollout of the revision began: when the revision was created, when the template
	// returned to it, or when a user retried it.
	// +optional
	LastRolledOutTime *metav1.Time `json:"lastRolledOutTime,omitempty"`

	// abortedTime is the time at which the last rollout of the revision was aborted. It is unset if that rollout was not aborted. A retry or
	// an undo to the revision removes it.
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// abortReason is the reason why the last rollout of the revision was aborted, shortened to 256 bytes. The annotation
	// work.open-cluster-management.io/record of the ControllerRevision has the full text.
	// +optional
	AbortReason string `json:"abortReason,omitempty"`

	// changeCause is the value that the annotation kubernetes.io/change-cause of this object had when the revision was created, or when the
	// template returned to it, shortened to 256 bytes. Later changes to the annotation have no effect.
	// +optional
	ChangeCause string `json:"changeCause,omitempty"`

	// createdBy is the field manager that had last written the template when the revision was created. It is empty if the manager is unknown.
	// +optional
	CreatedBy string `json:"createdBy,omitempty"`
}
