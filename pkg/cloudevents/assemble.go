package cloudevents

import (
	"context"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/keymutex"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

// Parts are what a Driver runs on. New brings goroutines and timers. A simulation brings parts of its own, to play a broker that loses,
// duplicates, reorders and delays events, and to repeat what it played.
type Parts struct {
	// Transport carries the events.
	Transport options.CloudEventTransport
	// Tasks, Mends and Sends hold what the driver has to do: events to read, reports to mend, and events to send.
	Tasks, Mends, Sends Queue
	// Await lets the rest of the world continue until something is true, for at most the given time. It reports whether it is true.
	Await func(ctx context.Context, patience time.Duration, done func() bool) bool
}

// Assemble returns a driver that is not connected, and that does nothing by itself: its caller connects it and calls Do.
func Assemble(o Options, parts Parts) *Driver {
	d := &Driver{
		clock: o.Clock, owners: o.Owners, store: newStore(o.Clock), rush: newRush(o.Clock), locks: keymutex.NewHashed(1024),
		codec: codec.NewManifestBundleCodec(), limiter: newLimiter(o.QPS),
		metrics: o.Metrics, tasks: parts.Tasks, mends: parts.Mends, sends: parts.Sends, await: parts.Await, available: o.Available,
	}
	if d.metrics == nil {
		d.metrics = noMetrics{}
	}
	d.gate = &gate{clock: o.Clock, clusterOf: d.store.clusterOf}
	d.link = &link{
		CloudEventTransport: parts.Transport, clock: o.Clock, name: "broker", connection: o.Connection, agentReturn: o.AgentReturn,
		receive: d.arrived, metrics: d.metrics, outages: &outages{clock: o.Clock},
	}
	return d
}

// Connect connects and subscribes, as sdk-go's client does whenever it can.
func (d *Driver) Connect(ctx context.Context) error {
	if err := d.link.Connect(ctx); err != nil {
		return err
	}
	if err := d.link.Subscribe(ctx); err != nil {
		return err
	}
	d.sends.Add(askTask{})
	return nil
}

// Disconnect closes the connection, as sdk-go's client does whenever it failed.
func (d *Driver) Disconnect(ctx context.Context) error { return d.link.Close(ctx) }

// Receive takes an event of an agent.
func (d *Driver) Receive(ctx context.Context, event cloudevents.Event) { d.arrived(ctx, event) }

// Knows reports whether Restore would return now.
func (d *Driver) Knows(ctx context.Context, expected map[string]int) bool {
	return len(expected) == 0 || d.knows(ctx, expected)
}

// Collect collects the changes of works from now on, as an informer would see them. Each call of changes returns the new ones.
func (d *Driver) Collect() (changes func() []watch.Event) {
	w := newCollector()
	d.store.watchers[w] = true
	return w.take
}
