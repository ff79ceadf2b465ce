package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// ManifestWorkReplicaSetSummary counts the ManifestWorks by their conditions, as in OCM, and the selected clusters by their state in
// the rollout of the update revision.
type ManifestWorkReplicaSetSummary struct {
	upstream.ManifestWorkReplicaSetSummary `json:",inline"`

	// failed is the number of clusters that have failed at the update revision. status.failures names them.
	// +optional
	Failed int `json:"failed,omitempty"`

	// waiting is the number of selected clusters that do not have the update revision yet.
	// +optional
	Waiting int `json:"waiting,omitempty"`

	// held is the number of selected clusters that a hold or a closed window keeps from the update revision.
	// +optional
	Held int `json:"held,omitempty"`

	// inFlight is the number of selected clusters that were started, and have neither succeeded nor failed.
	// +optional
	InFlight int `json:"inFlight,omitempty"`
}

// PlacementSummary is the summary of one placementRef.
type PlacementSummary struct {
	// name is the name of the Placement.
	Name string `json:"name"`

	// availableDecisionGroups counts the decision groups of the Placement and its clusters that have the update revision.
	AvailableDecisionGroups string `json:"availableDecisionGroups"`

	// summary counts the ManifestWorks and clusters of this placementRef.
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// haltedTime is the time since which the hub starts no further cluster of this placementRef, because too many have failed. It is
	// removed when the failures are within maxFailures again, when the rollout is retried, and when the update revision changes.
	// +optional
	HaltedTime *metav1.Time `json:"haltedTime,omitempty"`

	// counted is the largest number of clusters of this placementRef since the rollout began. A percentage in maxFailures applies to
	// this number when the hub decides whether the rollout has failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Counted int32 `json:"counted,omitempty"`
}
