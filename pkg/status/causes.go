package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// cause is the cause of some failures: the reason, and the messages from the agents.
type cause struct {
	reason  workv1alpha1.FailureReason
	message string
}

// phrases explain the reasons.
var phrases = map[workv1alpha1.FailureReason]string{
	workv1alpha1.FailureDeadlineExceeded:    "not successful within the progressDeadline",
	workv1alpha1.FailureDegraded:            "degraded for longer than the progressDeadline",
	workv1alpha1.FailureFlapping:            "did not stay healthy for long enough within twice the progressDeadline",
	workv1alpha1.FailureTerminationTimedOut: "not successful within the progressDeadline",
	workv1alpha1.FailureInvalidName:         "with an invalid name",
	workv1alpha1.FailureGate:                "with a success gate that is not True",
}

// causes lists the failed clusters by cause, the most frequent cause first. Clusters whose work the API server rejects are named
// separately.
func causes(plan *rollout.Plan) []string {
	clusters := map[cause][]string{}
	var order []cause
	for i := range plan.Failing {
		f := &plan.Failing[i]
		if f.Phase != rollout.PhaseFailed || f.Rejected != "" {
			continue
		}
		record := plan.Records.Failures[f.Cluster]
		why := cause{reason: cmp.Or(record.Reason, workv1alpha1.FailureDeadlineExceeded), message: ledger.Quoted(record.Message)}
		if clusters[why] == nil {
			order = append(order, why)
		}
		clusters[why] = append(clusters[why], f.Cluster)
	}
	slices.SortStableFunc(order, func(a, b cause) int { return cmp.Compare(len(clusters[b]), len(clusters[a])) })
	var parts []string
	for i, why := range order {
		if i == shown {
			rest := 0
			for _, other := range order[i:] {
				rest += len(clusters[other])
			}
			return append(parts, fmt.Sprintf("%d more failed for other reasons, see status.failures", rest))
		}
		text := rollout.Names(clusters[why]) + " " + cmp.Or(phrases[why.reason], phrases[workv1alpha1.FailureDeadlineExceeded])
		if why.message != "" {
			text += ": " + why.message
		}
		parts = append(parts, text)
	}
	return parts
}

// CompleteNote returns the note of the event about a complete rollout. It names the clusters that failed within maxFailures.
func CompleteNote(plan *rollout.Plan, revision string) string {
	if plan.Updated() == plan.Selected() {
		return "every cluster is at revision " + revision
	}
	return join(reached(plan)+" are at revision "+revision, tolerated(plan))
}

// reached counts the clusters that have the update revision, and those that are skipped or on hold.
func reached(plan *rollout.Plan) string {
	if plan.Updated() == plan.Selected() {
		return clusters(plan.Selected())
	}
	var passedOver []string
	if n := plan.Counts[rollout.PhaseSkipped]; n > 0 {
		passedOver = append(passedOver, fmt.Sprintf("%d skipped", n))
	}
	if n := plan.Counts[rollout.PhaseHeld]; n > 0 {
		passedOver = append(passedOver, fmt.Sprintf("%d on hold", n))
	}
	text := fmt.Sprintf("%d of %s", plan.Updated(), clusters(plan.Selected()))
	if len(passedOver) > 0 {
		text += " (" + strings.Join(passedOver, ", ") + ")"
	}
	return text
}

// tolerated names the failed clusters that do not prevent completion; empty for none.
func tolerated(plan *rollout.Plan) string {
	if plan.Tolerated() == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed within maxFailures and will get the revision when they recover: %s", plan.Tolerated(), failing(plan))
}
