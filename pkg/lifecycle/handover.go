package lifecycle

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// keepsDropped reports whether the spec requests that objects that a revision drops are kept until that revision is available.
func (v *Observation) keepsDropped() bool {
	return v.Object.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable
}

// handover returns how clusters pass from one revision to another. Without a history, the hub does not know what a cluster had before.
// Until the history can be read again, it does not touch works that keep dropped objects.
func (v *Observation) handover() *rollout.Handover {
	if v.NoHistory && v.Notes.Handover != nil {
		return &rollout.Handover{Problem: "without a revision history, the hub does not know what a cluster had before", Unknown: v.Notes.Handover.Unknown}
	}
	return v.Notes.Handover
}
