package controller

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/revisionwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// historyInterval is how often a pass without a history checks whether there is one.
const historyInterval = 15 * time.Second

// revisionReconciler performs the decisions of package lifecycle about the revisions.
type revisionReconciler struct{ *Controller }

func (r *revisionReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	if goOn, err := r.noteSettings(ctx, p); !goOn {
		return false, err
	}
	if p.reading.Later != nil {
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(laterLedger(p.reading.Later)))
	}
	return r.follow(ctx, p)
}

// laterLedger returns the message about an object whose ledger a later release of the hub wrote.
func laterLedger(err error) string {
	return fmt.Sprintf("a later release of the hub wrote the ledger of this object: %v; "+
		"the hub leaves the object alone until that release runs again", err)
}

// follow performs the steps one by one, until the step is Proceed or Hold.
func (c *Controller) follow(ctx context.Context, p *pass) (goOn bool, err error) {
	for {
		step := lifecycle.Next(&p.facts)
		if step.Action != lifecycle.Proceed && step.Action != lifecycle.Hold {
			if shown, err := c.verify(ctx, p); !shown {
				return false, err
			}
			p.facts.Answers = append(p.facts.Answers, c.perform(ctx, p, &step))
			continue
		}
		klog.FromContext(ctx).V(4).Info("Planned", "action", step.Action, "why", step.Why)
		c.take(p, step.Decision)
		return c.end(ctx, p, &step)
	}
}

// take copies a decision into the pass, with its events and problems.
func (c *Controller) take(p *pass, decision lifecycle.Decision) {
	for i := range decision.Events {
		c.say(p, &decision.Events[i])
	}
	for _, problem := range decision.Problems {
		p.problem(c.problemMessage(p, problem))
	}
	decision.Events, decision.Problems = nil, nil
	p.Decision = decision
	if p.facts.NoHistory {
		p.lookAgain(historyInterval)
	}
}

// say makes an event about a decision.
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

// end reports whether the pass continues. If not, it persists a decision, reports an invalid spec or returns the error.
func (c *Controller) end(ctx context.Context, p *pass, step *lifecycle.Step) (bool, error) {
	switch {
	case step.Action == lifecycle.Proceed:
		return true, nil
	case step.Reason == lifecycle.Decided:
		c.lacksLedger(p)
		return false, c.persist(ctx, p, func() error { return c.patchLedger(ctx, p) })
	case step.Reason == lifecycle.InvalidSpec:
		return false, c.hold(ctx, p, status.InvalidSpec(c.problemMessage(p, step.Problem)))
	case step.Reason == lifecycle.InvalidOwnerLabel:
		return false, c.hold(ctx, p, status.InvalidOwnerLabel(p.facts.Owner))
	case step.Reason == lifecycle.Refused:
		return false, step.Failed.Err
	}
	return false, nil // The caches show the write first.
}

// hold reports a spec that can't be rolled out. Commands in the status are obeyed nevertheless.
func (c *Controller) hold(ctx context.Context, p *pass, applied metav1.Condition) error {
	report := func() error { return c.reportInvalid(ctx, p, applied) }
	if p.reading.Ledger.Seq > 0 && c.lacksLedger(p) {
		return c.persist(ctx, p, report)
	}
	return report()
}

// problemMessage returns the message of a problem for a condition.
func (c *Controller) problemMessage(p *pass, problem lifecycle.Problem) string {
	if problem.Failed == nil {
		return problem.Text
	}
	return c.refused(p, problem.Failed.Err) + problem.Text
}

// liveHashes returns the hashes of the revisions that are never pruned.
func (p *pass) liveHashes() sets.Set[string] { return p.facts.LiveHashes(&p.Ledger) }

// rolloutReconciler obeys users, and begins rollouts.
type rolloutReconciler struct{ *Controller }

func (r *rolloutReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	r.noteWorks(p)
	r.take(p, lifecycle.Begin(&p.facts, p.Decision))
	r.nameLostPlaces(p)
	return true, nil
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
	default:
		wrote, answer.Err = c.revisions.Write(ctx, p.object.Namespace, step)
	}
	if wrote != nil {
		c.wroteRevision(p, wrote)
		c.sayOf(p, step, wrote)
	}
	answer.Result = revisionwriter.ResultOf(step.Action, answer.Err)
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
