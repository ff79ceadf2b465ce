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

	// spec is the desired state: the template, and the Placements that select the clusters.
	Spec ManifestWorkReplicaSetSpec `json:"spec,omitempty"`

	// status is the last observed state, written by the hub. Until the hub has seen the object, observedGeneration is -1, so that tools that
	// compute a status treat the object as in progress.
	// +kubebuilder:default={"observedGeneration":-1}
	Status ManifestWorkReplicaSetStatus `json:"status,omitempty"`
}

// ManifestWorkReplicaSetSpec is the desired state of the selected clusters.
type ManifestWorkReplicaSetSpec struct {
	// manifestWorkTemplate is the spec of the ManifestWork that each selected cluster gets. A change to its content starts a rollout: of a
	// new revision, or of the earlier revision that has the same content.
	ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`

	// placementRefs lists the Placements, in the namespace of this object, that select the clusters. If several of them select a cluster, it
	// belongs to the first. The list has 1 to 64 entries. If an object was stored with more, only the first 64 count, and no ManifestWork is
	// deleted.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +required
	PlacementRefs []LocalPlacementReference `json:"placementRefs"`

	// cascadeDeletionPolicy determines when this object is deleted: before its ManifestWorks (Background, the default), or after all of them
	// are gone (Foreground).
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum=Background;Foreground
	// +kubebuilder:validation:Required
	// +optional
	CascadeDeletionPolicy upstream.CascadeDeletionPolicy `json:"cascadeDeletionPolicy,omitempty"`

	// preserveResourcesOnDeletion keeps the workloads on the clusters when this object is deleted. The default is false. The hub waits until
	// the agent of each cluster has released the applied objects, and then deletes the ManifestWork. Until then, this object stays,
	// regardless of cascadeDeletionPolicy, and the condition Deleting names the clusters. To stop waiting, set the field to false: clusters
	// that have not released their objects lose them. The field has no effect on objects that leave the template, or on clusters that are no
	// longer selected. Over a broker, workloads can't be preserved: the deletion waits until the field is false.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// revisionHistoryLimit is the number of revisions to keep in addition to the live ones: the current revision, the update revision, and
	// each revision whose objects a ManifestWork has. The default is 10, the minimum is 0, and the maximum is 100. If an object was stored
	// with a higher limit, 100 applies.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// paused stops all writes and deletions of ManifestWorks, and with them rollouts, aborts, repairs and removals. The default is false. The
	// hub still updates the status, and deadlines still run. After the pause, one rollout covers all edits to the template. The condition
	// Paused lists the changes that are held back. If this object is deleted during a pause, its ManifestWorks are deleted too. A change to
	// this field does not create a revision.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// pruneStrategy determines when the objects that a new revision no longer has are deleted from a cluster. With Immediate, the default,
	// they are deleted when the cluster gets the new revision. With WhenAvailable, they stay until the new revision is available on that
	// cluster. A change to this field does not start a rollout.
	// +optional
	PruneStrategy PruneStrategy `json:"pruneStrategy,omitempty"`

	// rollbackWindow determines which undos reach every cluster at once. An undo returns the template to a revision that was current before.
	// By default, every undo follows the rollout strategies.
	// +optional
	RollbackWindow *RollbackWindow `json:"rollbackWindow,omitempty"`

	// abortedRevisionPolicy determines what happens when the template returns to a revision whose last rollout was aborted. With Retry, the
	// default, the revision is rolled out again. With Hold, it stays aborted, and no cluster gets it until a user retries it. Use Hold if a
	// GitOps tool or a pipeline writes the template. The policy takes effect only when the template returns, and only if the revision is
	// still in the history.
	// +optional
	AbortedRevisionPolicy AbortedRevisionPolicy `json:"abortedRevisionPolicy,omitempty"`
}

// AbortedRevisionPolicy determines what happens when the template returns to an aborted revision.
// +kubebuilder:validation:Enum=Retry;Hold
type AbortedRevisionPolicy string

const (
	// RetryAborted means that the revision is rolled out again.
	RetryAborted AbortedRevisionPolicy = "Retry"
	// HoldAborted means that the revision stays aborted until a user retries it.
	HoldAborted AbortedRevisionPolicy = "Hold"
)

// RollbackWindow determines which undos reach every cluster at once.
type RollbackWindow struct {
	// revisions is the number of revisions, counted back from the latest, that an undo rolls out to every cluster at once. Only revisions that
	// were current before count. The value is between 0 and 100. The default is 0: every undo follows the rollout strategies. A deleted
	// revision keeps its place in this order. An undo to a revision whose last rollout was aborted always follows the strategies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Revisions *int32 `json:"revisions,omitempty"`
}

// PruneStrategy determines when the objects that a new revision no longer has are deleted from a cluster.
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

	// rolloutStrategy determines how many clusters get a new revision at the same time, and when a cluster counts as failed. The default is
	// type All without a progressDeadline: all clusters get the revision at once, and none of them fails.
	// +optional
	// +kubebuilder:default={type: All, all: {progressDeadline: None}}
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy"`
}

// RolloutStrategy is OCM's rollout strategy, with groups, success gates and a reaction to failures.
type RolloutStrategy struct {
	clusterv1alpha1.RolloutStrategy `json:",inline"`

	// failureStrategy determines what happens when more than maxFailures clusters have failed. AbortAll returns every cluster of every
	// placementRef to the current revision (status.currentRevision) at once. ReportAbort stops the rollout, and reports when AbortAll would
	// have aborted it. If the field is unset, the rollout only stops. AbortAll and ReportAbort do not apply to an undo, and have no effect if
	// maxFailures is 100%. If progressDeadline is None, a cluster fails only because of a success gate or an invalid name. Be careful with
	// AbortAll if the template has CustomResourceDefinitions: a return to an older definition can lose data.
	// +optional
	FailureStrategy FailureStrategy `json:"failureStrategy,omitempty"`

	// unavailableClusters determines how a rollout treats selected clusters that are unavailable. With Count, the default, they are like all
	// others: they get the update revision, and fail at progressDeadline. With Skip, the rollout starts nothing there, does not wait for
	// them, and counts them toward no limit. A skipped cluster gets its turn when it has been available for a minute. A cluster that already
	// has the update revision is not skipped, because the revision may be the cause. Aborts reach skipped clusters too. Skip requires that
	// the hub has permission to read ManagedClusters, and has no effect over a broker.
	// +optional
	UnavailableClusters UnavailableClusters `json:"unavailableClusters,omitempty"`

	// groups lists decision groups of the Placement that get a new revision before the other clusters, one after the other, in this order.
	// Within a group, and for the other clusters, the strategy applies. The list requires the type Progressive or ProgressivePerGroup,
	// without mandatoryDecisionGroups. It has at most 16 entries, and is empty by default.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Groups []RolloutGroup `json:"groups,omitempty"`

	// successGates lists conditions of a cluster's ManifestWork that must be True before the cluster succeeds. While a condition is missing
	// or Unknown, the cluster stays in progress until progressDeadline. If a condition becomes False, the cluster fails before that deadline.
	// Gates apply only during a rollout, and hold back neither an abort nor a return to the current revision. The list has at most 8 entries,
	// and is empty by default.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=conditionType
	// +optional
	SuccessGates []SuccessGate `json:"successGates,omitempty"`
}

// UnavailableClusters determines how a rollout treats selected clusters that are unavailable.
// +kubebuilder:validation:Enum=Count;Skip
type UnavailableClusters string

const (
	// CountUnavailable means that unavailable clusters are treated like all others.
	CountUnavailable UnavailableClusters = "Count"
	// SkipUnavailable means that the rollout starts nothing on unavailable clusters, and does not wait for them.
	SkipUnavailable UnavailableClusters = "Skip"
)

// FailureStrategy determines what happens when too many clusters have failed.
// +kubebuilder:validation:Enum=AbortAll;ReportAbort
type FailureStrategy string

const (
	// AbortAll means that every cluster of the object returns to the current revision at once.
	AbortAll FailureStrategy = "AbortAll"
	// ReportAbort means that the rollout stops, and the hub reports when AbortAll would have aborted it. No cluster returns to the current
	// revision.
	ReportAbort FailureStrategy = "ReportAbort"
)

// MaxPlacementRefs is the largest number of placementRefs that count. If an object was stored with more, only the first ones count.
const MaxPlacementRefs = 64

// DefaultRevisionHistoryLimit is used if spec.revisionHistoryLimit is unset, as in objects that an older CRD stored.
const DefaultRevisionHistoryLimit int32 = 10

// MaxRevisionHistoryLimit is the largest number of revisions that are kept in addition to the live ones, even if an object was stored
// with a higher spec.revisionHistoryLimit.
const MaxRevisionHistoryLimit = 100

// ManifestWorkReplicaSetStatus is the last observed state.
type ManifestWorkReplicaSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1 until the hub has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions lists PlacementVerified, ManifestworkApplied, Progressing and PlacementRolledOut. It also lists Reconciling, Stalled, Paused
	// and Deleting, but only while they are True. Ignore a condition whose observedGeneration differs from metadata.generation.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// summary counts the ManifestWorks and clusters of all placementRefs.
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// placementSummary counts the ManifestWorks and clusters of each placementRef, in the order of spec.placementRefs.
	PlacementsSummary []PlacementSummary `json:"placementSummary"`

	// collisionCount is the number of times that another object already had the name of a new revision. It changes the hash of later
	// revisions. It is unset if this never happened.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// currentRevision is the hash of the stable revision: the last one whose rollout was completed. An abort restores it. It is empty until a
	// rollout is complete. If the hub does not know the stable revision, set this field to name it.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the hash of the revision of the template in the spec. If the template changes during a pause or an abort, this field
	// changes afterwards.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// abortedTime is the time at which the rollout of updateRevision was aborted. It is unset if the rollout was not aborted. Set it to abort
	// the rollout by hand, and the hub replaces the value with its own time. Remove it to retry the rollout. The hub removes it when another
	// rollout starts, and if there is nothing to abort.
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// revisions lists the revisions of this object with their states, newest first. If there are more than 16, the list has the current
	// revision, the update revision, those that ManifestWorks have, and the newest of the others. It is empty if the hub has no
	// permission to read ControllerRevisions.
	// +listType=map
	// +listMapKey=name
	// +optional
	Revisions []RevisionStatus `json:"revisions,omitempty"`

	// state summarizes the status in one word: Deleting, Invalid, Paused, Aborting, Aborted, WouldAbort, Stalled, RollingOut or Complete. The
	// first one that applies is used. It is empty until the hub has reconciled the object. Later releases may add states.
	// +optional
	State State `json:"state,omitempty"`

	// failures lists the clusters that failed at the update revision, sorted by name, at most 100; summary.failed counts all of them. An
	// entry stays until the cluster has succeeded at the update revision for long enough, or another rollout begins. Remove an entry to retry
	// that cluster; set an empty list to retry all. If the whole list is removed, the hub restores it.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Failures []ClusterFailure `json:"failures,omitempty"`

	// rejections lists the clusters whose ManifestWork the API server rejects, sorted by name, at most 100. They count as in flight. A
	// cluster that is still rejected after progressDeadline moves to failures. During an abort, the list also has the clusters that the API
	// server does not let the hub restore.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Rejections []ClusterFailure `json:"rejections,omitempty"`

	// away lists the clusters that no Placement selects because they are unavailable, sorted by name, at most 100. Each keeps its
	// ManifestWork until its ManagedCluster is deleted, or until it has been available for a minute and is still not selected. If
	// unavailableClusters is Skip, the list also has the selected clusters that are skipped.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Away []AwayCluster `json:"away,omitempty"`

	// held lists the selected clusters that do not get the update revision, because of a hold or a closed window of their ManagedCluster. It
	// is sorted by name, and has at most 100 entries; summary.held counts all of them.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Held []HeldCluster `json:"held,omitempty"`

	// approvals lists the decision groups that users approved for updateRevision, at most 100. Add an entry to approve a group, even before
	// its turn. Remove an entry to withdraw an approval, as long as the group has not begun. The hub removes all entries when another rollout
	// begins, or when this one is retried.
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Approvals []Approval `json:"approvals,omitempty"`

	// awaitingApproval lists the decision groups that wait only for an approval, sorted, at most 100. To approve one, add it to approvals.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +optional
	AwaitingApproval []string `json:"awaitingApproval,omitempty"`

	// abortedBy is the user who aborted the rollout by hand, limited to 256 bytes. Set it together with abortedTime. The hub also stores it
	// on the revision. It is empty if the hub aborted the rollout itself.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortedBy string `json:"abortedBy,omitempty"`

	// abortReason is the reason that a user gave for an abort by hand, limited to 256 bytes. Set it together with abortedTime. The hub also
	// stores it on the revision. If the hub aborted the rollout itself, the field is empty, and status.revisions has the reason.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortReason string `json:"abortReason,omitempty"`

	// ledger holds all decisions of the hub about this object, as JSON. Do not change it. The hub writes it together with the status fields
	// that show these decisions, and keeps a copy on a ControllerRevision.
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
