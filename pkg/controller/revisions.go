package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// revisionReconciler does what package plan decides about the revisions (R1, R2, R3, R6, R7).
type revisionReconciler struct{ *Controller }

func (r *revisionReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	if err := r.observe(p); err != nil {
		return false, err
	}
	p.facts = r.factsOf(p)
	for said := 0; ; {
		step := plan.Next(&p.facts)
		for i := range step.Outcome.Events[said:] {
			r.say(p, &step.Outcome.Events[said+i])
		}
		said = len(step.Outcome.Events)
		if step.Action == plan.Proceed || step.Action == plan.Hold {
			return r.end(ctx, p, &step)
		}
		p.facts.Answers = append(p.facts.Answers, r.perform(ctx, p, &step))
	}
}

// factsOf is what the plan looks at. Where there is no history now, the pass goes on with none, and the plan sees what could be read last.
func (c *Controller) factsOf(p *pass) plan.View {
	view := plan.View{
		Now:             p.now,
		Object:          p.object.ManifestWorkReplicaSet,
		Unreadable:      p.object.decodeErr,
		PlacementsKnown: p.object.placementsKnown,
		Owner:           p.owner,
		Status:          p.revisions,
		History:         p.history,
		Works:           make([]rollout.Work, 0, len(p.works)),
		Refs:            p.refs,
		IgnoredRefs:     p.ignoredRefs,
		Memory:          c.memory.owners.recall(p.key),
	}
	if view.Unreadable == nil {
		view.Template, view.TemplateErr = c.contents.template(p.object.ManifestWorkReplicaSet)
	}
	for _, object := range p.works {
		view.Works = append(view.Works, rollout.Work{Object: object, Digest: c.memory.works.digest(object)})
	}
	if p.noHistory = c.historyProblem(); p.noHistory != "" {
		view.NoHistory, p.history = true, revision.History{}
	}
	return view
}

// say makes an event of something that the plan noticed.
func (c *Controller) say(p *pass, event *plan.Event) {
	if event.Once && !c.memory.told.announce(p.key, event.Note) {
		return
	}
	c.event(p, nil, typeOf(event), event.Reason, event.Action, event.Note)
}

func typeOf(event *plan.Event) string {
	if event.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// end takes the outcome over into the pass.
func (r *revisionReconciler) end(ctx context.Context, p *pass, step *plan.Step) (bool, error) {
	klog.FromContext(ctx).V(4).Info("Planned", "action", step.Action, "why", step.Why)
	outcome := &step.Outcome
	p.revisions, p.update, p.held, p.pending = outcome.Revisions, outcome.Update, outcome.Held, outcome.Pending
	for _, problem := range outcome.Problems {
		p.problem(r.wordsOf(p, problem))
	}
	if outcome.AwaitsHistory {
		p.lookAgain(historyInterval)
	}
	if rolledOut := outcome.RolledOut; rolledOut.Hash != "" {
		r.memory.owners.rolledOut(p.key, rolledOut.Hash, rolledOut.Digest)
	}
	if outcome.Unstable != "" {
		klog.FromContext(ctx).Info("Another hub rolled out since, no revision is known to be stable", "was", outcome.Unstable)
	}
	switch {
	case step.Action == plan.Proceed:
		return true, nil
	case step.Reason == plan.InvalidSpec:
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(r.wordsOf(p, step.Problem)))
	case step.Reason == plan.InvalidOwnerLabel:
		return false, r.reportInvalid(ctx, p, status.InvalidOwnerLabel(p.owner))
	case step.Reason == plan.Refused:
		return false, step.Failed.Err
	}
	return false, nil // The caches show the write first (R15).
}

// wordsOf are a problem's for a condition.
func (c *Controller) wordsOf(p *pass, problem plan.Problem) string {
	if problem.Failed == nil {
		return problem.Text
	}
	return c.refused(p, problem.Failed.Err) + problem.Text
}
