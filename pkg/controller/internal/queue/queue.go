package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
)

// ErrDeferred is the result of a pass that has to wait and did not run. It does not end the backoff after failed passes.
var ErrDeferred = errors.New("the pass is deferred")

const (
	// minBackoff is the wait after the first failed pass. The wait doubles with each further failure, up to maxBackoff. maxBackoff is short,
	// so that an abort continues soon after an outage.
	minBackoff = 5 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Queue runs passes over objects by key, each in its lane, and never two passes over the same object at once. Each lane
// has its own workers, so rollouts never take the workers of aborts, or the reverse.
type Queue struct {
	lanes  [lanes]workqueue.TypedRateLimitingInterface[string]
	laneOf func(key string) Lane
	pass   func(ctx context.Context, key string) (again time.Duration, err error)

	mu sync.Mutex
	// underway holds the objects with a pass in progress, and whether another pass must follow.
	underway map[string]bool
}

// New returns a queue. The name identifies the queue in its metrics. laneOf returns the lane of the next pass over an
// object. pass runs a pass, and returns the time at which the next pass is due.
func New(name string, laneOf func(string) Lane, pass func(context.Context, string) (time.Duration, error)) *Queue {
	return &Queue{
		lanes:  [lanes]workqueue.TypedRateLimitingInterface[string]{Rollouts: newLane(name), Aborts: newLane(name + "Aborts")},
		laneOf: laneOf, pass: pass, underway: map[string]bool{},
	}
}

func newLane(name string) workqueue.TypedRateLimitingInterface[string] {
	turns := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Queue: newTurns()})
	return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.NewTypedItemExponentialFailureRateLimiter[string](minBackoff, maxBackoff),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[string]{Name: name, Queue: turns})})
}

// Add schedules a pass over an object.
func (q *Queue) Add(key string) { q.lanes[q.laneOf(key)].Add(key) }

// Waiting reports whether an object waits for a worker of a lane.
func (q *Queue) Waiting(l Lane) bool { return q.lanes[l].Len() > 0 }

// Run runs passes with the given number of workers in each lane, and returns once the context and the passes in
// progress have ended.
func (q *Queue) Run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for l := range q.lanes {
		for range workers {
			wg.Go(func() {
				for q.next(ctx, Lane(l)) {
				}
			})
		}
	}
	<-ctx.Done()
	for _, l := range q.lanes {
		l.ShutDown()
	}
	wg.Wait()
}

// next runs the next pass of a lane. It returns false if the queue is shut down.
func (q *Queue) next(ctx context.Context, l Lane) bool {
	key, quit := q.lanes[l].Get()
	if quit {
		return false
	}
	defer q.lanes[l].Done(key)
	if ctx.Err() != nil {
		return true
	}
	if now := q.laneOf(key); now != l {
		q.lanes[now].Add(key)
		return true
	}
	if q.begin(key) {
		defer q.end(key)
		q.make(ctx, key)
	}
	return true
}

// make runs a pass, and schedules the next one.
func (q *Queue) make(ctx context.Context, key string) {
	again, err := q.safely(ctx, key)
	after := q.lanes[q.laneOf(key)]
	if again > 0 {
		after.AddAfter(key, again)
	}
	switch {
	case errors.Is(err, ErrDeferred):
		return
	case err != nil:
		utilruntime.HandleErrorWithContext(ctx, err, "A pass over a ManifestWorkReplicaSet failed", "manifestWorkReplicaSet", key)
		after.AddRateLimited(key)
		return
	}
	for _, l := range q.lanes {
		l.Forget(key)
	}
}

// safely runs a pass, and turns a panic into an error. Otherwise the process would end, no object would get a pass, and
// the panic would recur after the restart. After a panic, the state in the API server is the same as after a hub was
// killed during a pass (P5).
func (q *Queue) safely(ctx context.Context, key string) (again time.Duration, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			for _, handle := range utilruntime.PanicHandlers {
				handle(ctx, reason) // By default, this logs the stack.
			}
			again, err = 0, fmt.Errorf("panic: %v [recovered]", reason)
		}
	}()
	return q.pass(ctx, key)
}

// begin reports whether a pass over an object may begin now. If not, it schedules a pass after the one in progress.
func (q *Queue) begin(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, is := q.underway[key]; is {
		q.underway[key] = true
		return false
	}
	q.underway[key] = false
	return true
}

func (q *Queue) end(key string) {
	q.mu.Lock()
	wanted := q.underway[key]
	delete(q.underway, key)
	q.mu.Unlock()
	if wanted {
		q.Add(key)
	}
}
