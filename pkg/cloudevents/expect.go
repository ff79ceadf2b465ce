package cloudevents

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// answerPatience is how long an agent may take to answer before it counts as offline. Agents that are connected answer within a moment. An
// abort that has to ask an agent first is delayed by this time if the agent is offline.
const answerPatience = 3 * time.Second

// questions is how often an agent is asked in that time: a question may be lost, and so may an answer.
const questions = 3

// expectReport returns a function that reports whether the agent has reported the work since this call. The caller must call forget.
func (d *Driver) expectReport(cluster string, uid types.UID) (heard func() bool, forget func()) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(cluster, uid)
	r.readers++
	before := r.reports
	return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return r.reports > before
		}, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			r.readers--
			s.release(r)
		}
}

// awaitReport asks an agent, and waits for as long as a connected agent may take to answer. A broker can lose a report. An agent that
// answers a question while it sends another report can send the older of the two last. In both cases, the hub holds an outdated status
// until the agent is asked again. awaitReport fails if an agent does not answer while many agents report at once: it may still answer.
func (d *Driver) awaitReport(ctx context.Context, cluster string, heard func() bool) error {
	for range questions {
		if err := d.link.ask(ctx, cluster); err != nil {
			return err
		}
		if d.await(ctx, answerPatience/questions, heard) {
			return nil
		}
	}
	if !heard() && d.rush.excuses() {
		return apierrors.NewServiceUnavailable(fmt.Sprintf(
			"many agents report at once, and the agent of cluster %s has not answered within %s; it will be asked again", cluster, answerPatience))
	}
	return nil
}

// await waits until done returns true, at most for patience. It reports whether done returned true.
type await func(ctx context.Context, patience time.Duration, done func() bool) bool

// pollInterval is the time between two calls of done.
const pollInterval = 10 * time.Millisecond

// poll is the await of a running hub.
func poll(ctx context.Context, patience time.Duration, done func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(context.Context) (bool, error) { return done(), nil }) == nil
}
