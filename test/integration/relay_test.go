package integration

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/constants"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// relay is a gRPC server that both a hub and agents can subscribe to, and that keeps nothing. sdk-go's own one takes no hub: behind it
// stands OCM's API server, and a hub writes there with the driver kube.
type relay struct {
	pbv1.UnimplementedCloudEventServiceServer
	t       *testing.T
	address string
	server  *grpc.Server
	sent    sent

	mu          sync.Mutex
	subscribers map[*subscriber]bool
}

type subscriber struct {
	source, cluster string
	events          chan *pbv1.CloudEvent
	done            <-chan struct{}
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	r := &relay{t: t, address: freeAddress(t), subscribers: map[*subscriber]bool{}}
	r.start()
	t.Cleanup(r.stop)
	return r
}

// start starts the server, on the same port as before.
func (r *relay) start() {
	r.t.Helper()
	listener, err := net.Listen("tcp", r.address)
	require.NoError(r.t, err)
	server := grpc.NewServer()
	pbv1.RegisterCloudEventServiceServer(server, r)
	r.server = server
	go func() { _ = server.Serve(listener) }()
}

func (r *relay) stop() { r.server.Stop() }

func (r *relay) config(name string) string {
	return configFile(r.t, name, fmt.Sprintf("url: %s\n", r.address))
}

// Subscribe implements pbv1.CloudEventServiceServer.
func (r *relay) Subscribe(request *pbv1.SubscriptionRequest, stream pbv1.CloudEventService_SubscribeServer) error {
	s := &subscriber{
		source: request.Source, cluster: request.ClusterName, done: stream.Context().Done(), events: make(chan *pbv1.CloudEvent),
	}
	if err := stream.SendHeader(metadata.Pairs(constants.GRPCSubscriptionIDKey, uuid.NewString())); err != nil {
		return err
	}
	r.mu.Lock()
	r.subscribers[s] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, s)
	}()
	for {
		select {
		case <-s.done:
			return nil
		case event := <-s.events:
			if err := stream.Send(event); err != nil {
				return err
			}
		}
	}
}

// Publish implements pbv1.CloudEventServiceServer.
func (r *relay) Publish(ctx context.Context, request *pbv1.PublishRequest) (*emptypb.Empty, error) {
	event, err := binding.ToEvent(ctx, protocol.NewMessage(request.Event))
	if err != nil {
		return nil, err
	}
	kind, err := eventtypes.ParseCloudEventsType(event.Type())
	if err != nil {
		return nil, err
	}
	text := func(extension string) string {
		value, _ := event.Extensions()[extension].(string)
		return value
	}
	cluster, source := text(eventtypes.ExtensionClusterName), text(eventtypes.ExtensionOriginalSource)
	toAgents := (kind.SubResource == eventtypes.SubResourceSpec) != (kind.Action == eventtypes.ResyncRequestAction)
	if toAgents {
		r.sent.note(event.Type(), cluster)
	}
	for _, s := range r.all() {
		agent := s.cluster != ""
		if agent != toAgents || (agent && cluster != "" && cluster != s.cluster) || (!agent && source != "" && source != s.source) {
			continue
		}
		select {
		case s.events <- request.Event:
		case <-s.done:
		}
	}
	return &emptypb.Empty{}, nil
}

func (r *relay) all() []*subscriber {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*subscriber, 0, len(r.subscribers))
	for s := range r.subscribers {
		all = append(all, s)
	}
	return all
}

func newGRPCFleet(t *testing.T, name string) *eventFleet {
	t.Helper()
	r := newRelay(t)
	return newEventFleet(t, name, "grpc", r.config("hub"), func(cluster string) string { return r.config(cluster) }, &r.sent)
}

func TestCloudEventsGRPC(t *testing.T) {
	t.Parallel()
	newGRPCFleet(t, "grpc").tellsStory()
}
