package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// ManifestWorkReplicaSetSummary counts the ManifestWorks by their conditions, as in OCM, and the selected clusters by their state in
// the rollout of the update revision.
type ManifestWorkReplicaSetSummary struct {
	upstream.ManifestWorkReplicaSetSummary `json:",inline"`

	// failed is the number of selected clusters that failed at the update revision, or whose old ManifestWork is stuck deleting.
	// status.failures names up to 100 of them.
	// +optional
	Failed int `json:"failed,omitempty"`

	// waiting is the number of selected clusters whose turn has not come, or whose old ManifestWork is still being deleted. Held clusters are
	// not included. It is 0 if the rollout was aborted.
	// +optional
	Waiting int `json:"waiting,omitempty"`

	// held is the number of selected clusters that do not get the update revision because of a hold or a closed window. status.held names up
	// to 100 of them. It is 0 if the rollout was aborted.
	// +optional
	Held int `json:"held,omitempty"`

	// inFlight is the number of selected clusters that were started, and have neither succeeded nor failed. It includes degraded and rejected
	// clusters. It is 0 if the rollout was aborted.
	// +optional
	InFlight int `json:"inFlight,omitempty"`
}

// PlacementSummary is the summary of one placementRef.
type PlacementSummary struct {
	// name is the name of the Placement.
	Name string `json:"name"`

	// availableDecisionGroups is a text with the number of decision groups of the Placement, the number of its clusters whose ManifestWork
	// has the update revision, and the number of all its clusters, such as "2 (5 / 8 clusters applied)".
	AvailableDecisionGroups string `json:"availableDecisionGroups"`

	// summary counts the ManifestWorks and clusters of this placementRef.
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// haltedTime is the time at which the hub stopped starting clusters of this placementRef, because more than maxFailures of its clusters
	// had failed, were degraded or were stuck. The hub removes it when the number is within the limit again, when the rollout is retried, and
	// when another rollout begins.
	// +optional
	HaltedTime *metav1.Time `json:"haltedTime,omitempty"`

	// counted is the largest number of clusters of this placementRef since the rollout began. A percentage in maxFailures refers to this
	// number when the hub decides whether the rollout has failed, so a Placement that shrinks causes no failure.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Counted int32 `json:"counted,omitempty"`
}
