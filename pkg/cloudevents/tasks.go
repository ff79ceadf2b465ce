package cloudevents

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Task is something that the driver has to do. Equal tasks in a queue are one.
type Task interface {
	// do does it, and returns when to do it again; zero for never.
	do(ctx context.Context, d *Driver) (again time.Duration, err error)
}

type (
	// readTask reads the events of a cluster.
	readTask struct{ cluster string }
	// mendTask processes the next report in the lane of a cluster.
	mendTask struct{ cluster *cluster }
	// reportTask puts a report that has to wait in the lane of its cluster again.
	reportTask struct{ uid types.UID }
	// confirmTask checks whether a write arrived.
	confirmTask struct{ uid types.UID }
	// answerTask answers the agent of a cluster that asks for its works.
	answerTask struct{ cluster string }
	// askTask asks all agents for their works.
	askTask struct{}
)

func (t readTask) do(ctx context.Context, d *Driver) (time.Duration, error) {
	d.readTurn(ctx, t.cluster)
	return 0, nil
}

func (t mendTask) do(ctx context.Context, d *Driver) (time.Duration, error) {
	d.mendNext(ctx, t.cluster)
	return 0, nil
}

func (t reportTask) do(_ context.Context, d *Driver) (time.Duration, error) {
	d.lineUp(t.uid)
	return 0, nil
}

func (t confirmTask) do(ctx context.Context, d *Driver) (time.Duration, error) {
	return d.confirm(ctx, t.uid)
}

func (t answerTask) do(ctx context.Context, d *Driver) (time.Duration, error) {
	return d.answer(ctx, t.cluster)
}

func (askTask) do(ctx context.Context, d *Driver) (time.Duration, error) { return d.askAll(ctx) }

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
