package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// manifestworkApplied reports whether every selected cluster has the intended work.
func manifestworkApplied(in *Input) metav1.Condition {
	message := strings.Join(in.Problems, "; ")
	switch {
	case in.Stage == Aborting || in.Stage == Aborted:
		return notApplied(workv1alpha1.ReasonNotAsExpected, join("the rollout was aborted", message, unreached(in), awayNote(in)))
	case message != "":
		return notApplied(workv1alpha1.ReasonNotAsExpected, join(message, awayNote(in)))
	case in.Stage == Stalled || in.Plan.Stalled:
		return notApplied(workv1alpha1.ReasonNotAsExpected, join(failing(in.Plan), groups(in), gatesNote(in), unreached(in), awayNote(in)))
	case in.Plan.Selected() == 0:
		return notApplied(workv1alpha1.ReasonPlacementDecisionEmpty, join(noneSelected(in.Plan), awayNote(in)))
	case in.Stage == Complete && in.Plan.RolledOut() && !in.TemplatePending:
		return condition(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonAsExpected,
			join(reached(in.Plan)+" up to date", tolerated(in.Plan), gatesNote(in), awayNote(in)), metav1.ConditionTrue)
	default:
		return notApplied(workv1alpha1.ReasonProcessing, join(progress(in.Plan), gatesNote(in), unreached(in), awayNote(in), templateWaits(in)))
	}
}

// noneSelected returns the message about an object for which no cluster is selected, as far as that is known.
func noneSelected(plan *rollout.Plan) string {
	if plan.Unknown() {
		return "it is not known which clusters the placements select: see the condition " + workv1alpha1.ConditionPlacementVerified
	}
	return "the placements select no cluster"
}

func notApplied(reason, message string) metav1.Condition {
	return condition(workv1alpha1.ConditionManifestworkApplied, reason, message, metav1.ConditionFalse)
}

// InvalidOwnerLabel returns ManifestworkApplied for an object whose owner label would be longer than a label value may be.
func InvalidOwnerLabel(value string) metav1.Condition {
	return notApplied(workv1alpha1.ReasonInvalidManifestWorkName, fmt.Sprintf(
		"the label %s=%s of the works would have %d characters, and a label value may have at most %d: use a shorter name or namespace",
		workv1alpha1.LabelReplicaSet, value, len(value), workv1alpha1.MaxOwnerLabelLength))
}

// InvalidSpec returns ManifestworkApplied for an object whose spec can't be rolled out. The message names the field and the remedy.
func InvalidSpec(message string) metav1.Condition {
	return notApplied(workv1alpha1.ReasonNotAsExpected, message)
}

func join(parts ...string) string {
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "; ")
}

func progress(plan *rollout.Plan) string {
	parts := []string{fmt.Sprintf("%d of %s succeeded", plan.Counts[rollout.PhaseSucceeded], clusters(plan.Selected()))}
	for _, phase := range []struct {
		phase rollout.Phase
		words string
	}{
		{rollout.PhaseSoaking, "soaking"},
		{rollout.PhaseHandingOver, "available, with objects to delete that the revision does not have"},
		{rollout.PhaseInFlight, "in flight"},
		{rollout.PhaseValidating, "validating"},
		{rollout.PhaseWaiting, "waiting"},
		{rollout.PhaseTerminating, "waiting for an old ManifestWork to be deleted"},
		{rollout.PhaseTerminationTimedOut, "with an old ManifestWork that is stuck deleting"},
		{rollout.PhaseDegraded, "degraded"},
		{rollout.PhaseFailed, "failed"},
		{rollout.PhaseAgentUnknown, "not heard"},
		{rollout.PhaseCompleted, "completed at an older revision"},
		{rollout.PhaseSkipped, "skipped"},
		{rollout.PhaseHeld, "on hold"},
		{rollout.PhaseClosed, "outside their windows"},
	} {
		if n := plan.Counts[phase.phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase.words))
		}
	}
	return strings.Join(parts, ", ")
}

// failing names the clusters that hold up the rollout, by cause.
func failing(plan *rollout.Plan) string {
	parts := causes(plan)
	for _, kind := range []struct {
		phase rollout.Phase
		words string
	}{
		{rollout.PhaseDegraded, "degraded"},
		{rollout.PhaseTerminationTimedOut, "with a ManifestWork that has been deleting for longer than the progressDeadline: bring its agent back, or remove " +
			"the finalizers of the ManifestWork if the cluster is lost"},
		{rollout.PhaseCompleted, "completed at an older revision: agents do not change a completed ManifestWork, so delete it to get the new revision there"},
	} {
		var names []string
		for i := range plan.Failing {
			if f := &plan.Failing[i]; f.Phase == kind.phase && f.Rejected == "" {
				names = append(names, f.Cluster)
			}
		}
		if len(names) > 0 {
			parts = append(parts, rollout.Names(names)+" "+kind.words)
		}
	}
	return join(append(parts, rejected(plan), bare(plan), unheard(plan))...)
}

func unreached(in *Input) string {
	return Unreached(in.Snapshot.Unreached)
}

// Unreached names the clusters whose agents are available but do not receive the hub's events, with the remedy. It is empty for none.
func Unreached(clusters []string) string {
	if len(clusters) == 0 {
		return ""
	}
	return rollout.Names(clusters) + " not reached: the agent is connected or its cluster is available, but it does not report what the hub sent; " +
		"restart the work agent there, and check that no other client of the broker has its client ID"
}

// bare names the clusters that have no work while the rollout starts nothing; empty for none.
func bare(plan *rollout.Plan) string {
	if len(plan.Bare) == 0 {
		return ""
	}
	return rollout.Names(plan.Bare) + " without a ManifestWork: there is no stable revision to write there until the rollout continues"
}

// unheard names the clusters whose agents have not reported since this hub started, with the remedy; empty for none.
func unheard(plan *rollout.Plan) string {
	if len(plan.AgentUnknown) == 0 {
		return ""
	}
	return rollout.Names(plan.AgentUnknown) + " with no report since this hub started: no progressDeadline fires there before the agent reports; " +
		"connect the agent to the broker, or remove the cluster from the Placement"
}

// rejected names the clusters whose works the API server rejects. The text is the same before and after the deadline, because a newly
// started process does not know how long the rejection has lasted.
func rejected(plan *rollout.Plan) string {
	var names []string
	words := ""
	for i := range plan.Failing {
		if f := &plan.Failing[i]; f.Rejected != "" {
			names = append(names, f.Cluster)
			words = cmp.Or(words, f.Rejected)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the API server rejects the ManifestWork of cluster %s: %s; fix the cause: the hub retries the write %s",
			names[0], words, RetryInterval(plan))
	}
	return fmt.Sprintf("the API server rejects the ManifestWorks of %s, in %s: %s; fix the cause: the hub retries each write %s",
		rollout.Names(names), names[0], words, RetryInterval(plan))
}

// RetryInterval describes how often the hub retries the rejected writes of a plan.
func RetryInterval(plan *rollout.Plan) string {
	failed := func(f rollout.Failing) bool { return f.Rejected != "" && f.Phase == rollout.PhaseFailed }
	if slices.ContainsFunc(plan.Failing, failed) { // A failed cluster has no slot, but needs one for each retry.
		return "at least once a minute, within maxConcurrency"
	}
	return "at least once a minute"
}
