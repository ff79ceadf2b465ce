package cloudevents

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Task is something that the driver has to do. Equal tasks in a queue are one.
type Task interface {
	// do does it, and returns when to do it again; zero for never.
	do(ctx context.Context, d *Driver) (again time.Duration, err error)
}

// Queue holds tasks until they are due.
type Queue interface {
	Add(Task)
	AddAfter(Task, time.Duration)
	AddRateLimited(Task)
	Forget(Task)
	Get() (t Task, over bool)
	Done(Task)
	Len() int
	ShutDown()
}

// A failed task is retried after RetryAfter, and then after twice the time before, up to RetryAtMost.
const (
	RetryAfter  = 100 * time.Millisecond
	RetryAtMost = 30 * time.Second
)

// newTasks returns the queue of tasks, with the timers of the hub's clock if it has any.
func newTasks(clk clock.PassiveClock) Queue {
	config := workqueue.TypedRateLimitingQueueConfig[Task]{}
	if timers, ok := clk.(clock.WithTicker); ok {
		config.Clock = timers
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[Task](RetryAfter, RetryAtMost), config)
}

// Do does the next task of one of the driver's queues. It reports whether there may be another.
func (d *Driver) Do(ctx context.Context, queue Queue) bool {
	t, over := queue.Get()
	if over {
		return false
	}
	defer queue.Done(t)
	again, err := t.do(ctx, d)
	if _, lined := t.(reportTask); !lined { // What becomes of it there decides when it is tried again, and how often it failed.
		d.later(ctx, queue, t, again, err)
	}
	return true
}

// later has a task done again: after a time, or because it failed.
func (d *Driver) later(ctx context.Context, queue Queue, t Task, again time.Duration, err error) {
	switch {
	case err != nil && !d.Reachable():
		queue.AddAfter(t, answerInterval) // The log has a line for the outage, and none for each work.
	case err != nil:
		klog.FromContext(ctx).Error(err, "Working on an agent's report", "task", fmt.Sprintf("%T%+v", t, t))
		queue.AddRateLimited(t)
	case again > 0:
		queue.Forget(t)
		queue.AddAfter(t, again)
	default:
		queue.Forget(t)
	}
}
