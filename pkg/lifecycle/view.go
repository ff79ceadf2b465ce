package lifecycle

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
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
	// Before is the ledger that counts before this pass decides; its Seq is 0 if there is none. Commands are those that the status has for it.
	Before   ledger.Ledger
	Commands ledger.Commands

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

	// Notes are about the works. Next needs none.
	Notes Notes
	// BeginSeen is when this process first saw the beginning of the rollout that the ledger names.
	BeginSeen time.Time
	// Answers are those to the steps of this pass so far.
	Answers []Answer
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
