package cloudevents

import (
	"context"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// This file works around defects of sdk-go v1.3.0, in its client and in its gRPC transport. It can be removed when they are fixed. mqtt.go
// replaces sdk-go's MQTT transport, which drops the topic of an event, and can deadlock when it is closed
// (docs/contributing/upstream.md#agents-that-stay-deaf).

// guarded is a link that sdk-go's client can use.
type guarded struct{ *link }

// Connect implements options.CloudEventTransport. sdk-go tries to connect until it succeeds, even after the context has ended, and would
// take over the connection of the next hub. It notices that the context has ended only when Connect returns no error.
func (g guarded) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return g.link.Connect(ctx)
}

// Receive implements options.CloudEventTransport. No event is passed to sdk-go, which would keep a counter for each cluster that nothing
// reads.
//
// If a connection fails before its receiver has started, sdk-go passes a nil context. Then there is nothing to receive: the next connection
// starts its own receiver.
func (g guarded) Receive(ctx context.Context, _ options.ReceiveHandlerFn) error {
	if ctx == nil {
		return nil
	}
	return g.link.Receive(ctx, g.receive)
}

// noWorks lists no works: because sdk-go gets no event, it answers none.
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
