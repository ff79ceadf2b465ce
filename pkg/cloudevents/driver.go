package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

// SourceID is the name that upstream's hub uses toward agents and brokers. With the same name, this hub owns the works
// that upstream's hub published.
const SourceID = "mwrsctrl"

// DefaultAgentReturn is the time that an agent may take to reconnect after the broker was unavailable: sdk-go's clients wait for up to two
// minutes before they try again.
const DefaultAgentReturn = 2 * time.Minute

// workers is the maximum number of reports processed concurrently. It is also the maximum number of events sent
// concurrently, in addition to the controller's events.
const workers = 4

// Driver carries works to the agents, and the agents' reports back.
type Driver struct {
	clock  clock.PassiveClock
	owners Owners
	store  *store
	link   *link
	// gate admits the events that agents may send, and rush detects that many agents report at once.
	gate    *gate
	rush    *rush
	metrics Metrics
	codec   generic.Codec[*workv1.ManifestWork]
	limiter flowcontrol.RateLimiter
	locks   keymutex.KeyMutex
	// tasks holds the clusters with events to read.
	tasks Queue
	// mends holds reports that can't be processed immediately. They may take a while, and no other report waits for them.
	mends Queue
	// sends holds events to send. They may take a while, and no report waits for them.
	sends Queue
	// await waits until a condition is true, for at most patience, and reports whether the condition is true.
	await await

	// reconnects are the pauses between attempts to connect.
	reconnects wait.Backoff

	// available is Options.Available.
	available func(ctx context.Context, cluster string) (available, exists bool)

	// mu guards the progress of the restore.
	mu sync.Mutex
	// asked is the time when the agents were first asked for their works; zero if they were not.
	asked time.Time
	// restored is the time when a work was last restored.
	restored time.Time
}

// Parts are the components that a Driver runs on. New provides goroutines and timers. A simulation provides its own
// parts, to simulate a broker that loses, duplicates, reorders and delays events, and to make runs reproducible.
type Parts struct {
	// Transport carries the events.
	Transport options.CloudEventTransport
	// Tasks, Mends and Sends hold the driver's pending tasks: events to read, reports to mend, and events to send.
	Tasks, Mends, Sends Queue
	// Await lets everything else continue until done returns true, for at most the given time. It reports whether done
	// returned true.
	Await func(ctx context.Context, patience time.Duration, done func() bool) bool
}

// New returns a driver that does nothing until the caller calls Start. It fails if the configuration is invalid.
func New(o Options) (*Driver, error) {
	if o.ClientID == "" {
		return nil, errors.New("--cloudevents-client-id is empty: set it to a name that no other client of the broker uses")
	}
	config, err := loadConfig(o)
	if err != nil {
		return nil, fmt.Errorf("--work-driver-config=%s: %w", o.ConfigFile, err)
	}
	transport, err := newTransport(o, config)
	if err != nil {
		return nil, fmt.Errorf("--work-driver=%s: %w", o.Type, err)
	}
	return Assemble(o, Parts{
		Transport: transport, Tasks: newTasks(o.Clock), Mends: newTasks(o.Clock), Sends: newTasks(o.Clock), Await: poll,
	}), nil
}

// Assemble returns a driver that is not connected and does nothing by itself. The caller connects it and calls Do.
func Assemble(o Options, parts Parts) *Driver {
	d := &Driver{
		clock: o.Clock, owners: o.Owners, store: newStore(o.Clock), rush: newRush(o.Clock), locks: keymutex.NewHashed(1024),
		reconnects: reconnects, codec: codec.NewManifestBundleCodec(), limiter: newLimiter(o.QPS),
		metrics: o.Metrics, tasks: parts.Tasks, mends: parts.Mends, sends: parts.Sends, await: parts.Await, available: o.Available,
	}
	d.gate = &gate{clock: o.Clock, clusterOf: d.store.clusterOf}
	d.link = &link{
		CloudEventTransport: parts.Transport, clock: o.Clock, connection: o.Connection, agentReturn: o.AgentReturn, metrics: d.metrics,
	}
	return d
}

// Start runs the driver until the context ends. The driver connects and reconnects by itself, so that an abort does not
// have to wait for the restart of a process that did not reach a broker.
func (d *Driver) Start(ctx context.Context) {
	go d.keepConnected(ctx)
	for _, q := range []Queue{d.tasks, d.mends, d.sends} {
		context.AfterFunc(ctx, q.ShutDown)
		for range workers {
			go func() {
				for d.Do(ctx, q) {
				}
			}()
		}
	}
}

// reconnects are the pauses between attempts to connect. They are short, because an abort may wait for the broker.
var reconnects = wait.Backoff{Duration: 2 * time.Second, Cap: 30 * time.Second, Steps: 5, Factor: 2, Jitter: 0.5}

// steadyAfter is the time for which a connection must last before the pauses are reset to the shortest one. All agents
// report after each connect, and a broker that keeps accepting and closing connections must not cause that every few
// seconds.
const steadyAfter = 2 * time.Minute

// keepConnected connects, receives events, and connects again whenever the transport fails.
func (d *Driver) keepConnected(ctx context.Context) {
	pause := d.reconnects.DelayWithReset(clock.RealClock{}, steadyAfter)
	for {
		err := d.Connect(ctx)
		if err == nil {
			err = d.receive(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).Error(err, "The connection to the broker failed and will be retried")
		if err := d.Disconnect(ctx); err != nil {
			klog.FromContext(ctx).V(2).Info("The failed connection was not closed", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause()):
		}
	}
}

// receive receives events until the transport fails.
func (d *Driver) receive(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		if err := d.link.Receive(ctx, d.arrived); err != nil {
			klog.FromContext(ctx).Error(err, "No events are received from the broker")
		}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-d.link.ErrorChan():
		return err
	}
}

// Connect connects and subscribes, and asks all agents for their works.
func (d *Driver) Connect(ctx context.Context) error {
	if err := d.link.connect(ctx); err != nil {
		return err
	}
	d.sends.Add(askTask{})
	return nil
}

// Disconnect closes a failed connection.
func (d *Driver) Disconnect(ctx context.Context) error { return d.link.disconnect(ctx) }

// Receive accepts an event from an agent.
func (d *Driver) Receive(ctx context.Context, event cloudevents.Event) { d.arrived(ctx, event) }

// Knows reports whether Restore would return now.
func (d *Driver) Knows(ctx context.Context, expected map[string]int) bool {
	return len(expected) == 0 || d.knows(ctx, expected)
}

// Collect collects all future changes to works, as an informer would see them. Each call of changes returns the new
// changes.
func (d *Driver) Collect() (changes func() []watch.Event) {
	w := newCollector()
	d.store.watchers[w] = true
	return w.take
}

// Works returns the client of the ManifestWorks.
func (d *Driver) Works() workclientset.Interface { return &clientset{driver: d} }

func (d *Driver) lock(uid types.UID) (unlock func()) {
	d.locks.LockKey(string(uid))
	return func() { _ = d.locks.UnlockKey(string(uid)) }
}

// Task is an action of the driver. A queue holds only one of several equal tasks.
type Task interface {
	// perform performs the task, and returns the delay until the task is repeated; zero if it is not repeated.
	perform(ctx context.Context, d *Driver) (again time.Duration, err error)
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

// Do performs the next task of one of the driver's queues. It reports whether there may be another task.
func (d *Driver) Do(ctx context.Context, queue Queue) bool {
	t, over := queue.Get()
	if over {
		return false
	}
	defer queue.Done(t)
	again, err := t.perform(ctx, d)
	switch {
	case err != nil && !d.Reachable():
		queue.AddAfter(t, answerInterval) // The log gets one line for the outage, not one for each work.
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
