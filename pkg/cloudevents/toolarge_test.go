package cloudevents

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"
)

// A work that exceeds the max_packet_size announced by the broker, or whose metadata does not fit into an MQTT header (65,535 bytes), is
// rejected and named, like any other work that can't be written. It must not break the connection, which carries all other works: rollouts
// and aborts would stop, and no deadline would fire.
func TestWorkThatIsTooLargeForTheBroker(t *testing.T) {
	large := owned("c1", "v1")
	large.Spec = spec(strings.Repeat("x", 100<<10))
	labelled := owned("c1", "v1")
	for i := range 2000 { // The labels of a ManifestWorkReplicaSet are copied to its works, and an API server does not limit how many there are.
		labelled.Labels[fmt.Sprintf("example.com/a-label-of-a-tenant-%d", i)] = "true"
	}
	for name, work := range map[string]*workv1.ManifestWork{"the packet": large, "the metadata": labelled} {
		t.Run(name, func(t *testing.T) {
			d, connection := newMQTTDriver(t, 96<<10)
			_, err := d.Works().WorkV1().ManifestWorks("c1").Create(t.Context(), work, metav1.CreateOptions{})
			require.Error(t, err)
			require.NotContains(t, connection.all(), "lost broker", "the connection stays: %v", err)
			require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
			_, err = d.Works().WorkV1().ManifestWorks("c2").Create(t.Context(), owned("c2", "v1"), metav1.CreateOptions{})
			require.NoError(t, err)
		})
	}
}

// A broker whose limit was lowered rejects a work. The hub still sends the agent its other works, and asks it for its reports.
func TestAnswerWithAWorkThatIsTooLarge(t *testing.T) {
	r := newRig(t, nil)
	r.create(owned("c1", "v1"))
	r.clock.Step(answerInterval)
	r.wire.breaks(apierrors.NewRequestEntityTooLargeError("the event is too large"))
	again, err := answerTask{"c1"}.perform(t.Context(), r.Driver)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), "this wire does not take the question either, so that was sent: %v", err)
	require.Zero(t, again)
}

// announceLimit announces the broker's limit to its clients. MQTT 5 requires this, but mochi does not do it.
type announceLimit struct {
	mochi.HookBase
	largest uint32
}

func (a *announceLimit) Provides(hook byte) bool { return hook == mochi.OnPacketEncode }

func (a *announceLimit) OnPacketEncode(_ *mochi.Client, packet packets.Packet) packets.Packet {
	if packet.FixedHeader.Type == packets.Connack {
		packet.Properties.MaximumPacketSize = a.largest
	}
	return packet
}

// newMQTTDriver starts a broker with a limit for packets, in bytes, and a driver that is connected to it.
func newMQTTDriver(t *testing.T, largest uint32) (*Driver, *fakeConnection) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	capabilities := mochi.NewDefaultServerCapabilities()
	capabilities.MaximumPacketSize = largest
	server := mochi.New(&mochi.Options{Capabilities: capabilities, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, server.AddHook(new(auth.AllowHook), nil))
	require.NoError(t, server.AddHook(&announceLimit{largest: largest}, nil))
	require.NoError(t, server.AddListener(listeners.NewNet("tcp", listener)))
	require.NoError(t, server.Serve())
	t.Cleanup(func() { _ = server.Close() })
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `brokerHost: %s
topics:
  sourceEvents: sources/mwrsctrl/clusters/+/sourceevents
  agentEvents: sources/mwrsctrl/clusters/+/agentevents
  sourceBroadcast: sources/mwrsctrl/sourcebroadcast
  agentBroadcast: clusters/+/agentbroadcast
`, listener.Addr()), 0o600))
	connection := &fakeConnection{}
	d, err := New(Options{
		Type: "mqtt", ConfigFile: config, ClientID: "hub", Owners: fakeOwners{}, Connection: connection, Clock: clock.RealClock{},
		Metrics: newRefusals(),
	})
	require.NoError(t, err)
	start(t, d)
	return d, connection
}
