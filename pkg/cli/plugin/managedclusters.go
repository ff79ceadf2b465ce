package plugin

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// readManagedClusters reads which managed clusters are on hold, outside of their windows, or unavailable. If the user may not read
// ManagedClusters, the status has those that the hub knows.
func readManagedClusters(ctx context.Context, c *clients, objects *view.Objects) {
	list, err := c.clusters.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	objects.Holds, objects.Unavailable = map[string]placement.Hold{}, placement.Clusters{}
	for i := range list.Items {
		name := list.Items[i].Name
		report, exists := availability.Of(&list.Items[i])
		if !exists {
			continue
		}
		if hold, held, _ := report.Rule.At(objects.Now); held {
			objects.Holds[name] = hold
		}
		if !report.Available {
			objects.Unavailable[name] = placement.Cluster{UnavailableSince: report.Since}
		}
	}
}
