package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// summarize counts every work of the owner by its conditions, in total and for the Placement in its label, and the clusters by phase.
// Updated counts clusters, and is 0 after an abort.
func summarize(in *Input) (workv1alpha1.ManifestWorkReplicaSetSummary, []workv1alpha1.PlacementSummary) {
	var total workv1alpha1.ManifestWorkReplicaSetSummary
	placements := make([]workv1alpha1.PlacementSummary, len(in.Plan.Refs))
	byName := map[string]int{}
	for i := range in.Plan.Refs {
		ref := &in.Plan.Refs[i]
		placements[i] = workv1alpha1.PlacementSummary{Name: ref.Name}
		placements[i].Summary.DesiredTotal = ref.Selected
		if in.Stage != Aborted {
			placements[i].Summary.Updated = ref.Updated
		}
		total.DesiredTotal += placements[i].Summary.DesiredTotal
		total.Updated += placements[i].Summary.Updated
		if _, taken := byName[ref.Name]; !taken {
			byName[ref.Name] = i
		}
	}
	written := make([]int, len(placements))
	for i := range in.Snapshot.Works {
		w := &in.Snapshot.Works[i]
		conditions := reportedBy(w)
		conditions.addTo(&total)
		if ref, ok := byName[w.PlacementName()]; ok {
			conditions.addTo(&placements[ref].Summary)
			if in.Plan.Selects(w.Cluster()) && w.At(in.Snapshot.Update) {
				written[ref]++ // Regardless of its agent's report.
			}
		}
	}
	aborting := in.Stage == Aborted || in.Stage == Aborting
	if aborting {
		total.Failed = len(in.Ledger.TroublesIn(ledger.Failed))
	} else {
		tally(&total, in.Plan.Counts)
	}
	for i := range placements {
		if !aborting {
			tally(&placements[i].Summary, in.Plan.Refs[i].Phases)
		}
		known := ptr.Deref(in.Plan.Refs[i].Placement, placement.Placement{})
		// The format and the count are upstream's, because users have scripts that read them.
		placements[i].AvailableDecisionGroups = fmt.Sprintf("%d (%d / %d clusters applied)",
			len(known.Groups), written[i], known.Selected)
	}
	return total, placements
}

// reported are the conditions of a work that are True, each 0 or 1.
type reported struct{ applied, available, degraded, progressing int }

func reportedBy(work *work.Work) (r reported) {
	for i := range work.Object.Status.Conditions {
		found := &work.Object.Status.Conditions[i]
		if found.Status != metav1.ConditionTrue || !observed(work, found) {
			continue
		}
		switch found.Type {
		case workv1.WorkApplied:
			r.applied = 1
		case workv1.WorkAvailable:
			r.available = 1
		case workv1.WorkDegraded:
			r.degraded = 1
		case workv1.WorkProgressing:
			r.progressing = 1
		}
	}
	return r
}

func (r reported) addTo(summary *workv1alpha1.ManifestWorkReplicaSetSummary) {
	summary.Total++
	summary.Applied += r.applied
	summary.Available += r.available
	summary.Degraded += r.degraded
	summary.Progressing += r.progressing
}

// tally sets the number of clusters in each phase. A soaking cluster counts as succeeded: after a restart, the hub waits for a moment
// until a success is settled, and must not write the status because of this wait (P7).
func tally(summary *workv1alpha1.ManifestWorkReplicaSetSummary, clusters map[rollout.Phase]int) {
	summary.Failed = clusters[rollout.PhaseFailed] + clusters[rollout.PhaseTerminationTimedOut]
	summary.Waiting = clusters[rollout.PhaseWaiting] + clusters[rollout.PhaseTerminating]
	summary.Held = clusters[rollout.PhaseHeld] + clusters[rollout.PhaseClosed]
	summary.InFlight = clusters[rollout.PhaseInFlight] + clusters[rollout.PhaseValidating] + clusters[rollout.PhaseHandingOver] +
		clusters[rollout.PhaseDegraded] + clusters[rollout.PhaseAgentUnknown]
}

// observed also accepts an Available condition without a generation, as the rollout does.
func observed(work *work.Work, found *metav1.Condition) bool {
	return work.Observed(found) || (found.Type == workv1.WorkAvailable && found.ObservedGeneration == 0)
}
