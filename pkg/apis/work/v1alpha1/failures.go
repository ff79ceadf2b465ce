package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxFailures is the largest number of entries of status.failures, and of status.rejections.
const MaxFailures = 100

// MaxFailureMessage is the longest message of an entry of status.failures, in bytes.
const MaxFailureMessage = 256

// FailureReason is the reason why a cluster failed at the update revision.
type FailureReason string

// The reasons of a failure.
const (
	// FailureDeadlineExceeded means that the cluster did not succeed within progressDeadline.
	FailureDeadlineExceeded FailureReason = "DeadlineExceeded"
	// FailureDegraded means that the agent reported the ManifestWork as degraded for progressDeadline.
	FailureDegraded FailureReason = "Degraded"
	// FailureRejected means that the API server rejected the ManifestWork for progressDeadline.
	FailureRejected FailureReason = "Rejected"
	// FailureFlapping means that no success of the cluster lasted long enough to count.
	FailureFlapping FailureReason = "Flapping"
	// FailureTerminationTimedOut means that the ManifestWork has been terminating for longer than progressDeadline.
	FailureTerminationTimedOut FailureReason = "TerminationTimedOut"
	// FailureInvalidName means that a PlacementDecision names a cluster by a name that no cluster can have.
	FailureInvalidName FailureReason = "InvalidName"
	// FailureGate means that the condition of a success gate became False.
	FailureGate FailureReason = "GateFailed"
)

// ClusterFailure is a cluster that failed at the update revision. It is a record: it holds until the cluster's success at the update
// revision has settled, the rollout or the cluster is retried, or the update revision changes.
type ClusterFailure struct {
	// cluster is the name of the managed cluster. A name that no cluster can have is quoted.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement whose maxFailures applies to the cluster.
	// +optional
	Placement string `json:"placement,omitempty"`

	// since is the time at which the cluster failed, or its ManifestWork was first rejected.
	// +required
	Since metav1.Time `json:"since"`

	// reason is DeadlineExceeded, Degraded, Rejected, Flapping, TerminationTimedOut, InvalidName or GateFailed. Later releases may add
	// reasons.
	// +required
	Reason FailureReason `json:"reason"`

	// message is the message of the agent or the API server at that time, in at most 256 bytes.
	// +optional
	Message string `json:"message,omitempty"`
}

// AwayCluster is a cluster that no Placement selects, or that the rollout skips, because it is unavailable.
type AwayCluster struct {
	// cluster is the name of the managed cluster.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement that the cluster left.
	// +optional
	Placement string `json:"placement,omitempty"`

	// since is the time at which the cluster became unavailable, according to its ManagedCluster.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// skipped is true if a Placement selects the cluster, and the rollout skips it because of unavailableClusters.
	// +optional
	Skipped bool `json:"skipped,omitempty"`
}

// HeldCluster is a selected cluster that a hold or a closed window keeps from the update revision.
type HeldCluster struct {
	// cluster is the name of the managed cluster.
	// +required
	Cluster string `json:"cluster"`

	// placement is the name of the Placement that selects the cluster.
	// +optional
	Placement string `json:"placement,omitempty"`

	// reason is the reason for the hold, or the reason why the windows can't be read. It is empty if a window is closed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// until is the time at which the next window opens. It is empty for a hold, which has no end.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// State is one word for what a ManifestWorkReplicaSet does. Later releases may add states.
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
	// StateWouldAbort means that the rollout does not continue by itself, and that AbortAll would have aborted it (ReportAbort).
	StateWouldAbort State = "WouldAbort"
	// StateStalled means that the rollout does not continue by itself.
	StateStalled State = "Stalled"
	// StateRollingOut means that the rollout of the update revision is in progress.
	StateRollingOut State = "RollingOut"
	// StateComplete means that the rollout of the update revision is complete.
	StateComplete State = "Complete"
)

// IsStalled reports whether the rollout does not continue by itself, with failureStrategy ReportAbort or without.
func (s State) IsStalled() bool { return s == StateStalled || s == StateWouldAbort }
