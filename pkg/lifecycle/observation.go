package lifecycle

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Observation is everything that a decision about a ManifestWorkReplicaSet depends on: equal observations lead to equal decisions. It does
// not change, except that the answers to requests are appended.
type Observation struct {
	// Now is the hub's clock.
	Now time.Time
	// Object is the ManifestWorkReplicaSet. It is shared with a cache: do not change it.
	Object *workv1alpha1.ManifestWorkReplicaSet
	// Unreadable names the fields that the types can't hold; nil for none. PlacementsKnown is true if none of them hides a Placement.
	Unreadable      error
	PlacementsKnown bool
	// Owner is the value of the owner label. If OwnerHash is true, the works get workv1alpha1.LabelOwnerHash, too.
	Owner     string
	OwnerHash bool
	// Template is the digest of the template in the spec. TemplateErr is the reason why it can't be computed.
	Template    revision.Digest
	TemplateErr error
	// Before is the ledger that counts before this pass decides; its Seq is 0 if there is none. Commands are the commands in the status.
	Before   ledger.Ledger
	Commands ledger.Commands
	// CopyBehind is true if the hub must still write the copy of that ledger to a revision.
	CopyBehind bool

	// History holds the revisions. If NoHistory is true, it is the last history that was read.
	History revision.History
	// NoHistory is true if the hub has no permission to read ControllerRevisions. HistoryNote gives the reason and the remedy. It is only
	// for messages.
	NoHistory   bool
	HistoryNote string
	// ClustersNote is the reason why ManagedClusters can't be read, with the remedy; empty if they can be read.
	ClustersNote string
	// Refs are the placementRefs that count, and IgnoredRefs is the number of other placementRefs in the spec.
	Refs        []placement.Ref
	IgnoredRefs int

	// Notes is the information that this process noted about the works.
	Notes Notes
	// BeginSeen is the time at which this process first saw the beginning of the rollout that the ledger names.
	BeginSeen time.Time
	// Answers are the answers to the requests from this pass so far.
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
	// Conflicted means that the object has changed since this process saw it.
	Conflicted Result = "Conflicted"
	// Rejected means that the API server rejects the request: a retry alone does not help.
	Rejected Result = "Rejected"
	// Failed means that the request failed in another way.
	Failed Result = "Failed"
)

// Answer is the answer to a request.
type Answer struct {
	// Key is the key of the request.
	Key string
	// Result is the outcome.
	Result Result
	// Err is the error of a failed request, as the API server returned it. No decision is based on it.
	Err error
	// Object is the ControllerRevision that ReadLive read.
	Object *appsv1.ControllerRevision
	// Spec is the spec that ReadSpec read.
	Spec *workv1.ManifestWorkSpec
	// Works are the ManifestWorks that ReadWorks read.
	Works []*workv1.ManifestWork
}
