package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// shown is the plan that the status tells of.
func (p *pass) shown() *rollout.Plan {
	if p.standing != nil {
		return p.standing
	}
	return p.plan
}

// standing is what a status that says of a rollout that it stands still goes on to say while a process that began to watch a moment ago
// lets no deadline fire (R11) and no success count (R10): with every restart of the hub it would tell of a rollout that goes on, and
// stalls again (P7). Nothing is decided by it.
func standing(p *pass) *rollout.Plan {
	if !p.toldStanding() || p.plan.HandsOut() || !p.snapshot.BeganLately() {
		return nil
	}
	if watched := rollout.Decide(p.snapshot.Watched()); watched.Stalled {
		return watched
	}
	return nil
}

// toldStanding says that the status told, of this very rollout, that it is stalled.
func (p *pass) toldStanding() bool {
	before := &p.object.Status
	told := meta.FindStatusCondition(before.Conditions, workv1alpha1.ConditionProgressing)
	return told != nil && told.Reason == workv1alpha1.ReasonProgressDeadlineExceeded && told.ObservedGeneration == p.object.Generation &&
		before.UpdateRevision == p.revisions.UpdateRevision && before.AbortedTime == nil && !p.snapshot.Aborted
}
