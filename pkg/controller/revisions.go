package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
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
	return r.follow(ctx, p, func() plan.Step { return plan.Next(&p.facts) })
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
		Memory:          c.memory.Owners.Recall(p.key, p.now),
	}
	if view.Unreadable == nil {
		view.Template, view.TemplateErr = c.contents.Template(p.object.ManifestWorkReplicaSet)
	}
	for _, object := range p.works {
		view.Works = append(view.Works, rollout.Work{Object: object, Digest: c.memory.Works.Digest(object)})
	}
	if p.noHistory = c.historyProblem(); p.noHistory != "" {
		view.NoHistory, view.HistoryNote, p.history = true, p.noHistory, revision.History{}
	}
	return view
}

// taken is how much of what the plan says this pass has taken over: a step says all again, and adds to it.
type taken struct{ events, problems int }

// follow does one step after the other, until the plan proceeds or holds.
func (c *Controller) follow(ctx context.Context, p *pass, next func() plan.Step) (goOn bool, err error) {
	p.facts.Answers = nil
	for already := (taken{}); ; {
		step := next()
		c.takeOver(p, &step.Outcome, &already)
		if step.Action == plan.Proceed || step.Action == plan.Hold {
			klog.FromContext(ctx).V(4).Info("Planned", "action", step.Action, "why", step.Why)
			p.facts.Memory.Pruned = p.facts.Memory.Pruned || slices.ContainsFunc(p.facts.Answers, func(a plan.Answer) bool { return a.Result == plan.Pruned })
			c.remember(ctx, p, &step.Outcome)
			return c.end(ctx, p, &step)
		}
		p.facts.Answers = append(p.facts.Answers, c.perform(ctx, p, &step))
	}
}

// outcome is what the steps before this one came to.
func (p *pass) outcome() plan.Outcome {
	return plan.Outcome{
		Revisions: p.revisions, Update: p.update, Held: p.held, Pending: p.pending, Snapshot: p.snapshot, Aborting: p.aborting,
	}
}

// takeOver takes the outcome so far over into the pass.
func (c *Controller) takeOver(p *pass, outcome *plan.Outcome, already *taken) {
	p.revisions, p.update, p.held, p.pending = outcome.Revisions, outcome.Update, outcome.Held, outcome.Pending
	p.snapshot, p.aborting, p.urgent = outcome.Snapshot, outcome.Aborting, p.urgent || outcome.Urgent
	for i := already.events; i < len(outcome.Events); i++ {
		c.say(p, &outcome.Events[i])
	}
	for _, problem := range outcome.Problems[already.problems:] {
		p.problem(c.wordsOf(p, problem))
	}
	already.events, already.problems = len(outcome.Events), len(outcome.Problems)
}

// remember notes what the plan wants remembered, once for each of its chains.
func (c *Controller) remember(ctx context.Context, p *pass, outcome *plan.Outcome) {
	if outcome.AwaitsHistory {
		p.lookAgain(historyInterval)
	}
	if outcome.Unstable != "" {
		klog.FromContext(ctx).Info("Another hub rolled out since, no revision is known to be stable", "was", outcome.Unstable)
	}
	c.memory.Owners.Note(p.key, outcome)
}

// say makes an event of something that the plan noticed.
func (c *Controller) say(p *pass, event *plan.Event) {
	if event.Once && !c.memory.Told.Announce(p.key, event.Note) {
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

// end hands the outcome on, or ends the pass.
func (c *Controller) end(ctx context.Context, p *pass, step *plan.Step) (bool, error) {
	switch {
	case step.Action == plan.Proceed:
		return true, nil
	case step.Reason == plan.InvalidSpec:
		return false, c.reportInvalid(ctx, p, status.InvalidSpec(c.wordsOf(p, step.Problem)))
	case step.Reason == plan.InvalidOwnerLabel:
		return false, c.reportInvalid(ctx, p, status.InvalidOwnerLabel(p.owner))
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

// liveHashes are those that are never pruned (R5).
func (p *pass) liveHashes() sets.Set[string] { return p.facts.LiveHashes(&p.revisions) }
