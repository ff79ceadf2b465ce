package controller

import (
	"context"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
)

// timeFormat is how annotations hold times.
const timeFormat = time.RFC3339Nano

// rolloutReconciler begins rollouts, and sees to it that what decides is persisted before any work is written (R4, R16).
type rolloutReconciler struct{ *Controller }

func (r *rolloutReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	r.noteWorks(p)
	found := p.outcome()
	return r.follow(ctx, p, func() plan.Step { return plan.Begin(&p.facts, found) })
}
