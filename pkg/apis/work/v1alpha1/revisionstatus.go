package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationChangeCause holds, on a ManifestWorkReplicaSet, why its template changes, for a person. The hub copies it to the revision
// that it creates or reuses, as Deployments do (R25).
const AnnotationChangeCause = "kubernetes.io/change-cause"

// MaxRevisionStatuses is how many revisions status.revisions has at most (R25).
const MaxRevisionStatuses = 16

// RevisionState is where a revision is in its life (R25). Of several states that apply, the first in this order counts: Aborted,
// Progressing, Archived, NotReady, Available.
type RevisionState string

// The states of a revision.
const (
	// RevisionAborted means that the last rollout of the revision was aborted.
	RevisionAborted RevisionState = "Aborted"
	// RevisionProgressing means that the revision is the update revision, and that its rollout is under way.
	RevisionProgressing RevisionState = "Progressing"
	// RevisionArchived means that no ManifestWork has the revision: it is kept to go back to.
	RevisionArchived RevisionState = "Archived"
	// RevisionNotReady means that the revision has not succeeded on every cluster that has it, or that its rollout is stalled.
	RevisionNotReady RevisionState = "NotReady"
	// RevisionAvailable means that the revision has succeeded on every cluster that has it.
	RevisionAvailable RevisionState = "Available"
)

// RevisionStatus is one revision of a ManifestWorkReplicaSet, and where it is in its life. All of it is derived from the ControllerRevision
// and the ManifestWorks.
type RevisionStatus struct {
	// name of the ControllerRevision, in the namespace of this object. It holds the template.
	// +required
	Name string `json:"name"`

	// hash is the short name of the revision: status.currentRevision, status.updateRevision and the label
	// work.open-cluster-management.io/controller-hash of the ManifestWorks have it.
	// +required
	Hash string `json:"hash"`

	// revision is the number of the ControllerRevision. The largest is that of today's template; an undo gives an older revision
	// the next number.
	// +required
	Revision int64 `json:"revision"`

	// state is where the revision is in its life. The first that applies counts:
	// Aborted: its last rollout was aborted.
	// Progressing: it is the update revision, and its rollout is under way.
	// Archived: no ManifestWork has it; it is kept to go back to.
	// NotReady: it has not succeeded on every cluster that has it, or its rollout is stalled.
	// Available: it has succeeded on every cluster that has it.
	// Later releases may add states.
	// +required
	State RevisionState `json:"state"`

	// clusters is how many clusters have a ManifestWork with this revision.
	// +required
	Clusters int32 `json:"clusters"`

	// reachedClusters is the most clusters that had this revision when its last rollout was aborted or complete.
	// +optional
	ReachedClusters *int32 `json:"reachedClusters,omitempty"`

	// firstRolledOutTime is when the revision was created. One whose template returned after it had been deleted keeps the time of its first creation.
	// +optional
	FirstRolledOutTime *metav1.Time `json:"firstRolledOutTime,omitempty"`

	// lastRolledOutTime is when its last rollout began: when it was created, when the template came back to it (an undo), or when
	// a person retried it.
	// +optional
	LastRolledOutTime *metav1.Time `json:"lastRolledOutTime,omitempty"`

	// abortedTime is when its last rollout was aborted. A retry and an undo to the revision remove it.
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// abortReason is why its last rollout was aborted, in 256 bytes at most. The whole of it is in the annotation
	// work.open-cluster-management.io/revision-abort-reason of the ControllerRevision.
	// +optional
	AbortReason string `json:"abortReason,omitempty"`

	// changeCause is what the annotation kubernetes.io/change-cause of this object said when the revision was created, or when the
	// template came back to it, in 256 bytes at most. A later change of the annotation does not change it.
	// +optional
	ChangeCause string `json:"changeCause,omitempty"`

	// createdBy is the field manager that owned the template when the revision was created.
	// +optional
	CreatedBy string `json:"createdBy,omitempty"`
}
