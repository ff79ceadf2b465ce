package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
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
	clock  clock.PassiveClock
	owners Owners
	store  *store
	link   *link
	// gate admits the events that agents may send, and rush detects that many agents report at once.
	gate    *gate
	rush    *rush
	metrics Metrics
	// connecting is sdk-go's client. It keeps the connection, and carries no events: it would keep a counter for each cluster.
	connecting generic.CloudEventsClient[*workv1.ManifestWork]
	codec      generic.Codec[*workv1.ManifestWork]
	limiter    flowcontrol.RateLimiter
	locks      keymutex.KeyMutex
	// tasks are the clusters whose events are to be read.
	tasks Queue
	// mends are reports that can't be processed at once. They may take a while, and no other report waits for them.
	mends Queue
	// sends are events to send. They may take a while, and no report waits for them.
	sends Queue
	// await waits until a condition is true, at most for patience, and reports whether it is.
	await await

	// available is Options.Available.
	available func(ctx context.Context, cluster string) (available, exists bool)

	// mu guards the progress of the restore.
	mu sync.Mutex
	// asked is the time when the agents were first asked for their works; zero if they were not.
	asked time.Time
	// restored is the time when a work was last restored.
	restored time.Time
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
	d := Assemble(o, Parts{
		Transport: source.CloudEventsTransport, Tasks: newTasks(o.Clock), Mends: newTasks(o.Clock), Sends: newTasks(o.Clock), Await: poll,
	})
	source.CloudEventsTransport = guarded{d.link}
	var err error
	d.connecting, err = clients.NewCloudEventSourceClient(ctx, source, noWorks{}, statushash.StatusHash[*workv1.ManifestWork], d.codec)
	if err != nil {
		return nil, fmt.Errorf("connecting by %s: %w", o.Type, err)
	}
	d.run(ctx)
	return d, nil
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
				d.sends.Add(askTask{})
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

func (d *Driver) lock(uid types.UID) (unlock func()) {
	d.locks.LockKey(string(uid))
	return func() { _ = d.locks.UnlockKey(string(uid)) }
}
