package simulation

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// AnnotateCluster has an administrator put a hold, or windows, on a ManagedCluster; an empty value removes them.
func (w *World) AnnotateCluster(cluster, annotation, value string) {
	w.Tell("administrator: sets %s of %s to %q", annotation, cluster, value)
	var written any
	if value != "" {
		written = value
	}
	w.patch(Clusters, "", cluster, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: written}}}, false)
}

// Hold puts a cluster on hold; an empty reason ends the hold.
func (w *World) Hold(cluster, reason string) {
	w.AnnotateCluster(cluster, workv1alpha1.AnnotationHold, reason)
}

// Windows sets the windows of a cluster; empty for none.
func (w *World) Windows(cluster, windows string) {
	w.AnnotateCluster(cluster, workv1alpha1.AnnotationWindow, windows)
}
