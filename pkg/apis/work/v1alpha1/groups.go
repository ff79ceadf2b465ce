package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutGroup is a decision group that gets a new revision before other clusters. Set either groupName or groupIndex.
// +kubebuilder:validation:XValidation:rule="has(self.groupName) != has(self.groupIndex)",message="set either groupName or groupIndex"
type RolloutGroup struct {
	// groupName is the name of the decision group. Set either groupName or groupIndex.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	GroupName string `json:"groupName,omitempty"`

	// groupIndex is the index of the decision group, starting at 0. Use it for a group without a name: an index can refer to another group
	// after a change to the Placement.
	// +kubebuilder:validation:Minimum=0
	// +optional
	GroupIndex *int32 `json:"groupIndex,omitempty"`

	// approval determines whether the group waits for an approval. With Required, the group begins only after a user has approved it in
	// status.approvals for the update revision. By default, it does not wait.
	// +optional
	Approval GroupApproval `json:"approval,omitempty"`

	// bakeTime is the time that must pass after the last success in the group before the next group, or the other clusters, can begin. It is
	// a duration such as 30m or 2h, at most 720h (30 days). The default is 0.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^(0|([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+)$"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('720h')",message="use a duration from 0s to 720h (30 days), such as 30m or 2h"
	// +optional
	BakeTime *metav1.Duration `json:"bakeTime,omitempty"`

	// maxConcurrency is the number of clusters in the group that can be in flight at the same time: a number from 1, or a percentage of the
	// clusters in the group, rounded up. It replaces the limit of the strategy. If it is unset, Progressive applies its own maxConcurrency,
	// and ProgressivePerGroup starts the whole group at once.
	// +kubebuilder:validation:Pattern="^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$"
	// +kubebuilder:validation:XIntOrString
	// +optional
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`

	// maxFailures is the number of clusters in the group that may fail: a number, or a percentage of the clusters in the group, rounded up.
	// It replaces the limit of the strategy, and these clusters then do not count toward that limit. If it is unset, the limit of the
	// strategy applies.
	// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:validation:XIntOrString
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
}

// GroupApproval determines whether a group waits for an approval.
// +kubebuilder:validation:Enum=Required
type GroupApproval string

const (
	// ApprovalRequired means that the group begins only after a user has approved it.
	ApprovalRequired GroupApproval = "Required"
)

// Approval allows a decision group to get one revision.
type Approval struct {
	// group is the groupName of the entry in rolloutStrategy.groups, or its groupIndex as a string.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Group string `json:"group"`
	// revision is the hash of the revision that the user approves, as in status.updateRevision. Another revision needs another approval.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Revision string `json:"revision"`
	// by is the user who approved the group, limited to 256 bytes.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
	// at is the time of the approval. If it is unset or in the future, the hub replaces it with the time at which it saw the approval.
	// +optional
	At metav1.Time `json:"at,omitzero"`
}
