package cloudevents

import (
	"context"
	"slices"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

// Stepped is a Driver that does nothing by itself: it has no goroutine and no timer, and its caller decides what happens next. So a
// simulation plays brokers that lose, double, reorder and delay events, and can repeat what it played.
type Stepped struct {
	*Driver
	turns   []*turns
	changes *watcher
}

// NewStepped makes a driver over a transport that its caller plays, and that is not connected yet. Where the driver waits for agents,
// await has the rest of the world go on until something is true, for some time at most, and reports whether it is.
func NewStepped(
	o Options, transport options.CloudEventTransport, await func(ctx context.Context, patience time.Duration, done func() bool) bool,
) *Stepped {
	tasks, mends, sends := &turns{clock: o.Clock}, &turns{clock: o.Clock}, &turns{clock: o.Clock}
	s := &Stepped{Driver: newDriver(o, transport, tasks, mends, sends, await), turns: []*turns{tasks, mends, sends}, changes: newCollector()}
	s.store.watchers[s.changes] = true
	return s
}

// Connect connects and subscribes, as sdk-go's client does whenever it can.
func (s *Stepped) Connect(ctx context.Context) error {
	if err := s.link.Connect(ctx); err != nil {
		return err
	}
	if err := s.link.Subscribe(ctx); err != nil {
		return err
	}
	s.sends.Add(task{})
	return nil
}

// Disconnect closes the connection, as sdk-go's client does whenever it failed.
func (s *Stepped) Disconnect(ctx context.Context) error { return s.link.Close(ctx) }

// Receive takes an event of an agent.
func (s *Stepped) Receive(ctx context.Context, event cloudevents.Event) { s.link.take(ctx, event) }

// Do does one task that is due, and reports whether there was one.
func (s *Stepped) Do(ctx context.Context) bool {
	for _, t := range s.turns {
		if t.isDue() {
			return s.next(ctx, t)
		}
	}
	return false
}

// Next is when the next task is due; zero where there is none.
func (s *Stepped) Next() time.Time {
	var next time.Time
	for _, t := range s.turns {
		if len(t.waiting) > 0 && (next.IsZero() || t.waiting[0].at.Before(next)) {
			next = t.waiting[0].at
		}
	}
	return next
}

// Knows reports whether Restore would return now.
func (s *Stepped) Knows(ctx context.Context, expected map[string]int) bool {
	return len(expected) == 0 || s.knows(ctx, expected)
}

// Changes are the changes of works since it was last asked, as an informer would see them.
func (s *Stepped) Changes() []watch.Event { return s.changes.take() }

// turns is a queue that nothing waits for. A task is in it once, as in a workqueue.
type turns struct {
	clock clock.PassiveClock
	// waiting are the tasks by the time when they are due; of the same time, the one that came first.
	waiting []turn
	// failed counts how often each task failed in a row.
	failed map[task]int
}

type turn struct {
	task task
	at   time.Time
}

var _ queue = &turns{}

// Add implements queue.
func (t *turns) Add(what task) { t.AddAfter(what, 0) }

// AddAfter implements queue.
func (t *turns) AddAfter(what task, after time.Duration) {
	at := t.clock.Now().Add(after)
	if i := slices.IndexFunc(t.waiting, func(w turn) bool { return w.task == what }); i >= 0 {
		if !at.Before(t.waiting[i].at) {
			return
		}
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(t.waiting, at, func(w turn, at time.Time) int {
		if w.at.After(at) {
			return 1
		}
		return -1
	})
	t.waiting = slices.Insert(t.waiting, i, turn{what, at})
}

// AddRateLimited implements queue.
func (t *turns) AddRateLimited(what task) {
	if t.failed == nil {
		t.failed = map[task]int{}
	}
	wait := min(retryFirstAfter<<t.failed[what], retryAfterMost)
	t.failed[what] = min(t.failed[what]+1, 20)
	t.AddAfter(what, wait)
}

// Forget implements queue.
func (t *turns) Forget(what task) { delete(t.failed, what) }

// Get implements queue. It does not wait: where nothing is due the queue counts as shut down.
func (t *turns) Get() (what task, over bool) {
	if !t.isDue() {
		return task{}, true
	}
	what = t.waiting[0].task
	t.waiting = t.waiting[1:]
	return what, false
}

func (t *turns) isDue() bool { return len(t.waiting) > 0 && !t.waiting[0].at.After(t.clock.Now()) }

// Done implements queue.
func (*turns) Done(task) {}

// Len implements queue.
func (t *turns) Len() int { return len(t.waiting) }

// ShutDown implements queue.
func (*turns) ShutDown() {}
