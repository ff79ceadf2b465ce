package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/revisionwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// historyInterval is how often a pass without a history checks whether there is one.
const historyInterval = 15 * time.Second

// revisionReconciler performs the decisions of package lifecycle about the revisions.
type revisionReconciler struct{ *Controller }

func (r *revisionReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	if err := r.observe(p); err != nil {
		return false, err
	}
	if goOn, err := r.noteSettings(ctx, p); !goOn {
		return false, err
	}
	return r.follow(ctx, p, func(lifecycle.Decision) lifecycle.Step { return lifecycle.Next(&p.facts) })
}

// taken counts the events and problems of the plan that this pass has processed. Each step repeats the earlier ones and adds to them.
type taken struct{ events, problems int }

// follow performs one step after the other, until the plan proceeds or holds. Each step starts from the decision of the previous chain.
func (c *Controller) follow(ctx context.Context, p *pass, next func(found lifecycle.Decision) lifecycle.Step) (goOn bool, err error) {
	p.facts.Answers = nil
	for found, already := p.Decision, (taken{}); ; {
		step := next(found)
		c.takeOver(p, &step.Outcome, &already)
		if step.Action == lifecycle.Proceed || step.Action == lifecycle.Hold {
			klog.FromContext(ctx).V(4).Info("Planned", "action", step.Action, "why", step.Why)
			pruned := func(a lifecycle.Answer) bool { return a.Result == lifecycle.Pruned }
			p.facts.Memory.Pruned = p.facts.Memory.Pruned || slices.ContainsFunc(p.facts.Answers, pruned)
			c.remember(ctx, p, &step.Outcome)
			return c.end(ctx, p, &step)
		}
		p.facts.Answers = append(p.facts.Answers, c.perform(ctx, p, &step))
	}
}

// takeOver takes the decision so far into the pass, and processes what is new for users.
func (c *Controller) takeOver(p *pass, outcome *lifecycle.Outcome, already *taken) {
	p.Decision, p.urgent = outcome.Decision, p.urgent || outcome.Urgent
	for i := already.events; i < len(outcome.Events); i++ {
		c.say(p, &outcome.Events[i])
	}
	for _, problem := range outcome.Problems[already.problems:] {
		p.problem(c.problemMessage(p, problem))
	}
	already.events, already.problems = len(outcome.Events), len(outcome.Problems)
}

// remember stores the facts that the plan wants remembered, once for each of its chains.
func (c *Controller) remember(ctx context.Context, p *pass, outcome *lifecycle.Outcome) {
	if outcome.AwaitsHistory {
		p.lookAgain(historyInterval)
	}
	if outcome.Unstable != "" {
		klog.FromContext(ctx).Info("Another hub rolled out since, no revision is known to be stable", "was", outcome.Unstable)
	}
	c.memory.Owners.Note(p.key, outcome)
}

// say makes an event that the plan asks for.
func (c *Controller) say(p *pass, event *lifecycle.Event) {
	if event.Once && !c.memory.Reports.Announce(p.key, event.Note) {
		return
	}
	c.event(p, nil, typeOf(event), event.Reason, event.Action, event.Note)
}

func typeOf(event *lifecycle.Event) string {
	if event.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// end reports whether the pass continues. If not, it reports an invalid spec or returns the error.
func (c *Controller) end(ctx context.Context, p *pass, step *lifecycle.Step) (bool, error) {
	switch {
	case step.Action == lifecycle.Proceed:
		return true, nil
	case step.Reason == lifecycle.InvalidSpec:
		return false, c.reportInvalid(ctx, p, status.InvalidSpec(c.problemMessage(p, step.Problem)))
	case step.Reason == lifecycle.InvalidOwnerLabel:
		return false, c.reportInvalid(ctx, p, status.InvalidOwnerLabel(p.facts.Owner))
	case step.Reason == lifecycle.Refused:
		return false, step.Failed.Err
	}
	return false, nil // The caches show the write first.
}

// problemMessage returns the message of a problem for a condition.
func (c *Controller) problemMessage(p *pass, problem lifecycle.Problem) string {
	if problem.Failed == nil {
		return problem.Text
	}
	return c.refused(p, problem.Failed.Err) + problem.Text
}

// liveHashes returns the hashes of the revisions that are never pruned.
func (p *pass) liveHashes() sets.Set[string] { return p.facts.LiveHashes(&p.Revisions) }

// rolloutReconciler begins rollouts, and persists the deciding fields before any work is written.
type rolloutReconciler struct{ *Controller }

func (r *rolloutReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	r.noteWorks(p)
	return r.follow(ctx, p, func(found lifecycle.Decision) lifecycle.Step { return lifecycle.Begin(&p.facts, found) })
}

// perform performs one step, and makes its event.
func (c *Controller) perform(ctx context.Context, p *pass, step *lifecycle.Step) lifecycle.Answer {
	answer := lifecycle.Answer{Key: step.Key}
	var wrote *appsv1.ControllerRevision
	switch step.Action {
	case lifecycle.ReadSpec:
		answer.Spec, answer.Err = c.writer.Spec(ctx, &p.history, step.Work, step.Digest)
	case lifecycle.ReadLive:
		answer.Object, answer.Err = c.revisions.Read(ctx, p.object.Namespace, step)
	case lifecycle.BumpCollision:
		answer.Err = c.collide(ctx, p, step.Collisions)
	case lifecycle.PersistStatus:
		answer.Err = c.persist(ctx, p, step)
	case lifecycle.RemoveAbort:
		answer.Err = c.removeAbort(ctx, p, step.Event)
	default:
		wrote, answer.Err = c.revisions.Write(ctx, p.object.Namespace, step)
	}
	if wrote != nil {
		c.wroteRevision(p, wrote)
		c.sayOf(p, step, wrote)
	}
	answer.Result = revisionwriter.ResultOf(step.Action, answer.Err)
	if answer.Err == nil && step.Action == lifecycle.PersistStatus {
		answer.Result = c.persisted(p)
	}
	return answer
}

// sayOf makes the event of a revision that was written.
func (c *Controller) sayOf(p *pass, step *lifecycle.Step, wrote *appsv1.ControllerRevision) {
	if step.Event == nil {
		return
	}
	if step.Action == lifecycle.Renumber {
		wrote = step.Revision
	}
	c.event(p, wrote, typeOf(step.Event), step.Event.Reason, step.Event.Action, step.Event.Note)
}

// persist writes the deciding fields into the status, with the conditions that report them. If the rollout is aborted, this process
// remembers why.
func (c *Controller) persist(ctx context.Context, p *pass, step *lifecycle.Step) error {
	p.plan = step.Plan
	if step.Stage != status.Aborting {
		return c.patchStatus(ctx, p, cmp.Or(step.Stage, stageOf(p)), abortReason(p))
	}
	reason := step.Outcome.AbortedFor
	c.memory.Owners.AbortedFor(p.key, p.Revisions.AbortedTime, reason)
	if err := c.patchStatus(ctx, p, step.Stage, reason); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Aborting the rollout", "revision", p.Update.Name, "backTo", p.Snapshot.Current.Name, "reason", reason)
	return nil
}

// persisted returns whether the API server kept the persisted fields.
func (c *Controller) persisted(p *pass) lifecycle.Result {
	if c.memory.Owners.PrunedLately(p.key, p.now) {
		return lifecycle.Pruned
	}
	return lifecycle.Done
}

// removeAbort removes only status.abortedTime, status.abortedBy and status.abortReason. The event says why.
func (c *Controller) removeAbort(ctx context.Context, p *pass, event *lifecycle.Event) error {
	cleared := p.object.Status.DeepCopy()
	cleared.AbortedTime = nil
	status.KeepAbort(cleared, &p.object.Status)
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *cleared, p.object.Status)
	if err == nil && written {
		c.say(p, event)
	}
	return err
}

// collide persists that a hash is taken. The next pass tries the next one.
func (c *Controller) collide(ctx context.Context, p *pass, count int32) error {
	bumped := p.object.Status.DeepCopy()
	bumped.CollisionCount = ptr.To(count)
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *bumped, p.object.Status)
	if err == nil && written && p.answer.Status.CollisionCount == nil {
		// An older CRD drops the count, so no event of the object leads to the next pass.
		c.memory.Owners.Collided(p.key, count)
		p.urgent = true
		p.lookAgain(time.Millisecond)
	}
	return err
}
