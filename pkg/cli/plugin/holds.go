package plugin

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// holds returns the holds of managed clusters; nil if the user may not read ManagedClusters. The status then has those that the hub knows.
func (c *clients) holds(ctx context.Context, now time.Time) map[string]placement.Hold {
	list, err := c.clusters.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	holds := map[string]placement.Hold{}
	for i := range list.Items {
		if report, exists := availability.Of(&list.Items[i]); exists {
			if hold, held, _ := report.Rule.At(now); held {
				holds[list.Items[i].Name] = hold
			}
		}
	}
	return holds
}
