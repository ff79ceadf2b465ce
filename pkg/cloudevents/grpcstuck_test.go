package cloudevents

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/constants"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// stuckServer is a gRPC server that sends heartbeats and accepts events. While it is stuck, it does neither, but keeps its connections.
type stuckServer struct {
	pbv1.UnimplementedCloudEventServiceServer
	stuck   atomic.Bool
	waiting atomic.Int64
	ended   atomic.Int64
}

func (s *stuckServer) Publish(ctx context.Context, _ *pbv1.PublishRequest) (*emptypb.Empty, error) {
	if s.stuck.Load() {
		s.waiting.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &emptypb.Empty{}, nil
}

func (s *stuckServer) Subscribe(_ *pbv1.SubscriptionRequest, stream pbv1.CloudEventService_SubscribeServer) error {
	if err := stream.SendHeader(metadata.Pairs(constants.GRPCSubscriptionIDKey, "1")); err != nil {
		return err
	}
	defer s.ended.Add(1)
	for stream.Context().Err() == nil {
		if !s.stuck.Load() {
			if err := stream.Send(&pbv1.CloudEvent{Id: "1", Source: "s", SpecVersion: "1.0", Type: eventtypes.HeartbeatCloudEventsType}); err != nil {
				return err
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-stream.Context().Done():
		}
	}
	return nil
}

// If a gRPC server stops responding, the hub notices the missing heartbeats and reconnects, for example to another replica. A write that
// waits for a response must not prevent that: sdk-go's transport can't be closed while it sends.
func TestServerThatStopsAnswering(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, s := grpc.NewServer(), &stuckServer{}
	pbv1.RegisterCloudEventServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "url: %s\nserverHealthinessTimeout: 1s\n", listener.Addr()), 0o600))
	d, err := New(Options{
		Type: "grpc", ConfigFile: config, ClientID: "hub", Owners: fakeOwners{}, Connection: &fakeConnection{}, Clock: clock.RealClock{},
		Metrics: newRefusals(),
	})
	require.NoError(t, err)
	start(t, d)

	s.stuck.Store(true)
	failed := make(chan error, 1)
	go func() {
		_, err := d.Works().WorkV1().ManifestWorks("c1").Create(t.Context(), owned("c1", "v1"), metav1.CreateOptions{})
		failed <- err
	}()
	require.Eventually(t, func() bool { return s.waiting.Load() > 0 }, 10*time.Second, 10*time.Millisecond, "the write waits")
	// sdk-go watches the heartbeats once it starts to receive. If the write is sent first, that happens after sendPatience.
	require.Eventually(t, func() bool { return !d.Reachable() }, time.Minute, 10*time.Millisecond, "no heartbeat comes")
	require.Eventually(t, func() bool { return s.ended.Load() > 0 }, time.Minute, 100*time.Millisecond, "it closes the connection, to connect again")
	require.Error(t, <-failed)
}
