package controller

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/revisionwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// historyInterval is the interval at which a pass without a history checks whether a history is available.
const historyInterval = 15 * time.Second

// decide calls package lifecycle for the decision, and answers its requests.
func (c *Controller) decide(ctx context.Context, p *pass) (goOn bool, err error) {
	if p.reading.Later != nil {
		return false, c.reportInvalid(ctx, p, status.InvalidSpec(laterLedger(p.reading.Later)))
	}
	c.noteWorks(p)
	for {
		decision := lifecycle.Decide(&p.facts) // The only call that decides what the pass does.
		if decision.Request == nil {
			c.take(p, decision)
			return c.end(ctx, p)
		}
		if goOn, err := c.answer(ctx, p, decision.Request); !goOn {
			return false, err
		}
	}
}

// answer executes a request, and adds the result to the observation. It reports whether the pass continues.
func (c *Controller) answer(ctx context.Context, p *pass, request *lifecycle.Request) (goOn bool, err error) {
	if request.Action == lifecycle.ReadWorks {
		works, stale, err := c.readWorks(ctx, p, request)
		if err != nil || stale {
			p.lookAgain(memory.StaleInterval)
			return false, err
		}
		p.facts.Answers = append(p.facts.Answers, lifecycle.Answer{Key: request.Key, Result: lifecycle.Done, Works: works})
		return true, nil
	}
	if shown, err := c.verify(ctx, p); !shown {
		return false, err
	}
	p.facts.Answers = append(p.facts.Answers, c.perform(ctx, p, request))
	return true, nil
}

// laterLedger returns the message about an object whose ledger a later release of the hub wrote.
func laterLedger(err error) string {
	return fmt.Sprintf("a newer release of the hub wrote the ledger of this object: %v; "+
		"the hub leaves the object alone until that release runs again", err)
}

// take copies a decision into the pass, with its events and problems.
func (c *Controller) take(p *pass, decision lifecycle.Decision) {
	for i := range decision.Events {
		c.announceEvent(p, nil, &decision.Events[i])
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

// announceEvent emits an event about a decision. related is another object that the event is about; nil for none.
func (c *Controller) announceEvent(p *pass, related runtime.Object, event *lifecycle.Event) {
	if event.Once && !p.memory.Announce(event.Note) {
		return
	}
	eventType := corev1.EventTypeNormal
	if event.Warning {
		eventType = corev1.EventTypeWarning
	}
	c.event(p, related, eventType, event.Reason, event.Action, event.Note)
}

// end reports whether the pass continues. If not, it persists a decision, reports an invalid spec or returns the error.
func (c *Controller) end(ctx context.Context, p *pass) (bool, error) {
	switch p.End {
	case "":
		return true, nil
	case lifecycle.Decided:
		return false, c.persist(ctx, p, func() error { return c.patchLedger(ctx, p) })
	case lifecycle.InvalidSpec:
		return false, c.hold(ctx, p, status.InvalidSpec(c.problemMessage(p, p.Problem)))
	case lifecycle.InvalidOwnerLabel:
		return false, c.hold(ctx, p, status.InvalidOwnerLabel(p.facts.Owner))
	case lifecycle.Refused:
		return false, p.Failed.Err
	}
	return false, nil // The caches show the write first.
}

// hold reports a spec that can't be rolled out. Commands in the status are still executed.
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

// perform executes one request about a revision or the spec of a work, and emits its event.
func (c *Controller) perform(ctx context.Context, p *pass, request *lifecycle.Request) lifecycle.Answer {
	answer := lifecycle.Answer{Key: request.Key}
	var wrote *appsv1.ControllerRevision
	switch request.Action {
	case lifecycle.ReadSpec:
		answer.Spec, answer.Err = c.writer.Spec(ctx, &p.history, request.Work, request.Digest)
	case lifecycle.ReadLive:
		answer.Object, answer.Err = c.revisions.Read(ctx, p.object.Namespace, request)
	default:
		wrote, answer.Err = c.revisions.Write(ctx, p.object.Namespace, request)
	}
	if wrote != nil {
		c.wroteRevision(p, wrote)
		if request.Event != nil {
			c.announceEvent(p, wrote, request.Event)
		}
	}
	answer.Result = revisionwriter.ResultOf(request.Action, answer.Err)
	return answer
}
