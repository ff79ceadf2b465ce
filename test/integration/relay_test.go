package integration

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/relay"
)

// grpcBroker is a gRPC broker on loopback that stores no events.
type grpcBroker struct {
	t       *testing.T
	address string
	server  *relay.Server
	sent    sent
}

func newGRPCBroker(t *testing.T) *grpcBroker {
	t.Helper()
	b := &grpcBroker{t: t, address: freeAddress(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

// start starts the broker, on the same port as before.
func (b *grpcBroker) start() {
	b.t.Helper()
	listener, err := net.Listen("tcp", b.address)
	require.NoError(b.t, err)
	server := relay.New(b.sent.note)
	b.server = server
	go func() { _ = server.Serve(listener) }()
}

func (b *grpcBroker) stop() { b.server.Stop() }

func (b *grpcBroker) config(name string) string {
	return configFile(b.t, name, fmt.Sprintf("url: %s\n", b.address))
}

func newGRPCFleet(t *testing.T, name string) *eventFleet {
	t.Helper()
	b := newGRPCBroker(t)
	return newEventFleet(t, name, "grpc", b.config("hub"), b.config, &b.sent)
}

func TestCloudEventsGRPC(t *testing.T) {
	t.Parallel()
	newGRPCFleet(t, "grpc").tellsStory()
}
