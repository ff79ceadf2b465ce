package controller

import (
	"context"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
)

// queue leads the keys of objects to passes, each in its lane, and no two passes over one object at once. Each lane has workers of its own: however
// many rollouts there are, an abort finds a worker, and the other way round.
type queue struct {
	lanes  [lanes]workqueue.TypedRateLimitingInterface[string]
	laneOf func(key string) lane
	pass   func(ctx context.Context, key string) (again time.Duration, err error)

	mu sync.Mutex
	// underway holds the objects that a pass is made over, and whether another one is wanted after it.
	underway map[string]bool
}

// newQueue makes one. The name is that of its metrics.
func newQueue(name string, laneOf func(string) lane, pass func(context.Context, string) (time.Duration, error)) *queue {
	return &queue{
		lanes:  [lanes]workqueue.TypedRateLimitingInterface[string]{rollouts: newLane(name), aborts: newLane(name + "Aborts")},
		laneOf: laneOf, pass: pass, underway: map[string]bool{},
	}
}

func newLane(name string) workqueue.TypedRateLimitingInterface[string] {
	turns := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Queue: newTurns()})
	return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[string]{Name: name, Queue: turns})})
}

// add asks for a pass over an object.
func (q *queue) add(key string) { q.lanes[q.laneOf(key)].Add(key) }

// run makes passes with a number of workers in each lane, and returns when the context has ended and the passes under way are over.
func (q *queue) run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for l := range q.lanes {
		for range workers {
			wg.Go(func() {
				for q.next(ctx, lane(l)) {
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

// next makes the next pass of a lane. It returns false when the queue is shut down.
func (q *queue) next(ctx context.Context, l lane) bool {
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
		defer utilruntime.HandleCrashWithContext(ctx)
		q.make(ctx, key)
	}
	return true
}

// make makes a pass, and asks for the one after it.
func (q *queue) make(ctx context.Context, key string) {
	again, err := q.pass(ctx, key)
	after := q.lanes[q.laneOf(key)]
	if again > 0 {
		after.AddAfter(key, again)
	}
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "A pass over a ManifestWorkReplicaSet failed", "manifestWorkReplicaSet", key)
		after.AddRateLimited(key)
		return
	}
	for _, l := range q.lanes {
		l.Forget(key)
	}
}

// begin reports whether a pass over an object may be made now. Otherwise one is made after the one under way.
func (q *queue) begin(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, is := q.underway[key]; is {
		q.underway[key] = true
		return false
	}
	q.underway[key] = false
	return true
}

func (q *queue) end(key string) {
	q.mu.Lock()
	wanted := q.underway[key]
	delete(q.underway, key)
	q.mu.Unlock()
	if wanted {
		q.add(key)
	}
}

// turns is the order of a lane: the tenants take turns, and each one's objects come in the order in which they were added. A tenant with a thousand
// objects keeps another one waiting for one pass, not for a thousand. The workqueue that it is in calls it from one goroutine at a time.
type turns struct {
	keys    map[string][]string
	tenants []string
	length  int
}

func newTurns() *turns { return &turns{keys: map[string][]string{}} }

// Touch implements workqueue.Queue.
func (t *turns) Touch(string) {}

// Len implements workqueue.Queue.
func (t *turns) Len() int { return t.length }

// Push implements workqueue.Queue.
func (t *turns) Push(key string) {
	tenant := tenantOf(key)
	if len(t.keys[tenant]) == 0 {
		t.tenants = append(t.tenants, tenant)
	}
	t.keys[tenant] = append(t.keys[tenant], key)
	t.length++
}

// Pop implements workqueue.Queue.
func (t *turns) Pop() string {
	tenant := t.tenants[0]
	t.tenants = t.tenants[1:]
	key := t.keys[tenant][0]
	if t.keys[tenant] = t.keys[tenant][1:]; len(t.keys[tenant]) > 0 {
		t.tenants = append(t.tenants, tenant)
	} else {
		delete(t.keys, tenant)
	}
	t.length--
	return key
}
