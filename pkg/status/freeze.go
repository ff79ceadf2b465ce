package status

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// LedgerDropped is the message from the hub and the plugin about the effect of a CRD from another release.
const LedgerDropped = "the API server drops status.ledger"

// Freeze copies the fields that only this project's CRD has from the stored status to the wanted one. Other CRDs drop these fields, so
// without the copy, the hub would write them in each pass (P7).
func Freeze(wanted, stored *workv1alpha1.ManifestWorkReplicaSetStatus) {
	frozen := *stored
	frozen.Conditions = wanted.Conditions
	frozen.Summary, frozen.PlacementsSummary = wanted.Summary, wanted.PlacementsSummary
	without(&frozen.Summary, &stored.Summary)
	for i := range frozen.PlacementsSummary {
		placement, before := &frozen.PlacementsSummary[i], workv1alpha1.PlacementSummary{}
		if i < len(stored.PlacementsSummary) {
			before = stored.PlacementsSummary[i]
		}
		placement.Counted, placement.HaltedTime = before.Counted, before.HaltedTime
		without(&placement.Summary, &before.Summary)
	}
	*wanted = frozen
}

// without copies the counts that OCM's summary does not have.
func without(to, from *workv1alpha1.ManifestWorkReplicaSetSummary) {
	to.Failed, to.Waiting, to.InFlight = from.Failed, from.Waiting, from.InFlight
}
