package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxFailures is the largest number of entries in status.failures, and of status.rejections.
const MaxFailures = 100

// MaxFailureMessage is the longest message of an entry in status.failures, in bytes.
const MaxFailureMessage = 256

// FailureReason is the reason why a cluster failed at the update revision.
type FailureReason string

// The reasons for a failure.
const (
	// FailureDeadlineExceeded means that the cluster did not succeed within progressDeadline.
	FailureDeadlineExceeded FailureReason = "DeadlineExceeded"
	// FailureDegraded means that the agent reported the ManifestWork as degraded for the whole progressDeadline.
	FailureDegraded FailureReason = "Degraded"
	// FailureRejected means that the API server rejected the ManifestWork for the whole progressDeadline, and once more after it.
	FailureRejected FailureReason = "Rejected"
	// FailureFlapping means that the cluster succeeded, but did not stay healthy long enough within 2 * (progressDeadline + minSuccessTime).
	FailureFlapping FailureReason = "Flapping"
	// FailureTerminationTimedOut means that the ManifestWork has been terminating for longer than progressDeadline.
	FailureTerminationTimedOut FailureReason = "TerminationTimedOut"
	// FailureInvalidName means that a PlacementDecision contains a cluster name that is not valid.
	FailureInvalidName FailureReason = "InvalidName"
	// FailureGate means that the condition of a success gate became False.
	FailureGate FailureReason = "GateFailed"
)

// ClusterFailure is a cluster that failed at the update revision, or whose ManifestWork the API server rejects. A failure is a record: it
// stays until the success of the cluster at the update revision has settled, the rollout or the cluster is retried, or another rollout
// begins.
type ClusterFailure struct {
	// cluster is the name of the managed cluster. An invalid name is shown in quotes.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement whose maxFailures applies to the cluster.
	// +optional
	Placement string `json:"placement,omitempty"`

	// since is the time at which the cluster failed. In status.rejections, it is the time at which the API server first rejected the
	// ManifestWork.
	// +required
	Since metav1.Time `json:"since"`

	// reason is DeadlineExceeded, Degraded, Rejected, Flapping, TerminationTimedOut, InvalidName or GateFailed. In status.rejections, it is
	// Rejected. Later releases may add reasons.
	// +required
	Reason FailureReason `json:"reason"`

	// message is the message from the agent or the API server at that time, shortened to 256 bytes.
	// +optional
	Message string `json:"message,omitempty"`
}

// AwayCluster is an unavailable cluster that no Placement selects, or that the rollout skips.
type AwayCluster struct {
	// cluster is the name of the managed cluster.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement that selected the cluster before it became unavailable. If skipped is true, the Placement still
	// selects it.
	// +optional
	Placement string `json:"placement,omitempty"`

	// since is the time at which the cluster became unavailable, according to its ManagedCluster. It is unset if that time is unknown.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// skipped is true if a Placement selects the cluster, and the rollout skips it because unavailableClusters is Skip.
	// +optional
	Skipped bool `json:"skipped,omitempty"`
}

// HeldCluster is a selected cluster that does not get the update revision because of a hold or a closed window.
type HeldCluster struct {
	// cluster is the name of the managed cluster.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement that selects the cluster.
	// +optional
	Placement string `json:"placement,omitempty"`

	// reason is the reason for the hold, or the problem if the windows can't be read. It is empty if the windows are closed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// until is the time at which the next window opens. It is unset for a hold, because a hold has no end.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// State summarizes the status of a ManifestWorkReplicaSet in one word. Later releases may add states.
type State string

// The states. The first one that applies is used, in this order.
const (
	// StateDeleting means that the object is being deleted.
	StateDeleting State = "Deleting"
	// StateInvalid means that the spec can't be rolled out.
	StateInvalid State = "Invalid"
	// StatePaused means that spec.paused is true.
	StatePaused State = "Paused"
	// StateAborting means that the rollout was aborted, and some ManifestWorks are not restored yet.
	StateAborting State = "Aborting"
	// StateAborted means that the rollout was aborted, and every ManifestWork that can be written was restored.
	StateAborted State = "Aborted"
	// StateWouldAbort means that the rollout does not continue by itself, and AbortAll would have aborted it (ReportAbort).
	StateWouldAbort State = "WouldAbort"
	// StateStalled means that the rollout does not continue by itself, or this version of the hub does not reconcile the object.
	StateStalled State = "Stalled"
	// StateRollingOut means that the rollout of the template in the spec is in progress, or about to begin.
	StateRollingOut State = "RollingOut"
	// StateComplete means that the rollout of the update revision is complete.
	StateComplete State = "Complete"
)

// IsStalled reports whether the rollout does not continue by itself, with failureStrategy ReportAbort or without.
func (s State) IsStalled() bool { return s == StateStalled || s == StateWouldAbort }
