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

// SourceID is what upstream's hub calls itself to agents and brokers. Works that it published stay ours.
const SourceID = "mwrsctrl"

// DefaultAgentReturn is how long an agent may take to be connected again after the broker was away: sdk-go's clients wait for up to
// two minutes before they try again.
const DefaultAgentReturn = 2 * time.Minute

// workers is how many reports are worked on at once, and how many events are sent beside the controller's.
const workers = 4

// Driver carries works to agents, and their reports back.
type Driver struct {
	clock   clock.PassiveClock
	owners  Owners
	store   *store
	link    *link
	heard   *heard
	metrics Metrics
	// connecting is sdk-go's client. It keeps the connection, and carries no event: it would keep a counter for each cluster.
	connecting generic.CloudEventsClient[*workv1.ManifestWork]
	codec      generic.Codec[*workv1.ManifestWork]
	limiter    flowcontrol.RateLimiter
	locks      keymutex.KeyMutex
	// inbox holds the events that are to be read, and memory counts what they and the kept reports hold.
	inbox  *inbox
	memory *memory
	// tasks are the clusters whose events are to be read.
	tasks Queue
	// mends are reports that can't be taken over at once, which may take a while: no other report waits for them.
	mends Queue
	// sends are events that are to be sent, which may take a while: no report waits for them.
	sends Queue
	// await waits until what it asks about is true, for as long as patience lasts. It reports whether it is true.
	await await

	mu sync.Mutex
	// reports holds the last report of each work that was not taken over yet.
	reports map[types.UID]*workv1.ManifestWork
	// kept is what each of them costs in memory.
	kept map[types.UID]int
	// lanes hold the works whose reports are to be mended.
	lanes lanes
	// expected are closed when the next report of a work comes.
	expected map[types.UID]chan struct{}
	// considered holds the reported works that were looked at, and can't be restored.
	considered map[types.UID]bool
	// unknown holds, for each cluster, the reports of works that the hub does not know.
	unknown map[string]map[types.UID]bool
	// answered holds when the agent of each cluster was last sent what it asked for.
	answered map[string]time.Time
	// unwanted holds since when the owner of a reported work is seen missing, or not selecting its cluster.
	unwanted map[types.UID]time.Time
	// asked is when the agents were first asked what they have; zero when they were not.
	asked time.Time
	// restored is when a work was restored last.
	restored time.Time
	// pace is how quickly works are restored.
	pace pace
	// writes holds the last write of each work that no agent has confirmed.
	writes map[types.UID]write
	// unreached holds the works whose agents are there, and did not get the last write.
	unreached map[types.UID]string
	// unanswered holds the works that all agents were asked for, and that none has reported since.
	unanswered map[types.UID]bool
	// askedAt holds when the agent of each cluster was last asked because it is under way for long.
	askedAt map[string]time.Time
	// lastWrite is the number of the last write.
	lastWrite uint64
	// unexpectedSince holds since when the agent of each work is seen to have what a write that failed had sent.
	unexpectedSince map[types.UID]time.Time
	// confirmAfter is how long an agent may take to report anything of what it was sent.
	confirmAfter time.Duration
	// available is as in Options.
	available func(ctx context.Context, cluster string) (available, exists bool)
}

// Task is one of: read the events of a cluster, mend the reports of a cluster, look at the report of a work, ask the agent of a cluster, or
// all of them, what it has, answer the agent of a cluster that asks, see whether what was sent arrived.
type Task struct {
	uid     types.UID
	cluster string
	// read says that the events of the cluster are read, mend that its reports are mended.
	read, mend bool
	// answer says that the agent is sent all that the hub has for it before it is asked.
	answer bool
	// write is the number of the write that is to be confirmed; 0 for a report.
	write uint64
	// times is how often it was sent again.
	times int
	// there says that the agent, or its cluster, was there when it was sent again last.
	there bool
}

// New connects. It fails where the configuration is wrong or there is no broker; after that it goes on trying by itself.
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

// newDriver makes a driver that does nothing by itself yet.
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

// A task that failed is retried after RetryAfter, and then after twice as long each time, up to RetryAtMost.
const (
	RetryAfter  = 100 * time.Millisecond
	RetryAtMost = 30 * time.Second
)

// newTasks makes the queue of tasks, with the timers of the hub's clock where that has any.
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

// Works is the client of the ManifestWorks.
func (d *Driver) Works() workclientset.Interface { return &clientset{driver: d} }

// List is for sdk-go, which answers an agent that asks what the hub has for it.
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
