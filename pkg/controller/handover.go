package controller

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// handoverOf is how clusters pass from one revision to another; nil where the spec does not ask to keep what a revision drops (R28).
func (c *Controller) handoverOf(p *pass) *rollout.Handover {
	switch {
	case p.object.Spec.PruneStrategy != workv1alpha1.PruneWhenAvailable:
		return nil
	case c.agents != nil:
		return &rollout.Handover{Problem: brokerKeepsNothing}
	}
	return &rollout.Handover{Combine: c.combinations.Of}
}

// brokerKeepsNothing is why nothing is kept where works travel over a broker: a hub that is restarted rebuilds its works from what agents report, and
// they report the revision, not what is kept beside it.
const brokerKeepsNothing = "works that travel over a broker hold one revision exactly: use the API server (--work-driver=kube), or set spec.pruneStrategy to Immediate"

// combined is what a work of a revision holds together with the objects of another one; nil for nothing.
func (c *Controller) combined(p *pass, rev, kept *rollout.Revision) *handover.Combined {
	if rev == nil || kept == nil || rev.Template == nil || kept.Template == nil ||
		p.object.Spec.PruneStrategy != workv1alpha1.PruneWhenAvailable || c.agents != nil {
		return nil
	}
	return c.combinations.Of(rev, kept).Combined
}
