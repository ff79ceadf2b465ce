package status

import (
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// away returns the clusters that are away as the status lists them; nil for none.
func away(clusters []rollout.AwayCluster) []workv1alpha1.AwayCluster {
	var listed []workv1alpha1.AwayCluster
	for i := range clusters {
		if i == workv1alpha1.MaxFailures {
			break
		}
		c := &clusters[i]
		listed = append(listed, workv1alpha1.AwayCluster{Cluster: c.Cluster, Placement: c.Placement, Since: seconds(c.Since), Skipped: c.Skipped})
	}
	return listed
}

// AwayOf returns the availability of the clusters that a status lists as away, for a reader without permission to read ManagedClusters.
func AwayOf(status *workv1alpha1.ManifestWorkReplicaSetStatus) placement.Clusters {
	clusters := placement.Clusters{}
	for i := range status.Away {
		known := placement.Cluster{}
		if since := status.Away[i].Since; since != nil {
			known.UnavailableSince = since.Time
		}
		clusters[status.Away[i].Cluster] = known
	}
	return clusters
}

// awayNote names the clusters that are away, and explains what happens to their works; empty for none.
func awayNote(in *Input) string {
	var names, skipped []string
	for i := range in.Plan.Away {
		name := in.Plan.Away[i].Cluster
		if since := in.Plan.Away[i].Since; !since.IsZero() {
			name += " since " + since.UTC().Format(time.RFC3339)
		}
		if in.Plan.Away[i].Skipped {
			skipped = append(skipped, name)
		} else {
			names = append(names, name)
		}
	}
	return join(droppedNote(in, names), skippedNote(skipped), heldNote(in))
}

// skippedNote names the skipped clusters, and explains when they get the revision; empty if no cluster is skipped.
func skippedNote(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return rollout.Names(names) + " unavailable and skipped: a skipped cluster gets the revision once it has been available for a minute"
}

// skipUnusable returns the reason why unavailableClusters: Skip has no effect; empty if it is unset or has an effect.
func skipUnusable(in *Input) string {
	why, stays := "this hub can't read ManagedClusters",
		"; a cluster that status.away lists as skipped stays skipped until the hub can read ManagedClusters"
	switch {
	case !in.Object.Spec.SkipsUnavailable():
		return ""
	case in.Snapshot.Heard != nil:
		why, stays = "the ManifestWorks travel over a broker", ""
	case in.ClustersNote == "":
		return ""
	}
	return "unavailableClusters: Skip has no effect, because " + why + stays
}

// droppedNote names the clusters that are away and that no Placement selects, and explains how long they keep their works.
func droppedNote(in *Input, names []string) string {
	if len(names) == 0 {
		return ""
	}
	const away = " away: unavailable, and not selected by any Placement; such a cluster keeps its ManifestWork until "
	if in.ClustersNote != "" {
		return rollout.Names(names) + away + "this hub can read ManagedClusters"
	}
	return rollout.Names(names) + away + "it has been available for a minute and is still not selected; bring its agent back, or delete its " +
		"ManagedCluster if the cluster is lost"
}

// awaitedAway names the clusters that are away and whose result is awaited; empty for none. While a selection is unknown, the hub
// does not know whether a cluster is away.
func awaitedAway(plan *rollout.Plan) string {
	if len(plan.AwaitedAway) == 0 || plan.Unknown() {
		return ""
	}
	verb := "are"
	if len(plan.AwaitedAway) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("waiting for the result of %s that %s away", rollout.Names(plan.AwaitedAway), verb)
}
