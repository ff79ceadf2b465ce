package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// SourceID is the name of upstream's hub toward agents and brokers. With the same name, this hub owns the works that upstream's published.
const SourceID = "mwrsctrl"

// DefaultAgentReturn is the time that an agent may take to reconnect after the broker was unavailable: sdk-go's clients wait for up to two
// minutes before they try again.
const DefaultAgentReturn = 2 * time.Minute

// workers is the number of reports that are processed at the same time, and of events that are sent in addition to the controller's.
const workers = 4

// Driver carries works to agents, and their reports back.
type Driver struct {
	clock   clock.PassiveClock
	owners  Owners
	store   *store
	link    *link
	heard   *heard
	metrics Metrics
	// connecting is sdk-go's client. It keeps the connection, and carries no events: it would keep a counter for each cluster.
	connecting generic.CloudEventsClient[*workv1.ManifestWork]
	codec      generic.Codec[*workv1.ManifestWork]
	limiter    flowcontrol.RateLimiter
	locks      keymutex.KeyMutex
	// inbox holds the events to read, and memory counts the bytes of these and of the kept reports.
	inbox  *inbox
	memory *memory
	// tasks are the clusters whose events are to be read.
	tasks Queue
	// mends are reports that can't be processed at once. They may take a while, and no other report waits for them.
	mends Queue
	// sends are events to send. They may take a while, and no report waits for them.
	sends Queue
	// await waits until a condition is true, at most for patience, and reports whether it is.
	await await

	mu sync.Mutex
	// reports maps each work to its last report that was not processed yet.
	reports map[types.UID]*workv1.ManifestWork
	// kept maps each of these to its size in memory.
	kept map[types.UID]int
	// lanes hold the works whose reports are to be mended.
	lanes lanes
	// expected are channels that are closed when the next report of a work arrives.
	expected map[types.UID]chan struct{}
	// considered holds the reported works that were checked and can't be restored.
	considered map[types.UID]bool
	// unknown maps each cluster to the reports of works that the hub does not know.
	unknown map[string]map[types.UID]bool
	// answered maps each cluster to the time when its agent was last sent the works that it asked for.
	answered map[string]time.Time
	// unwanted maps each reported work to the time since when its owner is missing, or does not select its cluster.
	unwanted map[types.UID]time.Time
	// asked is the time when the agents were first asked for their works; zero if they were not.
	asked time.Time
	// restored is the time when a work was last restored.
	restored time.Time
	// pace measures how quickly works are restored.
	pace pace
	// writes maps each work to its last write that no agent has confirmed.
	writes map[types.UID]write
	// unreached holds the works whose agents are connected, and did not get the last write.
	unreached map[types.UID]string
	// unanswered holds the works that all agents were asked for, and that none has reported since.
	unanswered map[types.UID]bool
	// askedAt maps each cluster to the time when its agent was last asked because its work has been in flight for a long time.
	askedAt map[string]time.Time
	// lastWrite is the number of the last write.
	lastWrite uint64
	// unexpectedSince maps each work to the time since when its agent reports content that a failed write had sent.
	unexpectedSince map[types.UID]time.Time
	// confirmAfter is the time that an agent may take to report anything about a write.
	confirmAfter time.Duration
	// available is the one in Options.
	available func(ctx context.Context, cluster string) (available, exists bool)
}

// Task is one of: read the events of a cluster, mend the reports of a cluster, check the report of a work, ask the agent of a cluster, or
// all agents, for their works, answer the agent of a cluster that asks, or check whether a write arrived.
type Task struct {
	uid     types.UID
	cluster string
	// read is true if the events of the cluster are to be read, mend if its reports are to be mended.
	read, mend bool
	// answer is true if the agent is sent all works that the hub has for it before it is asked.
	answer bool
	// write is the number of the write to confirm; 0 for a report.
	write uint64
	// times is the number of times that it was sent again.
	times int
	// there is true if the agent, or its cluster, was connected when it was last sent again.
	there bool
}

// New connects. It fails if the configuration is wrong or no broker answers. Later, it reconnects by itself.
func New(ctx context.Context, o Options) (*Driver, error) {
	if o.ClientID == "" {
		return nil, errors.New("--cloudevents-client-id is empty: name this hub, with a name that no other client of the broker has")
	}
	config, err := loadConfig(o)
	if err != nil {
		return nil, fmt.Errorf("--work-driver-config=%s: %w", o.ConfigFile, err)
	}
	source, err := sourceOptions(o, config)
	if err != nil {
		return nil, fmt.Errorf("--work-driver=%s: %w", o.Type, err)
	}
	return connect(ctx, o, source)
}

func connect(ctx context.Context, o Options, source *options.CloudEventsSourceOptions) (*Driver, error) {
	d := newDriver(o, source.CloudEventsTransport, newTasks(o.Clock), newTasks(o.Clock), newTasks(o.Clock), poll)
	source.CloudEventsTransport = d.link
	var err error
	d.connecting, err = clients.NewCloudEventSourceClient(ctx, source, d, statushash.StatusHash[*workv1.ManifestWork], d.codec)
	if err != nil {
		return nil, fmt.Errorf("connecting by %s: %w", o.Type, err)
	}
	d.run(ctx)
	return d, nil
}

// newDriver returns a driver that is not started.
func newDriver(o Options, transport options.CloudEventTransport, tasks, mends, sends Queue, await await) *Driver {
	d := &Driver{
		clock: o.Clock, owners: o.Owners, store: newStore(o.Clock), heard: newHeard(o.Clock), locks: keymutex.NewHashed(1024),
		codec: codec.NewManifestBundleCodec(), limiter: newLimiter(o.QPS),
		metrics: o.Metrics, tasks: tasks, mends: mends, sends: sends, await: await, available: o.Available,
		memory: &memory{used: map[string]int{}}, kept: map[types.UID]int{}, lanes: newLanes(), unreached: map[types.UID]string{},
		reports: map[types.UID]*workv1.ManifestWork{}, expected: map[types.UID]chan struct{}{}, considered: map[types.UID]bool{},
		unwanted: map[types.UID]time.Time{},
		unknown:  map[string]map[types.UID]bool{}, answered: map[string]time.Time{},
		writes: map[types.UID]write{}, unanswered: map[types.UID]bool{}, askedAt: map[string]time.Time{},
		unexpectedSince: map[types.UID]time.Time{}, confirmAfter: confirmAfter,
	}
	if d.metrics == nil {
		d.metrics = noMetrics{}
	}
	d.inbox = newInbox(d.memory)
	d.link = &link{
		clock: o.Clock, arrived: d.arrived,
		CloudEventTransport: transport, name: "broker", connection: o.Connection, agentReturn: o.AgentReturn,
		heard: d.heard, rush: newRush(o.Clock), reported: d.received, metrics: d.metrics, outages: &outages{clock: o.Clock},
		gate:     &gate{clock: o.Clock, clusterOf: d.store.clusterOf, refused: func(why Refusal) { d.metrics.EventRefused(string(why)) }},
		returned: func(cluster string) { d.sends.Add(Task{cluster: cluster, answer: true}) },
	}
	return d
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

func (d *Driver) run(ctx context.Context) {
	d.connecting.Subscribe(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				d.tasks.ShutDown()
				d.mends.ShutDown()
				d.sends.ShutDown()
				return
			case <-d.connecting.SubscribedChan():
				d.sends.Add(Task{})
			}
		}
	}()
	for _, q := range []Queue{d.tasks, d.mends, d.sends} {
		for range workers {
			go func() {
				for d.Do(ctx, q) {
				}
			}()
		}
	}
}

// Works returns the client of the ManifestWorks.
func (d *Driver) Works() workclientset.Interface { return &clientset{driver: d} }

// List is for sdk-go, which answers an agent that asks for the works that the hub has for it.
func (d *Driver) List(_ context.Context, wanted eventtypes.ListOptions) ([]*workv1.ManifestWork, error) {
	list := d.store.list(wanted.ClusterName, labels.Everything())
	works := make([]*workv1.ManifestWork, len(list.Items))
	for i := range list.Items {
		works[i] = &list.Items[i]
	}
	return works, nil
}

func (d *Driver) lock(uid types.UID) (unlock func()) {
	d.locks.LockKey(string(uid))
	return func() { _ = d.locks.UnlockKey(string(uid)) }
}
