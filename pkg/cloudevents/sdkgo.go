package cloudevents

import (
	"context"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// This file has what exists only because of defects of sdk-go v1.3.0, in its client and in its gRPC transport. It can go when they are
// mended. mqtt.go replaces sdk-go's MQTT transport, which drops the topic of an event, and can deadlock when it is closed
// (docs/contributing/upstream.md#agents-that-stay-deaf).

// guarded is a link that sdk-go's client can use.
type guarded struct{ *link }

// Connect implements options.CloudEventTransport. sdk-go tries to connect until it succeeds, also after the context has ended, and would
// take the connection of the next hub over. It sees that the context has ended when Connect returns no error.
func (g guarded) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return g.link.Connect(ctx)
}

// Receive implements options.CloudEventTransport. sdk-go is handed no event: it would keep a counter for each cluster that nobody reads.
//
// A connection that fails before its receiver has started leaves sdk-go without a context to pass. There is nothing to receive then: the
// next connection starts a receiver of its own.
func (g guarded) Receive(ctx context.Context, _ options.ReceiveHandlerFn) error {
	if ctx == nil {
		return nil
	}
	return g.link.Receive(ctx, g.receive)
}

// noWorks has no works for sdk-go to list: because it is handed no event, it answers none.
type noWorks struct{}

func (noWorks) List(context.Context, eventtypes.ListOptions) ([]*workv1.ManifestWork, error) {
	return nil, nil
}

// sendPatience is the maximum time for a broker to accept an event.
const sendPatience = 10 * time.Second

// sendInTime sends an event. sdk-go's gRPC transport can't be closed while it sends. Without a limit, a server that stops responding would
// block the hub, even if another server is available.
func sendInTime(ctx context.Context, transport options.CloudEventTransport, event cloudevents.Event) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	return transport.Send(ctx, event)
}
