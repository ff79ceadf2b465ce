package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// gate controls passes: it reports when each one starts, and lets it end on request.
type gate struct {
	mu    sync.Mutex
	lane  map[string]Lane
	began chan string
	end   map[string]chan struct{}
}

func newGate(keys ...string) *gate {
	g := &gate{lane: map[string]Lane{}, began: make(chan string, 100), end: map[string]chan struct{}{}}
	for _, key := range keys {
		g.end[key] = make(chan struct{}, 100)
	}
	return g
}

func (g *gate) laneOf(key string) Lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lane[key]
}

func (g *gate) move(key string, l Lane) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lane[key] = l
}

func (g *gate) pass(ctx context.Context, key string) (time.Duration, error) {
	g.began <- key
	select {
	case <-g.end[key]:
	case <-ctx.Done():
	}
	return 0, nil
}

// runs runs a queue with the given number of workers for the duration of the test.
func (g *gate) runs(t *testing.T, workers int) *Queue {
	t.Helper()
	q := New("", g.laneOf, g.pass)
	t.Cleanup(start(t, q, workers))
	return q
}

// start runs a queue. The returned function stops it, and returns once the passes in progress have ended.
func start(t *testing.T, q *Queue, workers int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Run(ctx, workers)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// TestAbortFindsAWorker: every worker is held by the objects of a greedy tenant, and as many more of them are in the queue. The pass of
// another tenant's abort still starts at once. If aborts hold all workers that they may use, a rollout still starts.
func TestAbortFindsAWorker(t *testing.T) {
	var greedy []string
	for i := range 20 {
		greedy = append(greedy, fmt.Sprintf("greedy/web-%d", i))
	}
	for _, held := range []Lane{Rollouts, Aborts} {
		g := newGate(append(greedy, "tenant/web")...)
		q := g.runs(t, 5)
		for _, key := range greedy {
			g.move(key, held)
			q.Add(key)
		}
		for range 5 {
			<-g.began
		}
		g.move("tenant/web", Rollouts+Aborts-held)
		q.Add("tenant/web")
		require.Equal(t, "tenant/web", <-g.began)
	}
}

// TestWaiting: an object waits if no worker is free, and no longer waits once its pass has started.
func TestWaiting(t *testing.T) {
	g := newGate("a/web", "b/web")
	q := g.runs(t, 1)
	q.Add("a/web")
	require.Equal(t, "a/web", <-g.began)
	require.False(t, q.Waiting(Rollouts))
	q.Add("b/web")
	require.True(t, q.Waiting(Rollouts))
	require.False(t, q.Waiting(Aborts))
	g.end["a/web"] <- struct{}{}
	require.Equal(t, "b/web", <-g.began)
	require.False(t, q.Waiting(Rollouts))
}

// TestAbortThatWaitsChangesLane: an object that waits for a worker behind others gets one as soon as its rollout is aborted.
func TestAbortThatWaitsChangesLane(t *testing.T) {
	g := newGate("greedy/one", "tenant/web")
	q := g.runs(t, 1)
	q.Add("greedy/one")
	require.Equal(t, "greedy/one", <-g.began)
	q.Add("tenant/web")
	g.move("tenant/web", Aborts)
	q.Add("tenant/web") // The event of its status.
	require.Equal(t, "tenant/web", <-g.began)
	g.end["tenant/web"] <- struct{}{}
	g.end["greedy/one"] <- struct{}{}
	require.Equal(t, "tenant/web", <-g.began, "the pass that was requested first")
	g.end["tenant/web"] <- struct{}{}
}

// TestOnePassAtOnce: if an object changes its lane during its pass, its next pass starts after that pass.
func TestOnePassAtOnce(t *testing.T) {
	g := newGate("tenant/web", "tenant/other")
	q := g.runs(t, 1)
	q.Add("tenant/web")
	require.Equal(t, "tenant/web", <-g.began)
	g.move("tenant/web", Aborts)
	g.move("tenant/other", Aborts)
	q.Add("tenant/web")
	q.Add("tenant/other")
	require.Equal(t, "tenant/other", <-g.began, "the worker for aborts does not wait for it")
	g.end["tenant/other"] <- struct{}{}
	g.end["tenant/web"] <- struct{}{}
	require.Equal(t, "tenant/web", <-g.began)
	g.end["tenant/web"] <- struct{}{}
}

// TestTenantsTakeTurns: a tenant with many objects delays another tenant by one pass only.
func TestTenantsTakeTurns(t *testing.T) {
	order := newTurns()
	for i := range 1000 {
		order.Push(fmt.Sprintf("greedy/web-%d", i))
	}
	order.Push("tenant/web")
	order.Push("tenant/other")
	order.Push("third/web")
	var got []string
	for range 7 {
		got = append(got, order.Pop())
	}
	require.Equal(t, []string{"greedy/web-0", "tenant/web", "third/web", "greedy/web-1", "tenant/other", "greedy/web-2", "greedy/web-3"}, got)
	for order.Len() > 0 {
		order.Pop()
	}
	require.Empty(t, order.keys)
	require.Empty(t, order.tenants)
}

// TestFailedPassIsTriedAgain: a failed pass is retried with the back-off of the queue, in the lane of the object at that time.
func TestFailedPassIsTriedAgain(t *testing.T) {
	passes := make(chan string, 10)
	q := New("", func(string) Lane { return Aborts }, func(_ context.Context, key string) (time.Duration, error) {
		passes <- key
		switch len(passes) {
		case 1:
			return 0, fmt.Errorf("failed")
		case 2:
			return time.Millisecond, nil
		}
		return 0, nil
	})
	stop := start(t, q, 1)
	q.Add("tenant/web")
	require.Eventually(t, func() bool { return len(passes) == 3 }, time.Minute, time.Millisecond)
	stop()
	require.Zero(t, q.lanes[Aborts].NumRequeues("tenant/web"))
}

// TestPanicIsOneObjects: a pass that panics is retried later, as after an error. Other objects get their passes in the meantime.
func TestPanicIsOneObjects(t *testing.T) {
	passes, handled := make(chan string, 10), make(chan any, 10)
	before := utilruntime.PanicHandlers
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, reason any) { handled <- reason }}
	t.Cleanup(func() { utilruntime.PanicHandlers = before })
	broken := true
	q := New("", func(string) Lane { return Rollouts }, func(_ context.Context, key string) (time.Duration, error) {
		if key == "tenant/broken" && broken {
			broken = false
			panic("not expected")
		}
		passes <- key
		return 0, nil
	})
	stop := start(t, q, 1)
	q.Add("tenant/broken")
	q.Add("tenant/web")
	require.Eventually(t, func() bool { return len(passes) == 2 }, time.Minute, time.Millisecond)
	stop()
	require.Equal(t, "not expected", <-handled)
	require.Empty(t, handled)
}

// TestBackoffOfFailingPasses: a pass that waits between failing passes does not end their backoff. A pass that succeeds does.
func TestBackoffOfFailingPasses(t *testing.T) {
	results := []error{errors.New("refused"), ErrDeferred, errors.New("refused"), ErrDeferred, nil}
	var failures []int
	q := New("", newGate().laneOf, nil)
	q.pass = func(context.Context, string) (time.Duration, error) {
		err := results[len(failures)]
		failures = append(failures, q.lanes[Rollouts].NumRequeues("web"))
		return 0, err
	}
	for range results {
		q.make(t.Context(), "web")
	}
	require.Equal(t, []int{0, 1, 1, 2, 2}, failures)
	require.Zero(t, q.lanes[Rollouts].NumRequeues("web"))
}
