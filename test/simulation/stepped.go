package simulation

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"

	"github.com/open-cluster-management-io/work-rollback/internal/turns"
	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
)

// stepped is a driver without goroutines or timers: the simulation decides what happens next. So it plays brokers that lose, duplicate,
// reorder and delay events, and can repeat what it played.
type stepped struct {
	*cloudevents.Driver
	// queues are the queues of the driver. The first one has the events to read.
	queues []*turns.Queue[cloudevents.Task]
	// changes returns the changes to works since it was last called, as an informer would see them.
	changes func() []watch.Event
}

// newStepped returns a driver over a transport that is not connected yet. While the driver waits for agents, await lets the world continue.
func newStepped(
	o cloudevents.Options, transport options.CloudEventTransport, await func(ctx context.Context, patience time.Duration, done func() bool) bool,
) *stepped {
	s := &stepped{}
	for range 3 {
		s.queues = append(s.queues, &turns.Queue[cloudevents.Task]{
			Clock: o.Clock, RetryAfter: cloudevents.RetryAfter, RetryAtMost: cloudevents.RetryAtMost,
		})
	}
	s.Driver = cloudevents.Assemble(o, cloudevents.Parts{
		Transport: transport, Tasks: s.queues[0], Mends: s.queues[1], Sends: s.queues[2], Await: await,
	})
	s.changes = s.Collect()
	return s
}

// step performs one due task other than reading events, and reports whether there was one.
func (s *stepped) step(ctx context.Context) bool {
	for _, q := range s.queues[1:] {
		if q.IsDue() {
			return s.Do(ctx, q)
		}
	}
	return false
}

// next returns the time at which the next task is due if no event is read before the given time; zero if there is no
// task.
func (s *stepped) next(deaf time.Time) (next time.Time) {
	for i, q := range s.queues {
		at := q.Next()
		if i == 0 && !at.IsZero() {
			at = later(at, deaf)
		}
		next = earliest(next, at)
	}
	return next
}
