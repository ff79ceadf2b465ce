package plugin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// readManagedClusters reads which managed clusters are on hold, outside their windows, or unavailable. If the user has no permission to
// read ManagedClusters, it prints a note: the status then lists those clusters as of the hub's last write.
func (o *options) readManagedClusters(ctx context.Context, c *clients, objects *view.Objects) error {
	list, err := c.clusters.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case apierrors.IsForbidden(err):
		o.notef("note: no permission to list managedclusters: only the holds, windows and unavailable clusters in the status are known\n")
		return nil
	case err != nil:
		return fmt.Errorf("listing ManagedClusters: %w", err)
	}
	objects.Holds, objects.Unavailable = map[string]placement.Hold{}, placement.Clusters{}
	for i := range list.Items {
		name := list.Items[i].Name
		report, exists := availability.ReportOf(&list.Items[i])
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
	return nil
}
