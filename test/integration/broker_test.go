package integration

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/open-cluster-management-io/work-rollback/test/internal/authority"
)

// sent counts the events that a hub sent to agents through a broker.
type sent struct {
	mu     sync.Mutex
	events []string
}

// note records an event about a work for a cluster.
func (s *sent) note(eventType, cluster string) {
	kind, err := eventtypes.ParseCloudEventsType(eventType)
	if err != nil || kind.SubResource != eventtypes.SubResourceSpec {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, string(kind.Action)+" "+cluster)
}

// works returns the works that were written: created, changed or deleted, but not those that an agent requested.
func (s *sent) works() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var works []string
	for _, event := range s.events {
		if !strings.HasPrefix(event, string(eventtypes.ResyncResponseAction)) {
			works = append(works, event)
		}
	}
	return works
}

// count returns the number of events of a kind that were sent to a cluster.
func (s *sent) count(action eventtypes.EventAction, cluster string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, event := range s.events {
		if event == string(action)+" "+cluster {
			n++
		}
	}
	return n
}

// broker is an MQTT broker on loopback.
type broker struct {
	t       *testing.T
	address string
	server  *mochi.Server
	sent    sent
	// agentsKeptOut makes the broker refuse the connections of agents. It does not end the connections that they already have.
	agentsKeptOut atomic.Bool
	// authority and permissions let the broker authenticate and authorize its clients. They are nil for a broker that lets every client do
	// anything.
	authority   *authority.Authority
	permissions *permissions
	// process is the mosquitto process; nil for a broker in this process.
	process *os.Process
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, address: freeAddress(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

// newSecureBroker starts a broker with TLS and the permissions of deploy/broker.
func newSecureBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, address: freeAddress(t), authority: authority.New(t), permissions: readPermissions(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

// freeAddress finds a port that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// start starts the broker, on the same port as before.
func (b *broker) start() {
	b.t.Helper()
	b.server = mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	listener := listeners.Config{ID: "tcp", Address: b.address}
	if b.permissions != nil {
		listener.TLSConfig = b.authority.Server()
		require.NoError(b.t, b.server.AddHook(b.permissions, nil))
	} else {
		require.NoError(b.t, b.server.AddHook(new(auth.AllowHook), nil))
	}
	require.NoError(b.t, b.server.AddHook(&listening{sent: &b.sent, agentsKeptOut: &b.agentsKeptOut}, nil))
	require.NoError(b.t, b.server.AddListener(listeners.NewTCP(listener)))
	require.NoError(b.t, b.server.Serve())
}

// stop ends the broker, which loses its whole state.
func (b *broker) stop() {
	if b.server != nil {
		_ = b.server.Close()
		b.server = nil
	}
}

// listening records the events that hubs publish, and refuses the connections of agents if the broker keeps them out.
type listening struct {
	mochi.HookBase
	sent          *sent
	agentsKeptOut *atomic.Bool
}

// ID implements mochi.Hook.
func (l *listening) ID() string { return "listening" }

// Provides implements mochi.Hook.
func (l *listening) Provides(event byte) bool {
	return bytes.Contains([]byte{mochi.OnConnect, mochi.OnPublished}, []byte{event})
}

// OnConnect implements mochi.Hook.
func (l *listening) OnConnect(client *mochi.Client, _ packets.Packet) error {
	if l.agentsKeptOut.Load() && strings.Contains(client.ID, "-work-agent-") {
		return packets.ErrServerUnavailable
	}
	return nil
}

// OnPublished implements mochi.Hook.
func (l *listening) OnPublished(_ *mochi.Client, packet packets.Packet) {
	parts := strings.Split(packet.TopicName, "/")
	if len(parts) != 5 || parts[4] != "sourceevents" {
		return
	}
	for _, property := range packet.Properties.User {
		if property.Key == "ce-type" {
			l.sent.note(property.Val, parts[3])
		}
	}
}

// sourceConfig writes the configuration of a hub.
func (b *broker) sourceConfig() string {
	return b.config("mwrsctrl", "+", "sources/mwrsctrl/sourcebroadcast", "clusters/+/agentbroadcast")
}

// agentConfig writes the configuration of an agent.
func (b *broker) agentConfig(cluster string) string {
	return b.config(cluster, cluster, "sources/+/sourcebroadcast", "clusters/"+cluster+"/agentbroadcast")
}

func (b *broker) config(name, cluster, sourceBroadcast, agentBroadcast string) string {
	b.t.Helper()
	certificates := ""
	if b.authority != nil {
		b.authority.Client(name)
		certificates = fmt.Sprintf("caFile: %s\nclientCertFile: %s\nclientKeyFile: %s\n",
			b.authority.Path("ca.crt"), b.authority.Path(name+".crt"), b.authority.Path(name+".key"))
	}
	return configFile(b.t, name, certificates+fmt.Sprintf(`brokerHost: %s
topics:
  sourceEvents: sources/mwrsctrl/clusters/%s/sourceevents
  agentEvents: sources/mwrsctrl/clusters/%s/agentevents
  sourceBroadcast: %s
  agentBroadcast: %s
`, b.address, cluster, cluster, sourceBroadcast, agentBroadcast))
}

func configFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
