package status

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// heldClusters returns the clusters on hold, and those whose windows are closed, as the status lists them; nil for none.
func heldClusters(clusters []rollout.HeldCluster) []workv1alpha1.HeldCluster {
	var listed []workv1alpha1.HeldCluster
	for i := range clusters[:min(len(clusters), workv1alpha1.MaxFailures)] {
		c := &clusters[i]
		listed = append(listed, workv1alpha1.HeldCluster{Cluster: c.Cluster, Placement: c.Placement, Reason: c.Reason, Until: seconds(c.Opens)})
	}
	return listed
}

// HoldsOf returns the holds that a status lists, for a reader without permission to read ManagedClusters; nil for none.
func HoldsOf(status *workv1alpha1.ManifestWorkReplicaSetStatus) map[string]placement.Hold {
	if len(status.Held) == 0 {
		return nil
	}
	holds := map[string]placement.Hold{}
	for i := range status.Held {
		hold := placement.Hold{Reason: status.Held[i].Reason}
		if until := status.Held[i].Until; until != nil {
			hold.Opens = until.Time
		}
		holds[status.Held[i].Cluster] = hold
	}
	return holds
}

// heldNote names the clusters on hold with their reasons, and those whose windows are closed with the next opening; empty for none.
func heldNote(in *Input) string {
	var onHold, closed []string
	var first time.Time
	for i := range in.Plan.OnHold {
		c := &in.Plan.OnHold[i]
		if c.Opens.IsZero() {
			onHold = append(onHold, c.Cluster+": "+c.Reason)
			continue
		}
		closed = append(closed, c.Cluster+" until "+c.Opens.UTC().Format(time.RFC3339))
		if first.IsZero() || c.Opens.Before(first) {
			first = c.Opens
		}
	}
	var hold, windows string
	if len(onHold) > 0 {
		hold = "on hold: " + rollout.Names(onHold) + "; each gets the revision after the hold is removed from its ManagedCluster"
	}
	if len(closed) > 0 {
		windows = "outside their windows: " + rollout.Names(closed) + "; the next window opens at " + first.UTC().Format(time.RFC3339)
	}
	return join(hold, windows)
}
