package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	cloudeventserrors "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/errors"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// SourceID is what upstream's hub calls itself to agents and brokers. Works that it published stay ours.
const SourceID = "mwrsctrl"

// DefaultAgentReturn is how long an agent may take to be connected again after the broker was away: sdk-go's clients wait for up to
// two minutes before they try again.
const DefaultAgentReturn = 2 * time.Minute

// workers is how many reports are worked on at once.
const workers = 4

// Connection is told when the broker can't be heard, and when it can be heard again (R11).
type Connection interface {
	// Lost says that what is named can't be heard.
	Lost(name string)
	// Back says that it is heard again, and how long those who report by it may need until they are there again too.
	Back(name string, settle time.Duration)
}

// Options say what a driver connects.
type Options struct {
	// Type is mqtt or grpc.
	Type string
	// ConfigFile is the path of sdk-go's configuration for that type.
	ConfigFile string
	// ClientID tells this client from all others of the broker.
	ClientID string
	// Owners knows the owners of works.
	Owners Owners
	// Connection is told of the broker's coming and going.
	Connection Connection
	// AgentReturn is how long agents may take to be connected again after the broker was away.
	AgentReturn time.Duration
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}

// Driver carries works to agents, and their reports back.
type Driver struct {
	clock  clock.PassiveClock
	owners Owners
	store  *store
	link   *link
	heard  *heard
	events generic.CloudEventsClient[*workv1.ManifestWork]
	locks  keymutex.KeyMutex
	tasks  workqueue.TypedRateLimitingInterface[task]

	mu sync.Mutex
	// reports holds the last report of each work that was not taken over yet.
	reports map[types.UID]*workv1.ManifestWork
	// ownerless holds since when the owner of a reported work is seen missing.
	ownerless map[types.UID]time.Time
	// asked is when the agents were first asked what they have; zero when they were not.
	asked time.Time
	// restored is when a work was restored last.
	restored time.Time
	// writes holds the number of the last write of each work that no agent has confirmed.
	writes map[types.UID]uint64
	// lastWrite is the number of the last write.
	lastWrite uint64
	// astray holds since when the agent of each work is seen to have what a write that failed had sent.
	astray map[types.UID]time.Time
	// confirmAfter is how long an agent may take to report anything of what it was sent.
	confirmAfter time.Duration
}

// task is one of: look at the report of a work, ask the agent of a cluster, see whether what was sent arrived.
type task struct {
	uid     types.UID
	cluster string
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
	_, config, err := builder.NewConfigLoader(o.Type, o.ConfigFile).LoadConfig()
	if err == nil {
		err = check(config)
	}
	if err != nil {
		return nil, fmt.Errorf("--work-driver-config=%s: %w", o.ConfigFile, err)
	}
	source, err := builder.BuildCloudEventsSourceOptions(config, o.ClientID, SourceID, payload.ManifestBundleEventDataType)
	if err != nil {
		return nil, fmt.Errorf("--work-driver=%s: %w", o.Type, err)
	}
	return connect(ctx, o, source)
}

func connect(ctx context.Context, o Options, source *options.CloudEventsSourceOptions) (*Driver, error) {
	d := &Driver{
		clock: o.Clock, owners: o.Owners, store: newStore(o.Clock), heard: newHeard(o.Clock), locks: keymutex.NewHashed(64),
		tasks:   newTasks(o.Clock),
		reports: map[types.UID]*workv1.ManifestWork{}, ownerless: map[types.UID]time.Time{},
		writes: map[types.UID]uint64{}, astray: map[types.UID]time.Time{}, confirmAfter: confirmAfter,
	}
	d.link = &link{
		CloudEventTransport: source.CloudEventsTransport, name: "broker", connection: o.Connection, agentReturn: o.AgentReturn,
		heard:    d.heard,
		knows:    func(uid types.UID) bool { return d.store.get(uid) != nil },
		returned: func(cluster string) { d.tasks.Add(task{cluster: cluster}) },
	}
	source.CloudEventsTransport = d.link
	var err error
	d.events, err = clients.NewCloudEventSourceClient(ctx, source, d, statushash.StatusHash[*workv1.ManifestWork], codec.NewManifestBundleCodec())
	if err != nil {
		return nil, fmt.Errorf("connecting by %s: %w", o.Type, err)
	}
	d.run(ctx)
	return d, nil
}

// newTasks makes the queue of tasks, with the timers of the hub's clock where that has any.
func newTasks(clk clock.PassiveClock) workqueue.TypedRateLimitingInterface[task] {
	config := workqueue.TypedRateLimitingQueueConfig[task]{}
	if timers, ok := clk.(clock.WithTicker); ok {
		config.Clock = timers
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, 30*time.Second), config)
}

// check refuses a configuration with which a hub would learn nothing of its works after a restart.
func check(config any) error {
	broker, ok := config.(*mqtt.MQTTOptions)
	if !ok {
		return nil
	}
	if _, err := mqtt.SourceSubscribe(broker, SourceID); err != nil {
		return fmt.Errorf("topics.agentEvents: %w", err)
	}
	if broker.Topics.SourceBroadcast == "" {
		return fmt.Errorf("topics.sourceBroadcast is empty: set it to sources/%s/sourcebroadcast, by which this hub asks all agents for their works when it starts", SourceID)
	}
	if broker.Topics.AgentBroadcast == "" {
		return errors.New("topics.agentBroadcast is empty: set it to clusters/+/agentbroadcast, by which agents ask this hub for their works when they start")
	}
	return nil
}

func (d *Driver) run(ctx context.Context) {
	d.events.Subscribe(ctx, d.received)
	go func() {
		for {
			select {
			case <-ctx.Done():
				d.tasks.ShutDown()
				return
			case <-d.events.SubscribedChan():
				d.tasks.Add(task{})
			}
		}
	}()
	for range workers {
		go func() {
			for d.next(ctx) {
			}
		}()
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

// publishSpec sends a work to its agent.
func (d *Driver) publishSpec(ctx context.Context, action eventtypes.EventAction, work *workv1.ManifestWork) error {
	if err := validate(work); err != nil {
		return err
	}
	return d.publish(ctx, action, work)
}

// publish sends a work, and sends it again until its agent reports something of it.
func (d *Driver) publish(ctx context.Context, action eventtypes.EventAction, work *workv1.ManifestWork) error {
	if err := d.send(ctx, action, work); err != nil {
		return err
	}
	d.expectWord(work.UID)
	return nil
}

// send fails with what a server said or, where none said anything, with an error that goes away.
func (d *Driver) send(ctx context.Context, action eventtypes.EventAction, work *workv1.ManifestWork) error {
	err := d.events.Publish(ctx, eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceSpec, Action: action,
	}, work)
	if err != nil {
		return refusal(work.Name, err)
	}
	return nil
}

func refusal(name string, err error) error {
	if said := cloudeventserrors.ToStatusError(common.ManifestWorkGR, name, err); !cloudeventserrors.IsPublishError(said) {
		return said
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the broker did not take it: %v", err))
}
