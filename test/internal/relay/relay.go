// Package relay is a gRPC broker of CloudEvents: hubs and agents both subscribe to it, and it stores nothing for clients that are
// disconnected. sdk-go's own server does not accept hubs: it stands in front of OCM's API server, where a hub writes with the driver kube.
package relay

import (
	"context"
	"net"
	"sync"

	"github.com/cloudevents/sdk-go/v2/binding"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/util/uuid"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/constants"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// Server is a broker. It can serve only once.
type Server struct {
	pbv1.UnimplementedCloudEventServiceServer
	server *grpc.Server
	// sent is called with each event for agents; nil for no call.
	sent func(eventType, cluster string)

	mu sync.Mutex
	// agents are the subscribers of each cluster. All other subscribers are hubs.
	agents map[string]map[*subscriber]bool
	hubs   map[*subscriber]bool
}

// New returns a broker. If sent is not nil, the broker calls it with the type and the cluster of each event for agents.
func New(sent func(eventType, cluster string)) *Server {
	s := &Server{server: grpc.NewServer(), sent: sent, agents: map[string]map[*subscriber]bool{}, hubs: map[*subscriber]bool{}}
	pbv1.RegisterCloudEventServiceServer(s.server, s)
	return s
}

// Serve serves until Stop, and closes the listener.
func (s *Server) Serve(listener net.Listener) error { return s.server.Serve(listener) }

// Stop ends all connections. Undelivered events are lost.
func (s *Server) Stop() { s.server.Stop() }

// Subscribe implements pbv1.CloudEventServiceServer.
func (s *Server) Subscribe(request *pbv1.SubscriptionRequest, stream pbv1.CloudEventService_SubscribeServer) error {
	to := newSubscriber(request.Source)
	s.add(request.ClusterName, to)
	defer s.remove(request.ClusterName, to)
	// A client publishes as soon as it has this header, so it must be subscribed before the response to its event.
	if err := stream.SendHeader(metadata.Pairs(constants.GRPCSubscriptionIDKey, string(uuid.NewUUID()))); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case <-to.ready:
		}
		for _, event := range to.take() {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
	}
}

// Publish implements pbv1.CloudEventServiceServer. It does not wait for subscribers: sdk-go's client reads nothing while it publishes, so
// two clients that publish to each other would deadlock.
func (s *Server) Publish(ctx context.Context, request *pbv1.PublishRequest) (*emptypb.Empty, error) {
	event, err := binding.ToEvent(ctx, protocol.NewMessage(request.Event))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	kind, err := eventtypes.ParseCloudEventsType(event.Type())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	text := func(extension string) string {
		value, _ := event.Extensions()[extension].(string)
		return value
	}
	cluster := text(eventtypes.ExtensionClusterName)
	// Works, and requests for an agent's works, go to agents. Reports, and requests for the hub's works, go to hubs.
	if toAgents := (kind.SubResource == eventtypes.SubResourceSpec) != (kind.Action == eventtypes.ResyncRequestAction); !toAgents {
		s.deliver(request.Event, s.hubsOf(text(eventtypes.ExtensionOriginalSource)))
		return &emptypb.Empty{}, nil
	}
	if s.sent != nil {
		s.sent(event.Type(), cluster)
	}
	s.deliver(request.Event, s.agentsOf(cluster))
	return &emptypb.Empty{}, nil
}

func (s *Server) deliver(event *pbv1.CloudEvent, to []*subscriber) {
	for _, one := range to {
		one.put(event)
	}
}

func (s *Server) add(cluster string, to *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cluster == "" {
		s.hubs[to] = true
		return
	}
	if s.agents[cluster] == nil {
		s.agents[cluster] = map[*subscriber]bool{}
	}
	s.agents[cluster][to] = true
}

func (s *Server) remove(cluster string, to *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hubs, to)
	delete(s.agents[cluster], to)
	if len(s.agents[cluster]) == 0 {
		delete(s.agents, cluster)
	}
}

// agentsOf returns the subscribers of a cluster, or of all clusters if it is empty.
func (s *Server) agentsOf(cluster string) []*subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*subscriber
	if cluster != "" {
		for one := range s.agents[cluster] {
			found = append(found, one)
		}
		return found
	}
	for _, agents := range s.agents {
		for one := range agents {
			found = append(found, one)
		}
	}
	return found
}

// hubsOf returns the hubs that subscribed as a source, or all hubs if it is empty.
func (s *Server) hubsOf(source string) []*subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*subscriber
	for one := range s.hubs {
		if source == "" || source == one.source {
			found = append(found, one)
		}
	}
	return found
}
