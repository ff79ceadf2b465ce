package lifecycle

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// keepsDropped reports whether the spec asks to keep objects that a revision drops until it is available.
func (v *View) keepsDropped() bool {
	return v.Object.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable
}

// handover is how clusters pass from one revision to another. Without a history nothing says what a cluster had before, and works that keep
// objects are left alone until there is one again.
func (v *View) handover() *rollout.Handover {
	if v.NoHistory && v.Notes.Handover != nil {
		return &rollout.Handover{Problem: "there is no revision history that says what a cluster had before", Unknown: v.Notes.Handover.Unknown}
	}
	return v.Notes.Handover
}
