package cloudevents

import (
	"context"
	"fmt"
	"sync"
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

	// mu is held while the fields below change together with the connection.
	mu sync.Mutex
	// up is true if events can be sent and received, and upSince is the time at which it last became true, or at which the broker continued
	// after a stall; nil before the first time.
	up      atomic.Bool
	upSince atomic.Pointer[time.Time]
	// stalled is true from a send that takes stallPatience or longer until the broker accepts an event.
	stalled bool
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
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.upSince.Swap(ptr.To(l.clock.Now())) != nil
	l.up.Store(true)
	l.stalled = false
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
	l.mu.Lock()
	if l.up.Swap(false) {
		klog.FromContext(ctx).Info("The broker is not connected: nothing is written to any cluster until the connection is restored")
		l.metrics.Connected(false)
		l.connection.Lost(broker)
	}
	l.mu.Unlock()
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

// stallPatience is the time within which a running broker accepts an event.
const stallPatience = 5 * time.Second

// noteStall records how long the broker took for an event. A broker that stalls keeps its connections, so no error shows the stall. When
// the broker continues, the agents may need as long to report as after an outage.
func (l *link) noteStall(took time.Duration, accepted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = l.stalled || took >= stallPatience
	if !accepted || !l.stalled || !l.up.Load() {
		return
	}
	l.stalled = false
	klog.Background().Info("The broker accepts events again after it did not for some time: deadlines wait as after an outage")
	l.upSince.Store(ptr.To(l.clock.Now()))
	l.connection.Lost(broker)
	l.connection.Back(broker, l.agentReturn)
}

// isUpOnlySince reports whether the broker was connected, or continued after a stall, after the given time.
func (l *link) isUpOnlySince(since time.Time) bool {
	at := l.upSince.Load()
	return at != nil && at.After(since)
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
