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

// Connection is notified when the broker can't be heard, and when it can be heard again (R11).
type Connection interface {
	// Lost says that what is named can't be heard.
	Lost(name string)
	// Back says that it is heard again, and how long those who report by it may need until they are there again too.
	Back(name string, settle time.Duration)
}

// Metrics count what happens to events.
type Metrics interface {
	// EventRefused counts an event of an agent that was dropped.
	EventRefused(reason string)
	// EventSent counts an event that was sent, by what it does.
	EventSent(action string)
	// EventReceived counts an event of an agent that was let in, by its kind.
	EventReceived(kind string)
	// Connected notes whether the broker is connected.
	Connected(yes bool)
	// Reconnected counts a connection that came back.
	Reconnected()
	// EventResent counts a work that was sent again, because its agent did not report anything of it.
	EventResent()
	// ReportsUnread notes how many reports of agents came that are not taken over.
	ReportsUnread(n int)
}

type noMetrics struct{}

func (noMetrics) EventRefused(string)  {}
func (noMetrics) EventResent()         {}
func (noMetrics) EventSent(string)     {}
func (noMetrics) EventReceived(string) {}
func (noMetrics) Connected(bool)       {}
func (noMetrics) Reconnected()         {}
func (noMetrics) ReportsUnread(int)    {}

// The kinds of events that agents send.
const (
	// ReceivedReport says what an agent has of a work.
	ReceivedReport = "report"
	// ReceivedQuestion asks for the works of a cluster.
	ReceivedQuestion = "question"
)

// Options say what a driver connects.
type Options struct {
	// Type is mqtt or grpc.
	Type string
	// ConfigFile is the path of sdk-go's configuration for that type.
	ConfigFile string
	// ClientID distinguishes this client from all others of the broker.
	ClientID string
	// Owners knows the owners of works.
	Owners Owners
	// Connection is notified when the connection to the broker is lost and when it is back.
	Connection Connection
	// QPS and Burst bound how many events are sent: sdk-go's 50 a second and 100 at once for zero, no bound for a negative QPS.
	QPS   float32
	Burst int
	// Metrics count what happens; nil for none.
	Metrics Metrics
	// AgentReturn is how long agents may take to be connected again after the broker was away.
	AgentReturn time.Duration
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}

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
	// tasks are reports that are to be taken over.
	tasks queue
	// sends are events that are to be sent, which may take a while: no report waits for them.
	sends queue
	// await waits until what it asks about is true, for as long as patience lasts. It reports whether it is true.
	await await

	mu sync.Mutex
	// reports holds the last report of each work that was not taken over yet.
	reports map[types.UID]*workv1.ManifestWork
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
	// writes holds the number of the last write of each work that no agent has confirmed.
	writes map[types.UID]uint64
	// unanswered holds the works that all agents were asked for, and that none has reported since.
	unanswered map[types.UID]bool
	// askedAt holds when the agent of each cluster was last asked because it is under way for long.
	askedAt map[string]time.Time
	// lastWrite is the number of the last write.
	lastWrite uint64
	// astray holds since when the agent of each work is seen to have what a write that failed had sent.
	astray map[types.UID]time.Time
	// confirmAfter is how long an agent may take to report anything of what it was sent.
	confirmAfter time.Duration
}

// task is one of: look at the report of a work, ask the agent of a cluster, or all of them, what it has, answer the agent of a cluster
// that asks, see whether what was sent arrived.
type task struct {
	uid     types.UID
	cluster string
	// answer says that the agent is sent all that the hub has for it before it is asked.
	answer bool
	// write is the number of the write that is to be confirmed; 0 for a report.
	write uint64
	// times is how often it was sent again.
	times int
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
	d := newDriver(o, source.CloudEventsTransport, newTasks(o.Clock), newTasks(o.Clock), poll)
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
func newDriver(o Options, transport options.CloudEventTransport, tasks, sends queue, await await) *Driver {
	d := &Driver{
		clock: o.Clock, owners: o.Owners, store: newStore(o.Clock), heard: newHeard(o.Clock), locks: keymutex.NewHashed(64),
		codec: codec.NewManifestBundleCodec(), limiter: newLimiter(o.QPS, o.Burst),
		metrics: o.Metrics, tasks: tasks, sends: sends, await: await,
		reports: map[types.UID]*workv1.ManifestWork{}, expected: map[types.UID]chan struct{}{}, considered: map[types.UID]bool{},
		unwanted: map[types.UID]time.Time{},
		unknown:  map[string]map[types.UID]bool{}, answered: map[string]time.Time{},
		writes: map[types.UID]uint64{}, unanswered: map[types.UID]bool{}, askedAt: map[string]time.Time{}, astray: map[types.UID]time.Time{},
		confirmAfter: confirmAfter,
	}
	if d.metrics == nil {
		d.metrics = noMetrics{}
	}
	d.link = &link{
		CloudEventTransport: transport, name: "broker", connection: o.Connection, agentReturn: o.AgentReturn,
		heard: d.heard, rush: newRush(o.Clock), reported: d.received, metrics: d.metrics, outages: &outages{clock: o.Clock},
		gate:     &gate{clock: o.Clock, clusterOf: d.store.clusterOf, refused: func(why Refusal) { d.metrics.EventRefused(string(why)) }},
		returned: func(cluster string) { d.sends.Add(task{cluster: cluster, answer: true}) },
	}
	return d
}

// queue holds tasks until they are due.
type queue interface {
	Add(task)
	AddAfter(task, time.Duration)
	AddRateLimited(task)
	Forget(task)
	Get() (t task, over bool)
	Done(task)
	Len() int
	ShutDown()
}

// A task that failed is tried again after the first of these at first, and after twice as long each time, up to the second.
const (
	retryFirstAfter = 100 * time.Millisecond
	retryAfterMost  = 30 * time.Second
)

// newTasks makes the queue of tasks, with the timers of the hub's clock where that has any.
func newTasks(clk clock.PassiveClock) queue {
	config := workqueue.TypedRateLimitingQueueConfig[task]{}
	if timers, ok := clk.(clock.WithTicker); ok {
		config.Clock = timers
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[task](retryFirstAfter, retryAfterMost), config)
}

func (d *Driver) run(ctx context.Context) {
	d.connecting.Subscribe(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				d.tasks.ShutDown()
				d.sends.ShutDown()
				return
			case <-d.connecting.SubscribedChan():
				d.sends.Add(task{})
			}
		}
	}()
	for _, q := range []queue{d.tasks, d.sends} {
		for range workers {
			go func() {
				for d.next(ctx, q) {
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
