package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// lookEvery is the interval at which the story reads the API objects.
const lookEvery = 200 * time.Millisecond

// player plays the story on a sandbox.
type player struct {
	sandbox  *sandbox.Sandbox
	observer *observer
	teller   *teller

	// first is the hash of the first revision.
	first string
	// seen holds the reasons of Progressing during this step.
	seen map[string]bool
	// stuck is true if a cluster was stuck during this step. A late read may find that the cluster has recovered.
	stuck bool
}

// Play plays the story. It returns nil only if the API objects have proved every step.
func Play(ctx context.Context, s *sandbox.Sandbox, out io.Writer) error {
	observer, err := newObserver(s)
	if err != nil {
		return err
	}
	teller, err := newTeller(out, s.Hub.RESTConfig())
	if err != nil {
		return err
	}
	p := &player{sandbox: s, observer: observer, teller: teller}
	all := p.steps()
	for i, step := range all {
		teller.start(i+1, len(all), step.title, step.why)
		if err := p.play(ctx, i+1, step); err != nil {
			return fmt.Errorf("step %d of %d, %q: %w", i+1, len(all), step.title, err)
		}
	}
	return nil
}

// limit is the maximum duration of a step: the deadline and the soak of every cluster, and a margin for a slow machine.
func (p *player) limit() time.Duration {
	return time.Minute + time.Duration(len(p.observer.clusters))*30*time.Second
}

func (p *player) play(ctx context.Context, number int, step step) error {
	p.seen, p.stuck = map[string]bool{}, false
	if step.do != nil {
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	var open error
	err := wait.PollUntilContextTimeout(ctx, lookEvery, p.limit(), true, func(ctx context.Context) (bool, error) {
		left, err := p.look(ctx, number, step)
		// A read that the time limit interrupts does not show which checks are still open.
		if ctx.Err() == nil {
			open = left
		}
		return left == nil, err
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wait.Interrupted(err) && open != nil {
		return fmt.Errorf("not proved after %v:\n%w", p.limit(), open)
	}
	return err
}

// look observes once, shows the result, and returns the open checks. The second error ends the story.
func (p *player) look(ctx context.Context, number int, step step) (open, fatal error) {
	if ended, err := p.sandbox.WorkHub.Process().Exited(); ended {
		return nil, fmt.Errorf("the work hub must not end: %w", err)
	}
	f, err := p.observer.observe(ctx)
	if err != nil {
		// A server that is slow for a moment does not end the story, but the time limit does.
		return err, nil
	}
	p.remember(f)
	if step.always != nil {
		if err := step.always(f); err != nil {
			return nil, err
		}
	}
	shown, err := p.teller.read(ctx)
	if err != nil {
		return err, nil
	}
	var errs []error
	var outcomes []outcome
	for _, check := range step.checks {
		err := check.prove(f)
		errs = append(errs, err)
		outcomes = append(outcomes, outcome{text: check.text, done: err == nil})
	}
	if open = errors.Join(errs...); open != nil {
		return open, p.teller.show(shown, outcomes)
	}
	return nil, p.teller.finish(number, shown, outcomes)
}

func (p *player) remember(f *facts) {
	for i := range f.clusters {
		p.stuck = p.stuck || f.clusters[i].stuck()
	}
	if p.first == "" {
		p.first = f.mwrs.Status.CurrentRevision
	}
	progressing := meta.FindStatusCondition(f.mwrs.Status.Conditions, workv1alpha1.ConditionProgressing)
	// Right after an edit, the condition still has the reason of the last rollout.
	if progressing != nil && progressing.ObservedGeneration == f.mwrs.Generation {
		p.seen[progressing.Reason] = true
	}
}

// Begin creates the first version of the story's workload, and leaves the rest to the reader.
func Begin(ctx context.Context, s *sandbox.Sandbox) error {
	observer, err := newObserver(s)
	if err != nil {
		return err
	}
	return (&player{observer: observer}).create(true)(ctx)
}
