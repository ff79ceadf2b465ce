package cloudevents

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Task is an action of the driver. A queue holds only one of several equal tasks.
type Task interface {
	// do performs the task, and returns the time after which to perform it again; zero for never.
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

// A failed task is retried after RetryAfter. The delay doubles with each failure, up to RetryAtMost.
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

// Do performs the next task of one of the driver's queues. It reports whether there may be another.
func (d *Driver) Do(ctx context.Context, queue Queue) bool {
	t, over := queue.Get()
	if over {
		return false
	}
	defer queue.Done(t)
	again, err := t.do(ctx, d)
	switch {
	case err != nil && !d.Reachable():
		queue.AddAfter(t, answerInterval) // The log has one line for the outage, not one for each work.
	case err != nil:
		klog.FromContext(ctx).Error(err, "A task failed and will be retried", "task", fmt.Sprintf("%T%+v", t, t))
		queue.AddRateLimited(t)
	case again > 0:
		queue.Forget(t)
		queue.AddAfter(t, again)
	default:
		queue.Forget(t)
	}
	return true
}
