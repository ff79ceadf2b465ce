package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// ManifestWorkReplicaSet distributes one ManifestWork template to the clusters that Placements select. It keeps its templates as
// revisions, and can return to them.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=manifestworkreplicasets,shortName=mwrs,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Placement",type="string",JSONPath=".status.conditions[?(@.type==\"PlacementVerified\")].reason",description="Reason"
// +kubebuilder:printcolumn:name="Found",type="string",JSONPath=".status.conditions[?(@.type==\"PlacementVerified\")].status",description="Configured"
// +kubebuilder:printcolumn:name="ManifestWorks",type="string",JSONPath=".status.conditions[?(@.type==\"ManifestworkApplied\")].reason",description="Reason"
// +kubebuilder:printcolumn:name="Applied",type="string",JSONPath=".status.conditions[?(@.type==\"ManifestworkApplied\")].status",description="Applied"
// +kubebuilder:printcolumn:name="Current",type="string",JSONPath=".status.currentRevision",description="Hash of the stable revision"
// +kubebuilder:printcolumn:name="Update",type="string",JSONPath=".status.updateRevision",description="Hash of the revision of the template in the spec"
// +kubebuilder:printcolumn:name="Updated",type="integer",JSONPath=".status.summary.updated",description="Clusters that succeeded at the update revision"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.summary.desiredTotal",description="Selected clusters"
// +kubebuilder:printcolumn:name="RolledOut",type="string",JSONPath=".status.conditions[?(@.type==\"PlacementRolledOut\")].reason",description="Progress of the rollout"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="State of the object"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ManifestWorkReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template, and the Placements that select its clusters.
	Spec ManifestWorkReplicaSetSpec `json:"spec,omitempty"`

	// status is the last observed state. The hub writes it. Until the hub has seen the object, observedGeneration is -1, so that
	// tools that compute a status do not consider an object without conditions reconciled.
	// +kubebuilder:default={"observedGeneration":-1}
	Status ManifestWorkReplicaSetStatus `json:"status,omitempty"`
}

// ManifestWorkReplicaSetSpec is the desired state of the selected clusters.
type ManifestWorkReplicaSetSpec struct {
	// manifestWorkTemplate is the spec of the ManifestWork of each selected cluster. A change that alters its meaning creates a new
	// revision, and starts a rollout.
	ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`

	// placementRefs name the Placements, in the namespace of this object, that select the clusters. A cluster that several of them
	// select belongs to the first. 1 to 64 entries are allowed. If an object was stored with more, only the first 64 count, and no
	// ManifestWork is deleted.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +required
	PlacementRefs []LocalPlacementReference `json:"placementRefs"`

	// cascadeDeletionPolicy determines whether this object is deleted before its ManifestWorks (Background, the default) or after
	// they are gone (Foreground).
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum=Background;Foreground
	// +kubebuilder:validation:Required
	// +optional
	CascadeDeletionPolicy upstream.CascadeDeletionPolicy `json:"cascadeDeletionPolicy,omitempty"`

	// preserveResourcesOnDeletion keeps the workloads on the clusters when this object is deleted. The default is false. Each agent
	// releases the objects of its ManifestWork; after the agent has confirmed this, the hub deletes the ManifestWork. This object
	// stays until every agent has answered, and its condition Deleting names the clusters that it waits for. To delete without
	// waiting, set the field to false. It only applies to the deletion of this object: objects that leave the template, and the
	// workloads of clusters that are no longer selected, are deleted as usual. If ManifestWorks travel over a broker, nothing can be
	// preserved, and the deletion waits until the field is false.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// revisionHistoryLimit is the number of revisions to keep in addition to the live ones: the current revision, the update
	// revision, and those that a ManifestWork has. It is between 0 (keep none) and 100; the default is 10. If an object was stored
	// with a higher limit, 100 applies.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// paused stops all writes of ManifestWorks: while it is true, the hub creates, changes and deletes none of them, so no rollout,
	// abort, repair or removal continues. The default is false. The status is still updated, and deadlines continue. Several edits
	// of the template during a pause become one revision. The condition Paused counts the changes that are held back. If this object
	// is deleted during a pause, its ManifestWorks are deleted too. A change of this field does not create a revision.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// pruneStrategy determines when a cluster loses the objects that a new revision lacks. Immediate, the default, deletes them when
	// the cluster gets the new revision. WhenAvailable keeps them until the new revision is available on that cluster. A change of
	// this field does not start a rollout.
	// +optional
	PruneStrategy PruneStrategy `json:"pruneStrategy,omitempty"`

	// rollbackWindow selects the undos that are written to every cluster at once. If it is unset, every undo follows the rollout
	// strategies.
	// +optional
	RollbackWindow *RollbackWindow `json:"rollbackWindow,omitempty"`

	// abortedRevisionPolicy determines what happens if the template returns to a revision whose last rollout was aborted. Retry, the
	// default, rolls it out again. Hold keeps it aborted: no cluster gets it until a user retries it. Use Hold if a GitOps tool or a
	// pipeline writes the template. It applies to a revision that is still in the history, and when its template arrives.
	// +optional
	AbortedRevisionPolicy AbortedRevisionPolicy `json:"abortedRevisionPolicy,omitempty"`
}

// AbortedRevisionPolicy determines what happens if the template returns to an aborted revision.
// +kubebuilder:validation:Enum=Retry;Hold
type AbortedRevisionPolicy string

const (
	// RetryAborted means that the revision is rolled out again.
	RetryAborted AbortedRevisionPolicy = "Retry"
	// HoldAborted means that the revision stays aborted until a user retries it.
	HoldAborted AbortedRevisionPolicy = "Hold"
)

// RollbackWindow selects the undos that are written to every cluster at once.
type RollbackWindow struct {
	// revisions is a number N between 0 and 100. An undo to one of the last N revisions that were current is written to every cluster
	// at once. A deleted or aborted revision does not qualify. If it is unset or 0, every undo follows the rollout strategies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Revisions *int32 `json:"revisions,omitempty"`
}

// PruneStrategy determines when a cluster loses the objects that a new revision lacks.
// +kubebuilder:validation:Enum=Immediate;WhenAvailable
type PruneStrategy string

const (
	// PruneImmediate means that a cluster loses the objects when it gets the new revision, as with OCM.
	PruneImmediate PruneStrategy = "Immediate"
	// PruneWhenAvailable means that a cluster keeps the objects until the new revision is available there.
	PruneWhenAvailable PruneStrategy = "WhenAvailable"
)

// LocalPlacementReference names a Placement, and the strategy for its clusters.
type LocalPlacementReference struct {
	// name is the name of a Placement in the namespace of this object. It must not be empty.
	// +required
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// rolloutStrategy determines how many clusters get a new revision at the same time, and when a cluster has failed. By default,
	// all clusters get it at once, and none of them fails.
	// +optional
	// +kubebuilder:default={type: All, all: {progressDeadline: None}}
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy"`
}

// RolloutStrategy is OCM's rollout strategy, and the reaction to its failure.
type RolloutStrategy struct {
	clusterv1alpha1.RolloutStrategy `json:",inline"`

	// failureStrategy is the reaction to a failed rollout. AbortAll writes the stable revision (status.currentRevision) to every cluster of
	// every placementRef at once, if more than maxFailures clusters did not succeed within progressDeadline. If it is unset, a failed rollout
	// stops where it is. ReportAbort also stops it, and reports when AbortAll would have aborted it. AbortAll and ReportAbort have no effect
	// if progressDeadline is None or maxFailures is 100%. Be careful with AbortAll if the template has CustomResourceDefinitions: the return
	// to an older definition can lose data.
	// +optional
	FailureStrategy FailureStrategy `json:"failureStrategy,omitempty"`

	// unavailableClusters determines what happens with selected clusters that are unavailable. Count, the default, treats them like
	// others: they get the update revision, and fail at progressDeadline. Skip starts nothing there, does not wait for them, and counts
	// them toward no limit. When such a cluster has been available for a minute, it gets the revision under the strategy. An abort
	// reaches it all the same. A cluster that has become unavailable with the update revision before it succeeded is not skipped,
	// because the revision may be the cause. Skip requires that the hub can read ManagedClusters, and has no effect over a broker.
	// +optional
	UnavailableClusters UnavailableClusters `json:"unavailableClusters,omitempty"`

	// groups are decision groups of the Placement that get a new revision before all other clusters, one after the other in the order of the
	// list. After the last group, the other clusters follow under the strategy. groups requires the type Progressive or ProgressivePerGroup,
	// without mandatoryDecisionGroups. At most 16 entries are allowed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Groups []RolloutGroup `json:"groups,omitempty"`

	// successGates are conditions of a cluster's ManifestWork that must be True before the cluster succeeds, at most 8. A condition that is
	// missing or Unknown keeps the cluster in progress until progressDeadline. A condition that becomes False fails the cluster at once. Gates
	// do not hold back an abort, a return to the current revision, or any cluster after the rollout is complete.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=conditionType
	// +optional
	SuccessGates []SuccessGate `json:"successGates,omitempty"`
}

// UnavailableClusters determines what happens with selected clusters that are unavailable.
// +kubebuilder:validation:Enum=Count;Skip
type UnavailableClusters string

const (
	// CountUnavailable means that unavailable clusters are treated like others.
	CountUnavailable UnavailableClusters = "Count"
	// SkipUnavailable means that the rollout neither starts unavailable clusters nor waits for them.
	SkipUnavailable UnavailableClusters = "Skip"
)

// FailureStrategy is the reaction to a failed rollout.
// +kubebuilder:validation:Enum=AbortAll;ReportAbort
type FailureStrategy string

const (
	// AbortAll means that every cluster of the object returns to the current revision at once.
	AbortAll FailureStrategy = "AbortAll"
	// ReportAbort means that the hub reports when AbortAll would have aborted the rollout. No cluster returns to the current revision.
	ReportAbort FailureStrategy = "ReportAbort"
)

// MaxPlacementRefs is the number of placementRefs that count. If an object was stored with more, the first ones count.
const MaxPlacementRefs = 64

// DefaultRevisionHistoryLimit is used if spec.revisionHistoryLimit is unset, as in objects that an older CRD stored.
const DefaultRevisionHistoryLimit int32 = 10

// MaxRevisionHistoryLimit is the largest number of revisions that are kept in addition to the live ones, even if an object was stored
// with a higher spec.revisionHistoryLimit.
const MaxRevisionHistoryLimit = 100

// ManifestWorkReplicaSetStatus is the last observed state.
type ManifestWorkReplicaSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are PlacementVerified, ManifestworkApplied, Progressing and PlacementRolledOut, and, only while they are True,
	// Reconciling, Stalled, Paused and Deleting. Ignore a condition whose observedGeneration differs from metadata.generation.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// summary counts the ManifestWorks and clusters of all placementRefs.
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// placementSummary counts the ManifestWorks and clusters of each placementRef.
	PlacementsSummary []PlacementSummary `json:"placementSummary"`

	// collisionCount is the number of times that the name of a new revision was taken by another object. It changes the hash of
	// later revisions.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// currentRevision is the hash of the stable revision: the last one whose rollout was complete. An abort restores it. It is empty
	// before the first complete rollout.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the hash of the revision of the template in the spec.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// abortedTime is the time at which the rollout of updateRevision was aborted. Set it to abort a rollout by hand; remove it to
	// roll out the same revision again. The hub removes it when a new rollout starts, and if there is nothing to abort.
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// revisions are the revisions of this object with their states, newest first, at most 16: the current revision, the update
	// revision, those that ManifestWorks have, then the newest. The list is empty if the hub may not read ControllerRevisions.
	// +listType=map
	// +listMapKey=name
	// +optional
	Revisions []RevisionStatus `json:"revisions,omitempty"`

	// state is one word for what this object does: Deleting, Invalid, Paused, Aborting, Aborted, WouldAbort, Stalled,
	// RollingOut or Complete. The first one that applies is used. Later releases may add states.
	// +optional
	State State `json:"state,omitempty"`

	// failures are clusters that failed at the update revision, sorted by name. The hub adds entries until they exceed maxFailures,
	// at most 100; summary.failed counts all failed clusters. An entry stays until the cluster has succeeded at the update revision
	// for long enough. Remove an entry to retry that cluster. An empty list retries all; a removed list is put back.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Failures []ClusterFailure `json:"failures,omitempty"`

	// rejections are clusters whose ManifestWork the API server rejects, sorted by name, at most 100. They are in flight. After
	// progressDeadline, a rejected cluster moves to failures.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Rejections []ClusterFailure `json:"rejections,omitempty"`

	// away are clusters that no Placement selects because they are unavailable, sorted by name, at most 100. Each keeps its
	// ManifestWork until its ManagedCluster is deleted, or until it has been available for a minute and is still not selected. With
	// unavailableClusters: Skip, the list also has the selected clusters that are skipped.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Away []AwayCluster `json:"away,omitempty"`

	// held are selected clusters that a hold or a closed window keeps from the update revision, sorted by name, at most 100.
	// summary.held counts all of them.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Held []HeldCluster `json:"held,omitempty"`

	// approvals are the decision groups that users approved for updateRevision. Add an entry to approve a group that waits; remove it to
	// withdraw the approval of a group that has not begun. The hub removes the entries when another rollout begins.
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Approvals []Approval `json:"approvals,omitempty"`

	// awaitingApproval are the decision groups that wait only for an approval, sorted, at most 100.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +optional
	AwaitingApproval []string `json:"awaitingApproval,omitempty"`

	// abortedBy is the user who asked for the abort, in at most 256 bytes. Set it together with abortedTime; the hub copies it to
	// the revision.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortedBy string `json:"abortedBy,omitempty"`

	// abortReason is the reason for the abort, in at most 256 bytes. Set it together with abortedTime; the hub copies it to the
	// revision.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortReason string `json:"abortReason,omitempty"`

	// ledger holds all decisions of the hub about this object, as JSON. Do not change it: the hub writes it together with the fields that
	// it decides, and keeps a copy on a ControllerRevision.
	// +optional
	Ledger string `json:"ledger,omitempty"`
}

// ManifestWorkReplicaSetList is a list of ManifestWorkReplicaSets.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type ManifestWorkReplicaSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ManifestWorkReplicaSet `json:"items"`
}
