package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// rest takes the place of act while the object is paused: no work is written (R22). An abort stays under way that has works to write
// back. The works that it can't write back stay known, so that it is not unfinished because of them (R4). Other rejections are forgotten,
// as after each change of the spec: spec.paused is one.
func (r *deployReconciler) rest(p *pass) {
	p.aborting = p.snapshot.Aborted && p.plan.Behind > 0
	held := p.plan.Held
	results := make([]memory.Attempted, 0, len(held.Writes)+len(held.Deletes))
	for i := range held.Writes {
		results = append(results, memory.Attempted{Attempt: p.attemptOf(&held.Writes[i]), Err: memory.ErrLater})
	}
	for i := range held.Deletes {
		results = append(results, memory.Attempted{Attempt: deletionOf(&held.Deletes[i]), Err: memory.ErrLater})
	}
	r.namePersistentErrors(p, results)
}

// retried says when a write is tried again that the API server rejects.
func (p *pass) retried() string {
	if p.object.Spec.Paused {
		return "retried after the pause"
	}
	return "retried every minute"
}

// tellPause makes the event of a pause that began or ended with a status write.
func (c *Controller) tellPause(p *pass) {
	switch status.PauseOf(&p.object.Status, &p.answer.Status) {
	case status.PauseBegan:
		note := meta.FindStatusCondition(p.answer.Status.Conditions, workv1alpha1.ConditionPaused).Message
		c.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventPaused, "Pause", note)
	case status.PauseEnded:
		c.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventResumed, "Resume", "spec.paused is true no longer, and the hub goes on with what it held back")
	}
}
