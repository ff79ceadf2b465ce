package simulation

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// status returns the status as the API server has it, as a backup would.
func (w *World) status() *workv1alpha1.ManifestWorkReplicaSetStatus { return &w.Object().Status }

// restore replaces the status.
func (w *World) restore(saved *workv1alpha1.ManifestWorkReplicaSetStatus, restart bool) {
	for _, status := range []any{nil, from(saved).Object} {
		w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": status}, true)
	}
	w.Tell("user: restores the status from a backup")
	w.restored = true
	for _, approval := range saved.Approvals {
		if key := approval.Revision + "/" + approval.Group; w.approvals.given[key] {
			w.approvals.asked[key] = true
		}
	}
	for _, hash := range []string{saved.CurrentRevision, saved.UpdateRevision} {
		// A pruned revision that the status names may stay during a pause: the template may have been edited since.
		if w.Object().Spec.Paused && !w.hasRevision(hash) {
			w.Irreparable.Insert(hash)
		}
	}
	if saved.AbortedTime != nil {
		w.remembered(saved.AbortedTime) // The abort is in the backup.
	}
	if restart {
		w.Restart()
	}
}

// hasRevision reports whether there is a ControllerRevision with a hash.
func (w *World) hasRevision(hash string) bool {
	_, err := w.API.Get(Revisions, Namespace, revision.Name(Name, hash))
	return err == nil
}
