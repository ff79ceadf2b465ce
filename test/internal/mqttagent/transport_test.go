package mqttagent

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/stretchr/testify/require"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	topic = "sources/hub/clusters/c1/sourceevents"
	// moment is the time that a close may take on a busy machine. A deadlocked close takes forever.
	moment = 10 * time.Second
	// messages is more than sdk-go's transport buffers for a reader, so that a message is being routed when the transport is closed.
	messages = 200
	// tries is the number of times the test tries to cause the deadlock: nearly always, the first try succeeds.
	tries = 20
)

func newBroker(t *testing.T) (server *mochi.Server, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	require.NoError(t, listener.Close())
	server = mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, server.AddHook(new(auth.AllowHook), nil))
	require.NoError(t, server.AddListener(listeners.NewTCP(listeners.Config{ID: "tcp", Address: address})))
	require.NoError(t, server.Serve())
	t.Cleanup(func() { _ = server.Close() })
	return server, address
}

// sdk returns sdk-go's own transport of an agent.
func sdk(address string) (options.CloudEventTransport, error) {
	o, err := builder.BuildCloudEventsAgentOptions(&mqtt.MQTTOptions{
		KeepAlive: 60, PubQoS: 1, SubQoS: 1, Dialer: &mqtt.MQTTDialer{BrokerHost: address, Timeout: moment},
		Topics: eventtypes.Topics{
			SourceEvents: topic, AgentEvents: "sources/hub/clusters/c1/agentevents",
			SourceBroadcast: "sources/+/sourcebroadcast", AgentBroadcast: "clusters/c1/agentbroadcast",
		},
	}, "c1", "c1-agent", payload.ManifestBundleEventDataType)
	if err != nil {
		return nil, err
	}
	return o.CloudEventsTransport, nil
}

// closesWhileRouting closes a transport while unread messages arrive, and reports whether the close returns.
func closesWhileRouting(t *testing.T, server *mochi.Server, transport options.CloudEventTransport) bool {
	t.Helper()
	// When a connection ends, mochi removes its client by ID, after a new connection with that ID may already have taken its place.
	// Only the inline client, which publishes, is left.
	require.Eventually(t, func() bool { return server.Clients.Len() == 1 }, moment, time.Millisecond,
		"the broker has not removed the last connection's client within %s", moment)
	require.NoError(t, transport.Connect(t.Context()))
	require.NoError(t, transport.Subscribe(t.Context()))
	for range messages {
		require.NoError(t, server.Publish(topic, []byte("{}"), false, 1))
	}
	// The broker has sent more than the transport buffers: the rest waits in its handler.
	require.Eventually(t, func() bool {
		for _, client := range server.Clients.GetByListener("tcp") {
			if waiting := client.State.Inflight.Len(); waiting > 0 && waiting < messages {
				return true
			}
		}
		return false
	}, moment, time.Millisecond, "the buffer of the transport is not full within %s", moment)
	closed := make(chan struct{})
	go func() {
		_ = transport.Close(t.Context())
		close(closed)
	}()
	select {
	case <-closed:
		return true
	case <-time.After(moment):
		return false
	}
}

// sdk-go v1.3.0 deadlocks when it is closed while a message is routed: Close holds the lock while paho's Disconnect waits for the goroutine
// that routes messages, and that goroutine waits for the lock in getCloseChan. This test fails once sdk-go has fixed this.
func TestSDKTransportWaitsForItself(t *testing.T) {
	server, address := newBroker(t)
	for range tries {
		transport, err := sdk(address)
		require.NoError(t, err)
		if !closesWhileRouting(t, server, transport) {
			return
		}
	}
	t.Fatalf("sdk-go's MQTT transport closed %d times out of %d while messages arrived: it is fixed. Remove this package, its description in "+
		"docs/contributing/upstream.md, and the advice to restart deaf agents in docs/cloudevents.md for agents with this sdk-go", tries, tries)
}

// The transport of this package reconnects after that.
func TestTransportClosesAndConnectsAgain(t *testing.T) {
	server, address := newBroker(t)
	transport := New(func() (options.CloudEventTransport, error) { return sdk(address) })
	for range 3 {
		require.True(t, closesWhileRouting(t, server, transport))
	}
}
