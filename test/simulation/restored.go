package simulation

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// status returns the status as the API server has it, as a backup would.
func (w *World) status() *workv1alpha1.ManifestWorkReplicaSetStatus { return &w.Object().Status }

// restore replaces the status by another one.
func (w *World) restore(saved *workv1alpha1.ManifestWorkReplicaSetStatus, restart bool) {
	for _, status := range []any{nil, from(saved).Object} {
		w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": status}, true)
	}
	w.Tell("user: restores the status from a backup")
	w.restored = true
	if saved.AbortedTime != nil {
		w.remembered(saved.AbortedTime) // The abort is that of the backup.
	}
	if restart {
		w.Restart()
	}
}
