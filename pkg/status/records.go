package status

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// report counts the clusters by phase.
func report(in *Input, out *workv1alpha1.ManifestWorkReplicaSetStatus) {
	if in.Stage == Aborted || in.Stage == Aborting {
		out.Summary.Failed = len(in.Ledger.TroublesIn(ledger.Failed))
		return
	}
	tally(&out.Summary, in.Plan.Counts)
	for i := range out.PlacementsSummary {
		tally(&out.PlacementsSummary[i].Summary, in.Plan.Refs[i].Phases)
	}
}

// tally sets the number of clusters in each phase. A soaking cluster counts as succeeded: after a restart, the hub waits a moment before a
// success is settled, and must not write the status because of that (P7).
func tally(summary *workv1alpha1.ManifestWorkReplicaSetSummary, clusters map[rollout.Phase]int) {
	summary.Failed = clusters[rollout.PhaseFailed] + clusters[rollout.PhaseTerminationTimedOut]
	summary.Waiting = clusters[rollout.PhaseWaiting] + clusters[rollout.PhaseTerminating]
	summary.Held = clusters[rollout.PhaseHeld] + clusters[rollout.PhaseClosed]
	summary.InFlight = clusters[rollout.PhaseInFlight] + clusters[rollout.PhaseValidating] + clusters[rollout.PhaseHandingOver] +
		clusters[rollout.PhaseDegraded] + clusters[rollout.PhaseAgentUnknown]
}
