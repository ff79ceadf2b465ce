package cloudevents

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
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

	connection  Connection
	agentReturn time.Duration
	metrics     Metrics
	clock       clock.PassiveClock

	// up is true if events can be sent and received, and upSince is the time at which it last became true; nil before the
	// first time.
	up      atomic.Bool
	upSince atomic.Pointer[time.Time]
	// stalled is true from a send that the broker did not accept in time until the broker accepts one, and resumed is the time at which it
	// last did so.
	stalled atomic.Bool
	resumed atomic.Pointer[time.Time]
}

// broker is the name of the source in calls of the Connection.
const broker = "broker"

// connect connects and subscribes. When it returns, the hub receives the agents' events.
func (l *link) connect(ctx context.Context) error {
	if err := l.Connect(ctx); err != nil {
		return err
	}
	if err := l.Subscribe(ctx); err != nil {
		return err
	}
	again := l.upSince.Swap(ptr.To(l.clock.Now())) != nil
	l.up.Store(true)
	l.metrics.Connected(true)
	if again {
		l.metrics.Reconnected()
		klog.FromContext(ctx).Info("The broker is connected again")
	}
	l.connection.Back(broker, l.agentReturn)
	return nil
}

// disconnect closes the failed transport.
func (l *link) disconnect(ctx context.Context) error {
	if l.up.Swap(false) {
		klog.FromContext(ctx).Info("The broker is not connected: nothing is written to any cluster until the connection is restored")
		l.metrics.Connected(false)
		l.connection.Lost(broker)
	}
	return l.Close(ctx)
}

// sendPatience is the maximum time for a broker to accept an event. sdk-go's gRPC transport can't be closed while it sends: without a
// limit, a server that stops responding would block the hub, even if another server is available.
const sendPatience = 10 * time.Second

// Send implements options.CloudEventTransport. It sends nothing to an invalid cluster name. In an MQTT topic, "+" and
// "#" would make the broker close the connection, which carries the works of all clusters, and "/" would lead to
// another topic. A gRPC server may use the name in the same way.
func (l *link) Send(ctx context.Context, event cloudevents.Event) error {
	if !l.up.Load() {
		return errAway
	}
	cluster, err := cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName])
	if err != nil || cluster != eventtypes.ClusterAll && !placement.IsClusterName(cluster) {
		return apierrors.NewBadRequest(fmt.Sprintf("%.64q is not the name of a cluster", cluster))
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	began := l.clock.Now()
	err = l.CloudEventTransport.Send(ctx, event)
	l.noteStall(l.clock.Since(began), err == nil)
	return err
}

// stallPatience is the time within which a broker that runs accepts an event.
const stallPatience = 5 * time.Second

// noteStall records how long the broker took for an event. A broker that stalls keeps its connections, so no error shows the stall. When it
// continues, agents may need as long to report as after an outage.
func (l *link) noteStall(took time.Duration, accepted bool) {
	if took >= stallPatience {
		l.stalled.Store(true)
	}
	if accepted && l.stalled.Swap(false) && l.up.Load() {
		l.resumed.Store(ptr.To(l.clock.Now()))
		l.connection.Lost(broker)
		l.connection.Back(broker, l.agentReturn)
	}
}

// resumedSince reports whether the broker continued after a stall at or after the given time.
func (l *link) resumedSince(since time.Time) bool {
	at := l.resumed.Load()
	return at != nil && !at.Before(since)
}

// ask asks the agent of a cluster, or all agents, to report all of their works.
func (l *link) ask(ctx context.Context, cluster string) error {
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
