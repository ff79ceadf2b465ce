package cloudevents

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	resync "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// link is a transport that reports when it connects and disconnects.
type link struct {
	options.CloudEventTransport

	name        string
	connection  Connection
	agentReturn time.Duration
	// receive is called with each event of an agent. It must not block.
	receive func(ctx context.Context, event cloudevents.Event)
	metrics Metrics
	outages *outages

	// connected is true if events can be sent, and up is true if agents can be heard as well.
	connected, up atomic.Bool
	// upSince is when up last became true; nil before the first time.
	upSince atomic.Pointer[time.Time]
	clock   clock.PassiveClock
}

// Connect implements options.CloudEventTransport.
func (l *link) Connect(ctx context.Context) error {
	if err := l.CloudEventTransport.Connect(ctx); err != nil {
		l.lost(ctx)
		return err
	}
	l.connected.Store(true)
	return nil
}

// Subscribe implements options.CloudEventTransport. After it, agents are heard.
func (l *link) Subscribe(ctx context.Context) error {
	if err := l.CloudEventTransport.Subscribe(ctx); err != nil {
		l.lost(ctx)
		return err
	}
	l.connected.Store(true) // A failed attempt to subscribe had reset it.
	l.upSince.Store(ptr.To(l.clock.Now()))
	l.up.Store(true)
	l.metrics.Connected(true)
	if l.outages.ended(ctx) {
		l.metrics.Reconnected()
	}
	l.connection.Back(l.name, l.agentReturn)
	return nil
}

// Close implements options.CloudEventTransport. sdk-go calls it whenever the transport failed.
func (l *link) Close(ctx context.Context) error {
	l.lost(ctx)
	return l.CloudEventTransport.Close(ctx)
}

func (l *link) lost(ctx context.Context) {
	l.connected.Store(false)
	l.up.Store(false)
	l.metrics.Connected(false)
	l.outages.began(ctx)
	l.connection.Lost(l.name)
}

// Send implements options.CloudEventTransport. It sends nothing to a name that no cluster can have. In an MQTT topic, "+" and "#" would
// make the broker end the connection, which carries the works of all clusters, and "/" would lead to another topic. A gRPC server may use
// the name in the same way.
func (l *link) Send(ctx context.Context, event cloudevents.Event) error {
	cluster, err := cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName])
	if err != nil || cluster != eventtypes.ClusterAll && !placement.IsClusterName(cluster) {
		return apierrors.NewBadRequest(fmt.Sprintf("%.64q is not the name of a cluster", cluster))
	}
	return sendInTime(ctx, l.CloudEventTransport, event)
}

// ask asks the agent of a cluster, or all agents, to report all of their works.
func (l *link) ask(ctx context.Context, cluster string) error {
	if !l.up.Load() {
		return errAway
	}
	event := eventtypes.NewEventBuilder(SourceID, eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType,
		SubResource:         eventtypes.SubResourceStatus,
		Action:              eventtypes.ResyncRequestAction,
	}).WithClusterName(cluster).NewEvent()
	if err := event.SetData(cloudevents.ApplicationJSON, &resync.ResourceStatusHashList{Hashes: []resync.ResourceStatusHash{}}); err != nil {
		return err
	}
	if err := l.Send(ctx, event); err != nil {
		return err
	}
	l.metrics.EventSent(string(eventtypes.ResyncRequestAction))
	return nil
}
