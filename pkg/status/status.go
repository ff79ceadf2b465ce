package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Stage is how far the rollout of the update revision is.
type Stage string

// The stages. The first three are of a rollout under way, the next two of an abort.
const (
	// RollingOut means that the update revision is on its way to the clusters.
	RollingOut Stage = "RollingOut"
	// Stalled means that it does not go on by itself.
	Stalled Stage = "Stalled"
	// Complete means that every selected cluster had it. It stays so, whatever the clusters do later.
	Complete Stage = "Complete"
	// Aborting means that the abort is decided and not every work is written back.
	Aborting Stage = "Aborting"
	// Aborted means that every work that can be written is written back.
	Aborted Stage = "Aborted"
)

// Input is all that the status is made from.
type Input struct {
	// Object is the ManifestWorkReplicaSet whose status is built: its generation is what the conditions observed, its
	// conditions are those that change.
	Object *workv1alpha1.ManifestWorkReplicaSet
	// Ledger holds the decisions that the new status projects.
	Ledger *ledger.Ledger
	// History holds the revisions that the new status lists; nil or empty if there is none.
	History *revision.History
	Stage   Stage
	// Pending is true if the template in the spec waits, for the end of an abort or for a write. The status does not observe the object's
	// generation yet.
	Pending bool
	// TemplatePending is true if today's template is another one than the update revision's, and waits for the end of a pause.
	TemplatePending bool
	Snapshot        *rollout.Snapshot
	Plan            *rollout.Plan
	// Problems are what went wrong in this pass, each naming its object and the remedy. Sorted.
	Problems []string
	// PrunedNote is what the API server drops, and HistoryNote why there is no history, each with the remedy; empty for none. Progressing
	// says it.
	PrunedNote, HistoryNote string
	// ClustersNote is why ManagedClusters can't be read, with the remedy; empty if they can.
	ClustersNote string
	// HubNote is why another hub may take over, with the remedy; empty if none may.
	HubNote string
	// Now becomes the transition time of the conditions whose status changes.
	Now metav1.Time
}

// Build makes the whole status. It returns an error if the ledger can't be encoded.
func Build(in *Input) (workv1alpha1.ManifestWorkReplicaSetStatus, error) {
	observed := in.Object.Generation // By the conditions. If the template waits, they observe it only to report why.
	if in.Pending && len(in.Problems) == 0 {
		observed = in.Object.Status.ObservedGeneration
	}
	out := workv1alpha1.ManifestWorkReplicaSetStatus{
		ObservedGeneration: in.Object.Generation,
		Conditions:         slices.Clone(in.Object.Status.Conditions),
		Revisions:          revisions(in),
		State:              state(in),
	}
	if in.Pending {
		out.ObservedGeneration = in.Object.Status.ObservedGeneration
	}
	out.Summary, out.PlacementsSummary = summarize(in)
	report(in, &out)
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

// abortReason returns why the rollout was aborted; empty if it was not.
func (in *Input) abortReason() string {
	if in.Ledger.Abort == nil {
		return ""
	}
	return in.Ledger.Abort.Why()
}

// Set puts a condition among others: it observed this generation, and its transition time changes with its status only.
func Set(conditions *[]metav1.Condition, condition metav1.Condition, generation int64, now metav1.Time) {
	condition.ObservedGeneration = generation
	condition.LastTransitionTime = now
	condition.Message = bounded(condition.Message)
	meta.SetStatusCondition(conditions, condition)
}

// maxMessage keeps a message below what the API server takes, 32 KiB, by a wide margin.
const maxMessage = 4096

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	// Half a character at the end would be stored as another one, and written again for ever (P7).
	return strings.ToValidUTF8(message[:maxMessage], "") + " …"
}

func condition(conditionType, reason, message string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}
