package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// progressing returns the condition of the rollout. True means that it continues by itself; Unknown means that it would continue without
// the pause.
func progressing(in *Input) metav1.Condition {
	told := unpaused(in)
	if note := pauseNote(in); note != "" {
		told.Message = join(told.Message, note)
	}
	if waits(in) {
		told.Status = metav1.ConditionUnknown
	}
	return told
}

// unpaused returns the condition of the rollout without regard to a pause.
func unpaused(in *Input) metav1.Condition {
	update := in.Snapshot.Update
	stopped := func(reason, message string) metav1.Condition {
		return condition(workv1alpha1.ConditionProgressing, reason, join(message, missing(in), largerHistory(in.Object)), metav1.ConditionFalse)
	}
	switch in.Stage {
	case Complete:
		return stopped(workv1alpha1.ReasonNewManifestWorkAvailable, join(
			fmt.Sprintf("New revision %s is successfully progressed", update.Name), tolerated(in.Plan), wouldAbort(in), soakIgnored(in.Plan), notKept(in.Plan)))
	case Stalled:
		return stopped(workv1alpha1.ReasonProgressDeadlineExceeded, join(
			because(fmt.Sprintf("the rollout of revision %s is stalled", update.Name), join(failing(in.Plan), groups(in), problems(in))),
			heldNote(in), wouldAbort(in), abortBlocked(in), notKept(in.Plan)))
	case Aborting:
		return stopped(workv1alpha1.ReasonProgressDeadlineExceeded, join(
			because(fmt.Sprintf("the rollout of revision %s is being aborted", update.Name), in.Ledger.Abort.Why()), goingBack(in), problems(in), notKept(in.Plan)))
	case Aborted:
		return stopped(workv1alpha1.ReasonRolloutAborted, join(
			because(fmt.Sprintf("the rollout of revision %s was aborted", update.Name), in.Ledger.Abort.Why()), goingBack(in), problems(in), heldRetry(in), notKept(in.Plan)))
	default:
		reason := workv1alpha1.ReasonNewRevisionCreated
		if update.Reused {
			reason = workv1alpha1.ReasonFoundNewRevision
		}
		message := join(fmt.Sprintf("revision %s: %s", update.Name, progress(in.Plan)), failing(in.Plan), problems(in), wouldAbort(in), abortBlocked(in),
			awaiting(in.Plan), groups(in), heldNote(in), soakIgnored(in.Plan), notKept(in.Plan))
		return condition(workv1alpha1.ConditionProgressing, reason, join(message, missing(in), largerHistory(in.Object)), metav1.ConditionTrue)
	}
}

// problems returns the problems of the pass, except the rejection if failing names the rejected works.
func problems(in *Input) string {
	named := in.Stage != Aborting && in.Stage != Aborted && rejected(in.Plan) != ""
	return strings.Join(slices.DeleteFunc(slices.Clone(in.Problems), func(problem string) bool { return named && problem == in.Rejection }), "; ")
}

// heldRetry returns the command that rolls out a held revision; empty if the revision is not held.
func heldRetry(in *Input) string {
	if in.Ledger.Abort == nil || in.Ledger.Abort.Held.IsZero() {
		return ""
	}
	return "to roll it out again: " + plain.Command("kubectl", "mwrs", "retry", in.Object.Name, "-n", in.Object.Namespace)
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// goingBack names the revision to which the clusters return, and counts those that have confirmed it.
func goingBack(in *Input) string {
	if in.Snapshot.Current == nil {
		return NoCurrent(in.Snapshot.Absent)
	}
	verb := "rolling"
	restorable := in.Plan.Restorable()
	if in.Stage == Aborted && restorable > 0 && in.Plan.Confirmed == restorable {
		verb = "rolled"
	}
	return join(fmt.Sprintf("%s back to revision %s, confirmed by %d of %s", verb,
		in.Snapshot.Current.Name, in.Plan.Confirmed, clusters(restorable)), awaitedAway(in.Plan), stayingBehind(in), unheard(in.Plan), unreached(in))
}

// stayingBehind names the clusters that are not rolled back: they completed another revision, and agents do not change a completed work.
func stayingBehind(in *Input) string {
	current := in.Snapshot.Current
	var names []string
	for i := range in.Snapshot.Works {
		w := &in.Snapshot.Works[i]
		if !in.Plan.Selects(w.Cluster()) || w.Deleting() || !w.At(current) {
			continue
		}
		if work.Assess(w, current, in.Snapshot.Now).State == work.Completed {
			names = append(names, w.Cluster())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s completed at another revision: agents do not change a completed ManifestWork, so delete it to get revision %s there",
		rollout.Names(names), current.Name)
}

// awaiting describes what a rollout waits for, except outcomes.
func awaiting(plan *rollout.Plan) string {
	var parts []string
	if plan.IgnoredRefs > 0 {
		parts = append(parts, fmt.Sprintf("no rollout completes while spec.placementRefs has more than %d entries", len(plan.Refs)))
	}
	parts = append(parts, awaitedAway(plan))
	for i := range plan.Refs {
		ref := &plan.Refs[i]
		switch {
		case ref.Placement == nil:
			parts = append(parts, fmt.Sprintf("waiting for Placement %s", ref.Name))
		case len(ref.Moving) > 0:
			parts = append(parts, fmt.Sprintf(
				"waiting for about %s, because Placement %s has just dropped %s: OCM may be moving clusters between its PlacementDecisions",
				rollout.MoveWait, ref.Name, rollout.Names(ref.Moving)))
		case !ref.SelectionKnown:
			parts = append(parts, fmt.Sprintf("waiting for the decisions of Placement %s", ref.Name))
		case len(ref.Undecided) > 0:
			parts = append(parts, fmt.Sprintf("waiting for the progressDeadline of %s, which Placement %s dropped during the rollout",
				rollout.Names(ref.Undecided), ref.Name))
		}
		if len(ref.Terminating) > 0 {
			parts = append(parts, awaitingDeletion(ref))
		}
	}
	return join(parts...)
}

// awaitingDeletion names the works that must be deleted first, and how long the rollout waits for that.
func awaitingDeletion(ref *rollout.RefOutcome) string {
	until := "there is no time limit, because progressDeadline is None"
	if ref.Deadline > 0 {
		until = fmt.Sprintf("it waits for at most the progressDeadline of %s", ref.Deadline)
	}
	return fmt.Sprintf("Placement %s waits until the agent has deleted the old ManifestWork on %s; %s",
		ref.Name, rollout.Names(ref.Terminating), until)
}

func soakIgnored(plan *rollout.Plan) string {
	var names []string
	for i := range plan.Refs {
		if ref := &plan.Refs[i]; ref.SoakIgnored > 0 {
			names = append(names, fmt.Sprintf("%s (%s)", ref.Name, ref.SoakIgnored))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "minSuccessTime has no effect with type All: " + strings.Join(names, ", ")
}

// largerHistory returns the message about an object that was stored with a revisionHistoryLimit above the maximum.
func largerHistory(object *workv1alpha1.ManifestWorkReplicaSet) string {
	const most = workv1alpha1.MaxRevisionHistoryLimit
	limit := object.Spec.RevisionHistoryLimit
	if limit == nil || *limit <= most {
		return ""
	}
	return fmt.Sprintf("spec.revisionHistoryLimit is %d, but the maximum of %d applies: the newest %d old revisions are kept; set it to at most %d", *limit, most, most, most)
}

// missing names the permissions and fields that are missing on this hub. If the missing history is also the reason why nothing can be
// rolled back, the message already mentions it.
func missing(in *Input) string {
	history := in.HistoryNote
	if absent := in.Snapshot.Absent; absent != nil && absent.Cause == rollout.WithoutHistory && saysAbsence(in) {
		history = ""
	}
	return join(in.PrunedNote, history, in.ClustersNote, in.HubNote, skipUnusable(in))
}

// saysAbsence reports whether the message of Progressing includes the reason why there is no revision to roll back to.
func saysAbsence(in *Input) bool {
	switch in.Stage {
	case Complete:
		return false
	case Aborting, Aborted:
		return true
	}
	return in.Plan.AbortBlocked == rollout.BlockedByAbsence
}
