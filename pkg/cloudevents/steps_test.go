package cloudevents

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"

	"github.com/open-cluster-management-io/work-rollback/internal/turns"
)

// stepped is a driver whose test performs the due tasks.
type stepped struct {
	*Driver
	queues  []*turns.Queue[Task]
	changes func() []watch.Event
}

func newStepped(o Options, transport options.CloudEventTransport, await await) *stepped {
	s := &stepped{}
	for range 3 {
		s.queues = append(s.queues, &turns.Queue[Task]{Clock: o.Clock, RetryAfter: RetryAfter, RetryAtMost: RetryAtMost})
	}
	s.Driver = Assemble(o, Parts{Transport: transport, Tasks: s.queues[0], Mends: s.queues[1], Sends: s.queues[2], Await: await})
	s.changes = s.Collect()
	return s
}

// step performs one task that is due, and reports whether there was one.
func (s *stepped) step(ctx context.Context) bool {
	for _, q := range s.queues {
		if q.IsDue() {
			return s.Do(ctx, q)
		}
	}
	return false
}

// next returns the time at which the next task is due.
func (s *stepped) next() (next time.Time) {
	for _, q := range s.queues {
		if at := q.Next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
