package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// gate is a pass that begins when it says so and ends when it may.
type gate struct {
	mu    sync.Mutex
	lane  map[string]lane
	began chan string
	end   map[string]chan struct{}
}

func newGate(keys ...string) *gate {
	g := &gate{lane: map[string]lane{}, began: make(chan string, 100), end: map[string]chan struct{}{}}
	for _, key := range keys {
		g.end[key] = make(chan struct{}, 100)
	}
	return g
}

func (g *gate) laneOf(key string) lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lane[key]
}

func (g *gate) move(key string, l lane) {
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

// runs makes a queue run with a number of workers for as long as the test does.
func (g *gate) runs(t *testing.T, workers int) *queue {
	t.Helper()
	q := newQueue("", g.laneOf, g.pass)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.run(ctx, workers)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return q
}

// TestAbortFindsAWorker: with every worker held by a greedy tenant's objects, and as many more of them in the queue, the pass of another one's abort
// begins at once. With every worker for aborts held, a rollout begins.
func TestAbortFindsAWorker(t *testing.T) {
	var greedy []string
	for i := range 20 {
		greedy = append(greedy, fmt.Sprintf("greedy/web-%d", i))
	}
	for _, held := range []lane{rollouts, aborts} {
		g := newGate(append(greedy, "tenant/web")...)
		q := g.runs(t, 5)
		for _, key := range greedy {
			g.move(key, held)
			q.add(key)
		}
		for range 5 {
			<-g.began
		}
		g.move("tenant/web", rollouts+aborts-held)
		q.add("tenant/web")
		require.Equal(t, "tenant/web", <-g.began)
	}
}

// TestAbortThatWaitsChangesLane: an object that waits for a worker behind others gets one as soon as its rollout is aborted.
func TestAbortThatWaitsChangesLane(t *testing.T) {
	g := newGate("greedy/one", "tenant/web")
	q := g.runs(t, 1)
	q.add("greedy/one")
	require.Equal(t, "greedy/one", <-g.began)
	q.add("tenant/web")
	g.move("tenant/web", aborts)
	q.add("tenant/web") // The event of its status.
	require.Equal(t, "tenant/web", <-g.began)
	g.end["tenant/web"] <- struct{}{}
	g.end["greedy/one"] <- struct{}{}
	require.Equal(t, "tenant/web", <-g.began, "what was asked for first")
	g.end["tenant/web"] <- struct{}{}
}

// TestOnePassAtOnce: an object that changes its lane while a pass is made over it gets the next one after that.
func TestOnePassAtOnce(t *testing.T) {
	g := newGate("tenant/web", "tenant/other")
	q := g.runs(t, 1)
	q.add("tenant/web")
	require.Equal(t, "tenant/web", <-g.began)
	g.move("tenant/web", aborts)
	g.move("tenant/other", aborts)
	q.add("tenant/web")
	q.add("tenant/other")
	require.Equal(t, "tenant/other", <-g.began, "the worker for aborts does not wait for it")
	g.end["tenant/other"] <- struct{}{}
	g.end["tenant/web"] <- struct{}{}
	require.Equal(t, "tenant/web", <-g.began)
	g.end["tenant/web"] <- struct{}{}
}

// TestTenantsTakeTurns: a tenant with many objects keeps another one waiting for one pass.
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

// TestFailedPassIsTriedAgain: with the queue's back-off, and in the lane that it has then.
func TestFailedPassIsTriedAgain(t *testing.T) {
	passes := make(chan string, 10)
	q := newQueue("", func(string) lane { return aborts }, func(_ context.Context, key string) (time.Duration, error) {
		passes <- key
		switch len(passes) {
		case 1:
			return 0, fmt.Errorf("failed")
		case 2:
			return time.Millisecond, nil
		}
		return 0, nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.run(ctx, 1)
	}()
	q.add("tenant/web")
	require.Eventually(t, func() bool { return len(passes) == 3 }, time.Minute, time.Millisecond)
	stop()
	<-ended
	require.Zero(t, q.lanes[aborts].NumRequeues("tenant/web"))
}

// TestLaneOf: an abort has its lane from the status that tells of it, or from the pass that decided it, to the one that tells that it is carried out.
func TestLaneOf(t *testing.T) {
	stores := NewStores()
	c := NewWithStores(Config{Clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}, stores)
	const key = "default/web"
	seen := func(change func(*workv1alpha1.ManifestWorkReplicaSet)) lane {
		object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		object.Status.Conditions = []metav1.Condition{{
			Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNewRevisionCreated,
		}}
		change(object)
		require.NoError(t, stores.ReplicaSets.Add(&replicaSet{ManifestWorkReplicaSet: object}))
		return c.laneOf(key)
	}
	now := metav1.Now()
	aborted := func(object *workv1alpha1.ManifestWorkReplicaSet) { object.Status.AbortedTime = &now }
	require.Equal(t, rollouts, c.laneOf(key), "it is not there")
	require.Equal(t, rollouts, seen(func(*workv1alpha1.ManifestWorkReplicaSet) {}))
	require.Equal(t, aborts, seen(aborted), "a person aborted it")
	require.Equal(t, aborts, seen(func(object *workv1alpha1.ManifestWorkReplicaSet) {
		aborted(object)
		object.Status.Conditions[0].Status, object.Status.Conditions[0].Reason = metav1.ConditionFalse, workv1alpha1.ReasonProgressDeadlineExceeded
	}))
	require.Equal(t, rollouts, seen(func(object *workv1alpha1.ManifestWorkReplicaSet) {
		aborted(object)
		object.Status.Conditions[0].Status, object.Status.Conditions[0].Reason = metav1.ConditionFalse, workv1alpha1.ReasonRolloutAborted
	}), "it is carried out")
	require.Equal(t, rollouts, seen(func(object *workv1alpha1.ManifestWorkReplicaSet) {
		aborted(object)
		object.DeletionTimestamp = &now
	}), "deletion wins")

	plain := func(*workv1alpha1.ManifestWorkReplicaSet) {}
	c.aborting.note(key, true)
	require.Equal(t, aborts, seen(plain), "an older CRD drops what the status should tell")
	c.aborting.note(key, false)
	require.Equal(t, rollouts, seen(plain))
}
