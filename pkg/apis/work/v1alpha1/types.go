package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// ManifestWorkReplicaSet spreads one ManifestWork template over the clusters that
// Placements select, remembers the templates it had as revisions, and can go back
// to them.
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
// +kubebuilder:printcolumn:name="Current",type="string",JSONPath=".status.currentRevision",description="Hash of the last revision that every selected cluster reached"
// +kubebuilder:printcolumn:name="Update",type="string",JSONPath=".status.updateRevision",description="Hash of the revision of today's template"
// +kubebuilder:printcolumn:name="Updated",type="integer",JSONPath=".status.summary.updated",description="Clusters that succeeded at the update revision"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.summary.desiredTotal",description="Selected clusters"
// +kubebuilder:printcolumn:name="RolledOut",type="string",JSONPath=".status.conditions[?(@.type==\"PlacementRolledOut\")].reason",description="How far the rollout is"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="What the object does"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ManifestWorkReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template, and the Placements that select its clusters.
	Spec ManifestWorkReplicaSetSpec `json:"spec,omitempty"`

	// status is what the hub observed last. Until the hub has seen the object, observedGeneration is -1: without it,
	// tools that compute a status take an object without conditions for reconciled.
	// +kubebuilder:default={"observedGeneration":-1}
	Status ManifestWorkReplicaSetStatus `json:"status,omitempty"`
}

// ManifestWorkReplicaSetSpec is what the user wants on the selected clusters.
type ManifestWorkReplicaSetSpec struct {
	// manifestWorkTemplate becomes the spec of each selected cluster's ManifestWork. A change of it
	// is a new revision.
	ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`

	// placementRefs names the Placements, in the namespace of this object, that select the clusters.
	// A cluster that several of them select belongs to the first. Of an object that was stored with more
	// than 64, the first 64 count.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +required
	PlacementRefs []LocalPlacementReference `json:"placementRefs"`

	// cascadeDeletionPolicy decides whether this object is deleted before or after its ManifestWorks are gone.
	// 'Background' doesn't wait for them, 'Foreground' does.
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum=Background;Foreground
	// +kubebuilder:validation:Required
	// +optional
	CascadeDeletionPolicy upstream.CascadeDeletionPolicy `json:"cascadeDeletionPolicy,omitempty"`

	// preserveResourcesOnDeletion keeps the objects on the clusters when this object is deleted. The hub has each
	// agent give up the objects of its ManifestWork, waits until the agent confirms that, and deletes the
	// ManifestWork then. Until every agent has answered this object stays, and its condition Deleting names the
	// clusters that it waits for; set the field to false to delete without waiting. The field counts only while this
	// object is being deleted: what leaves the template, and a cluster that is no longer selected, is cleaned up as ever.
	// Where works travel over a broker nothing can be preserved, and the deletion waits until the field is false.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// revisionHistoryLimit is how many revisions are kept beside the live ones (the current one, the
	// update one, and those that a ManifestWork still has). 0 keeps none. Of an object that was stored with more
	// than 100, 100 counts.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// paused holds the ManifestWorks as they are: while it is true the hub creates, changes and deletes none of them, so that no
	// rollout, abort, repair, join or removal goes on. The status is still reported, and deadlines still run. A template that is
	// edited meanwhile becomes a revision when paused is false again: several edits are one rollout. The condition Paused counts
	// what is held back. Deleting this object deletes its ManifestWorks also while it is paused. A change of this field is no
	// new revision.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// pruneStrategy decides when objects that a new revision no longer has are deleted from a cluster.
	// 'Immediate', the default, deletes them when the cluster gets the new revision. 'WhenAvailable' keeps them
	// until the new revision is available on that cluster. A change of it starts no rollout.
	// +optional
	PruneStrategy PruneStrategy `json:"pruneStrategy,omitempty"`

	// rollbackWindow makes an undo fast. Unset, an undo follows the strategies of the placementRefs like any other rollout.
	// +optional
	RollbackWindow *RollbackWindow `json:"rollbackWindow,omitempty"`
}

// RollbackWindow says which undos reach every cluster at once.
type RollbackWindow struct {
	// revisions is how many revisions back an undo is fast. A template that returns to one of the last revisions that were current,
	// older than the current one and not aborted, is written to every cluster at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Revisions *int32 `json:"revisions,omitempty"`
}

// PruneStrategy decides when objects that a new revision no longer has are deleted from a cluster.
// +kubebuilder:validation:Enum=Immediate;WhenAvailable
type PruneStrategy string

const (
	// PruneImmediate deletes them when the cluster gets the new revision, as OCM does.
	PruneImmediate PruneStrategy = "Immediate"
	// PruneWhenAvailable keeps them until the new revision is available on the cluster (R28).
	PruneWhenAvailable PruneStrategy = "WhenAvailable"
)

// LocalPlacementReference names a Placement and says how the template reaches its clusters.
type LocalPlacementReference struct {
	// name of the Placement in the namespace of this object.
	// +required
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// rolloutStrategy decides how many clusters take a new revision at a time, and what happens when they fail.
	// +optional
	// +kubebuilder:default={type: All, all: {progressDeadline: None}}
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy"`
}

// RolloutStrategy is upstream's strategy and what to do when it fails.
type RolloutStrategy struct {
	clusterv1alpha1.RolloutStrategy `json:",inline"`

	// failureStrategy AbortAll writes the current (last stable) revision back to every cluster of every
	// placementRef, at once, when more than maxFailures clusters did not succeed within progressDeadline.
	// Unset, a failed rollout stops where it is. Be careful with AbortAll where the template holds
	// CustomResourceDefinitions: going back to an older definition can lose data.
	// +optional
	FailureStrategy FailureStrategy `json:"failureStrategy,omitempty"`
}

// FailureStrategy says what a failed rollout leads to.
// +kubebuilder:validation:Enum=AbortAll
type FailureStrategy string

// AbortAll brings every cluster of the ManifestWorkReplicaSet back to its current revision (R12).
const AbortAll FailureStrategy = "AbortAll"

// MaxPlacementRefs is how many placementRefs of a ManifestWorkReplicaSet count: the first of an object that was stored with more.
const MaxPlacementRefs = 64

// DefaultRevisionHistoryLimit is used where spec.revisionHistoryLimit is unset, as it is on objects that an
// older CRD stored.
const DefaultRevisionHistoryLimit int32 = 10

// MaxRevisionHistoryLimit is how many revisions at most are kept beside the live ones, also of an object that was stored with a larger
// spec.revisionHistoryLimit (R5).
const MaxRevisionHistoryLimit = 100

// ManifestWorkReplicaSetStatus is what the hub observed last.
type ManifestWorkReplicaSetStatus struct {
	// observedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are PlacementVerified, ManifestworkApplied, Progressing and PlacementRolledOut, and Reconciling, Stalled and
	// Paused, each of which is present only while it is True.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// summary counts the ManifestWorks over all placementRefs.
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// placementSummary counts the ManifestWorks of each placementRef.
	PlacementsSummary []PlacementSummary `json:"placementSummary"`

	// collisionCount is how often the hash of a template met a revision with the same name and another content.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// currentRevision is the hash of the last revision that every selected cluster reached: the stable one.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the hash of the revision of today's template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// abortedTime is when the rollout of updateRevision was aborted. It is removed when a new rollout begins.
	// Removing it by hand tries the same revision again.
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// revisions are the revisions that this object has, newest first, each with where it is in its life. There are 16 at most: the current
	// one, the update one, those that ManifestWorks have, then the newest. It is empty where the hub may not read ControllerRevisions.
	// +listType=map
	// +listMapKey=name
	// +optional
	Revisions []RevisionStatus `json:"revisions,omitempty"`

	// state is what the object does, in one word: Deleting, Invalid, Paused, Aborting, Aborted, Stalled, RollingOut or Complete. The first
	// that applies counts. Later releases may add states.
	// +optional
	State State `json:"state,omitempty"`

	// failures are the clusters that failed at the update revision, sorted by name. The hub records a failure before anything follows
	// from it, and the record holds until the cluster's success at the update revision has settled. The hub records as many as it takes
	// to exceed maxFailures, and 100 at most; summary.failed counts all. Removing an entry retries that cluster.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Failures []ClusterFailure `json:"failures,omitempty"`

	// rejections are the clusters whose ManifestWork the API server rejects, sorted by name, 100 at most; summary.rejected counts all. A
	// cluster that is rejected for progressDeadline moves to failures.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Rejections []ClusterFailure `json:"rejections,omitempty"`

	// away are the clusters that no Placement selects because they are unavailable, sorted by name, 100 at most. Each keeps its ManifestWork
	// until the cluster has been available for a minute and is still not selected, or its ManagedCluster is deleted.
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Away []AwayCluster `json:"away,omitempty"`

	// abortedBy is who asked for the abort. Set it together with abortedTime to abort a rollout by hand; the hub copies it to the
	// revision.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortedBy string `json:"abortedBy,omitempty"`

	// abortReason is why the abort was asked for. Set it together with abortedTime to abort a rollout by hand; the hub copies it to
	// the revision.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AbortReason string `json:"abortReason,omitempty"`
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
