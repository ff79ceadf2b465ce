package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Stage is the progress of the rollout of the update revision: one of five states.
type Stage = workv1alpha1.State

// The stages. The first three belong to a rollout, the next two to an abort. A complete rollout stays complete, even if clusters fail
// later. An abort ends when every work that can be written is restored.
const (
	RollingOut = workv1alpha1.StateRollingOut
	Stalled    = workv1alpha1.StateStalled
	Complete   = workv1alpha1.StateComplete
	Aborting   = workv1alpha1.StateAborting
	Aborted    = workv1alpha1.StateAborted
)

// Input is all the information from which the status is built.
type Input struct {
	// Object is the ManifestWorkReplicaSet whose status is built. The conditions observe its generation. The conditions in it are those of
	// the previous status.
	Object *workv1alpha1.ManifestWorkReplicaSet
	// Ledger holds the decisions that the new status projects.
	Ledger *ledger.Ledger
	// History holds the revisions that the new status lists; nil or empty if there is none.
	History *revision.History
	Stage   Stage
	// Pending is true if the template in the spec waits, for the end of an abort or for a write. The status does not observe the object's
	// generation yet.
	Pending bool
	// TemplatePending is true if the template in the spec differs from that of the update revision, and waits for the end of a pause.
	TemplatePending bool
	Snapshot        *rollout.Snapshot
	Plan            *rollout.Plan
	// Problems are the problems of this pass, each with its object and the remedy, sorted.
	Problems []string
	// Rejection is the problem that names the works that the API server rejects; empty if there is none.
	Rejection string
	// PrunedNote names the fields that the API server drops, and HistoryNote is the reason why there is no history, each with the remedy;
	// empty for none. Progressing reports both.
	PrunedNote, HistoryNote string
	// ClustersNote is the reason why ManagedClusters can't be read, with the remedy; empty if they can be read.
	ClustersNote string
	// HubNote is the reason why another hub may take over, with the remedy; empty if no other hub may.
	HubNote string
	// Now becomes the transition time of the conditions whose status changes.
	Now metav1.Time
}

// Build returns the whole status, or an error if the ledger can't be encoded.
func Build(in *Input) (workv1alpha1.ManifestWorkReplicaSetStatus, error) {
	observed := in.Object.Generation // If the template waits, the conditions observe its generation only to report why.
	if in.Pending && len(in.Problems) == 0 {
		observed = in.Object.Status.ObservedGeneration
	}
	out := workv1alpha1.ManifestWorkReplicaSetStatus{
		ObservedGeneration: in.Object.Generation,
		Conditions:         slices.Clone(in.Object.Status.Conditions),
		Revisions:          revisions(in),
		State:              state(in),
		Away:               away(in.Plan.Away),
		Held:               heldClusters(in.Plan.OnHold),
		AwaitingApproval:   AwaitingApproval(in.Plan),
	}
	if in.Pending {
		out.ObservedGeneration = in.Object.Status.ObservedGeneration
	}
	out.Summary, out.PlacementsSummary = summarize(in)
	for _, condition := range []metav1.Condition{
		PlacementVerified(in), manifestworkApplied(in), progressing(in), placementRolledOut(in),
	} {
		Set(&out.Conditions, condition, observed, in.Now)
	}
	setOrRemove(&out.Conditions, workv1alpha1.ConditionReconciling, reconciling(in), observed, in.Now)
	setOrRemove(&out.Conditions, workv1alpha1.ConditionStalled, stalled(in), observed, in.Now)
	SetPaused(&out.Conditions, in)
	err := in.Ledger.Project(&out) // This must precede the read of out: Go does not specify the order of a call and a variable.
	return out, err
}

// Set sets a condition that observed this generation. Its transition time changes only with its status.
func Set(conditions *[]metav1.Condition, condition metav1.Condition, generation int64, now metav1.Time) {
	condition.ObservedGeneration = generation
	condition.LastTransitionTime = now
	condition.Message = bounded(condition.Message, maxMessage)
	meta.SetStatusCondition(conditions, condition)
}

// maxMessage keeps a message well below the limit of the API server, which is 32 KiB.
const maxMessage = 4096

// bounded returns a text without control characters, cut to a maximum number of bytes.
func bounded(text string, bytes int) string { return revision.Shortened(plain.Text(text), bytes) }

func condition(conditionType, reason, message string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}
