package controller

import (
	"context"
	"fmt"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// withoutSpec reports a spec that can't be read. Nothing is written, but for an abort that is under way: what it needs of the spec is which
// Placements select clusters, and no strategy (R4, R12).
func (r *revisionReconciler) withoutSpec(ctx context.Context, p *pass) (bool, error) {
	invalid := fmt.Sprintf("the object can't be read: %v; correct the field, for example write durations as 90s, 5m or 2h", p.object.decodeErr)
	if err := r.observe(p); err != nil {
		return false, err
	}
	told := p.revisions
	if p.rebuildStatus(); p.revisions.AbortedTime != nil && r.canGoBack(p) {
		return r.withoutRevision(ctx, p, invalid)
	}
	p.revisions = told
	return false, r.reportInvalid(ctx, p, status.InvalidSpec(invalid))
}

// canGoBack says whether the pass knows what an abort is carried out on, and by. Where placementRefs can't be read, every cluster would seem to
// be one that nothing selects.
func (r *revisionReconciler) canGoBack(p *pass) bool {
	return p.object.placementsKnown && r.historyProblem() == "" && len(p.owner) <= workv1alpha1.MaxOwnerLabelLength
}
