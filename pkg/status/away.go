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
		listed = append(listed, workv1alpha1.AwayCluster{Cluster: c.Cluster, Placement: c.Placement, Since: seconds(c.Since)})
	}
	return listed
}

// AwayOf returns the availability of the clusters that a status lists as away, for a reader that may not read ManagedClusters.
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

// awayNote names the clusters that are away, and says what becomes of their works; empty for none.
func awayNote(in *Input) string {
	plan := in.Plan
	if len(plan.Away) == 0 {
		return ""
	}
	names := make([]string, 0, len(plan.Away))
	for i := range plan.Away {
		name := plan.Away[i].Cluster
		if since := plan.Away[i].Since; !since.IsZero() {
			name += " since " + since.UTC().Format(time.RFC3339)
		}
		names = append(names, name)
	}
	const away = " away: unavailable, and selected by no Placement; such a cluster keeps its ManifestWork until "
	if in.ClustersNote != "" {
		return rollout.Names(names) + away + "this hub can read ManagedClusters"
	}
	return rollout.Names(names) + away + "it has been available for a minute and is still not selected; bring its agent back, or delete its " +
		"ManagedCluster if the cluster is lost"
}

// awaitedAway names the clusters that are away and whose result is awaited; empty for none.
func awaitedAway(plan *rollout.Plan) string {
	if len(plan.AwaitedAway) == 0 {
		return ""
	}
	verb := "are"
	if len(plan.AwaitedAway) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("waiting for the result of %s that %s away", rollout.Names(plan.AwaitedAway), verb)
}
