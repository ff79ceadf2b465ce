package lifecycle

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// View is one observation of a ManifestWorkReplicaSet. It never changes, except that the answers to steps are appended.
type View struct {
	// Now is the hub's clock.
	Now time.Time
	// Object is the ManifestWorkReplicaSet, shared with a cache: never changed.
	Object *workv1alpha1.ManifestWorkReplicaSet
	// Unreadable names the fields that the types can't hold; nil for none. PlacementsKnown reports whether none of them hides a Placement.
	Unreadable      error
	PlacementsKnown bool
	// Owner is the value of the owner label.
	Owner string
	// Template is what today's template means, and TemplateErr why that can't be said.
	Template    revision.Digest
	TemplateErr error
	// Status are the deciding fields of the status.
	Status status.Revisions

	// History holds the revisions. Where NoHistory is set, it is what could be read last.
	History revision.History
	// NoHistory reports whether the hub may not read ControllerRevisions. HistoryNote says why and what to do about it; nothing is decided by it.
	NoHistory   bool
	HistoryNote string
	// ClustersNote is why ManagedClusters can't be read, with the remedy; empty if they can.
	ClustersNote string
	// Works are all ManifestWorks that have the owner label, by namespace and name, each with what its spec means.
	Works []work.Work
	// Refs are the placementRefs that count, and IgnoredRefs is how many more the spec has.
	Refs        []placement.Ref
	IgnoredRefs int

	// decided are the facts about the rollout that this pass found and that are not persisted yet; nil for none.
	decided *rollout.Records
	// Notes are about the works. Next needs none.
	Notes Notes
	// Memory is what this process remembers.
	Memory Memory
	// Answers are those to the steps of this pass so far.
	Answers []Answer
}

// Memory is what a process remembers of a ManifestWorkReplicaSet, as values. All of it may be lost.
type Memory struct {
	// Kept are the deciding fields as of the last pass.
	Kept status.Revisions
	// Completed is the hash of the revision whose rollout was complete when the revision could not record it.
	Completed string
	// Incomplete is the hash of the revision whose rollout was last judged not to be complete; empty once it is.
	Incomplete string
	// Unrecorded says what was rolled out without a history, by hash.
	Unrecorded map[string]revision.Digest
	// Aborted is when and why a rollout was aborted: until the revision records it, nothing else does.
	Aborted Aborted
	// Records are the facts about the rollout of a revision, as of the last pass. They count where the status can't hold them, as RecordsDropped
	// reports, or lost them.
	Records        Recorded
	RecordsDropped bool
	// Pruned reports whether the API server was seen dropping the status fields that only our CRD has, and is not to be asked again yet.
	Pruned bool
}

// Recorded are the facts about the rollout of one revision.
type Recorded struct {
	Revision string
	rollout.Records
}

// Aborted is when and why a rollout was aborted.
type Aborted struct {
	At     metav1.Time
	Reason string
}

// ReasonAt returns why a rollout was aborted at a time; empty if that is not known.
func (a *Aborted) ReasonAt(at *metav1.Time) string {
	if a.At.Equal(at) {
		return a.Reason
	}
	return ""
}

// Result is the outcome of a request.
type Result string

// The results.
const (
	// Done means that the request succeeded.
	Done Result = "Done"
	// Exists means that an object with the name of the object to create already exists.
	Exists Result = "Exists"
	// Missing means that there is no object with the name.
	Missing Result = "Missing"
	// Conflicted means that the object has changed since it was seen.
	Conflicted Result = "Conflicted"
	// Pruned means that the API server accepted the request, and dropped fields.
	Pruned Result = "Pruned"
	// Rejected means that the API server rejects the request: a retry alone does not help.
	Rejected Result = "Rejected"
	// Failed means that the request failed in another way.
	Failed Result = "Failed"
)

// Answer is the outcome of a step.
type Answer struct {
	// Key is that of the step.
	Key string
	// Result is the outcome of its request.
	Result Result
	// Err is the error of a request that failed, in the words of the API server. Nothing is decided by it.
	Err error
	// Object is what ReadLive found.
	Object *appsv1.ControllerRevision
	// Spec is what ReadSpec found.
	Spec *workv1.ManifestWorkSpec
}

// failed reports whether the request did not succeed.
func (a *Answer) failed() bool { return a.Result != Done && a.Result != Pruned }
