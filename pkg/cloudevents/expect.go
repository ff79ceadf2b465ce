package cloudevents

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// answerPatience is how long an agent may take to answer before it counts as offline. Agents that are connected answer within a moment.
// An abort that an agent is asked for first is late by this much where that agent is offline.
const answerPatience = 3 * time.Second

// questions is how often an agent is asked in that time: a question may be lost, and so may an answer.
const questions = 3

// expectReport returns a channel that is closed when the next report of a work comes. The caller has to call forget.
func (d *Driver) expectReport(cluster string, uid types.UID) (answered <-chan struct{}, forget func()) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(cluster, uid)
	if r.expected == nil {
		r.expected = make(chan struct{})
	}
	next := r.expected
	return next, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.expected == next {
			r.expected = nil
		}
		s.release(r)
	}
}

// awaitReport asks an agent, and waits for its answer for as long as one that is connected may take. A broker can lose a report, and an
// agent that answers one question while it reports something else can send the older of the two last: what the hub holds then is not what
// the agent says when it is asked again. awaitReport fails where an agent does not answer while many agents report at once: it may do
// so yet.
func (d *Driver) awaitReport(ctx context.Context, cluster string, answered <-chan struct{}) error {
	heard := func() bool {
		select {
		case <-answered:
			return true
		default:
			return false
		}
	}
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
			"many agents report at once, and that of cluster %s has not answered within %s; it is asked again", cluster, answerPatience))
	}
	return nil
}

// await waits until what it asks about is true, for as long as patience lasts. It reports whether it is true.
type await func(ctx context.Context, patience time.Duration, done func() bool) bool

// pollInterval is how often it is asked.
const pollInterval = 10 * time.Millisecond

// poll is the await of a hub that runs.
func poll(ctx context.Context, patience time.Duration, done func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(context.Context) (bool, error) { return done(), nil }) == nil
}
