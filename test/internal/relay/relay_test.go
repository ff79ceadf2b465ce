package relay

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// client connects to a broker that is there for the test.
func client(t *testing.T, sent func(eventType, cluster string)) pbv1.CloudEventServiceClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := New(sent)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return pbv1.NewCloudEventServiceClient(conn)
}

// subscribe returns once the broker has said that the subscription is there.
func subscribe(t *testing.T, c pbv1.CloudEventServiceClient, source, cluster string) pbv1.CloudEventService_SubscribeClient {
	t.Helper()
	stream, err := c.Subscribe(t.Context(), &pbv1.SubscriptionRequest{Source: source, ClusterName: cluster})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	return stream
}

func publish(ctx context.Context, c pbv1.CloudEventServiceClient, of eventtypes.EventSubResource, action eventtypes.EventAction, cluster, source, text string) error {
	event := eventtypes.NewEventBuilder("test", eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: of, Action: action,
	}).WithClusterName(cluster).WithOriginalSource(source).NewEvent()
	if err := event.SetData("text/plain", text); err != nil {
		return err
	}
	message := &pbv1.CloudEvent{}
	if err := protocol.WritePBMessage(ctx, (*binding.EventMessage)(&event), message); err != nil {
		return err
	}
	_, err := c.Publish(ctx, &pbv1.PublishRequest{Event: message})
	return err
}

func receive(t *testing.T, stream pbv1.CloudEventService_SubscribeClient) string {
	t.Helper()
	message, err := stream.Recv()
	require.NoError(t, err)
	event, err := binding.ToEvent(t.Context(), protocol.NewMessage(message))
	require.NoError(t, err)
	return string(event.Data())
}

func TestRoutes(t *testing.T) {
	var sent []string
	c := client(t, func(_, cluster string) { sent = append(sent, cluster) })
	hub, other := subscribe(t, c, "hub", ""), subscribe(t, c, "other", "")
	first, second := subscribe(t, c, "+", "c1"), subscribe(t, c, "+", "c2")
	const spec, reports = eventtypes.SubResourceSpec, eventtypes.SubResourceStatus
	for _, e := range []struct {
		of                    eventtypes.EventSubResource
		action                eventtypes.EventAction
		cluster, source, text string
	}{
		{spec, eventtypes.CreateRequestAction, "c2", "", "a work of c2"},
		{spec, eventtypes.CreateRequestAction, "c1", "", "a work of c1"},
		{spec, eventtypes.CreateRequestAction, "away", "", "nobody is there"},
		{reports, eventtypes.ResyncRequestAction, "", "", "what do you all have?"},
		{reports, eventtypes.UpdateRequestAction, "c1", "other", "c1 to the other hub"},
		{reports, eventtypes.UpdateRequestAction, "c1", "hub", "c1 has it"},
		{spec, eventtypes.ResyncRequestAction, "c2", "", "what do you hubs have?"},
	} {
		require.NoError(t, publish(t.Context(), c, e.of, e.action, e.cluster, e.source, e.text))
	}
	for _, e := range []struct {
		to     pbv1.CloudEventService_SubscribeClient
		wanted []string
	}{
		{first, []string{"a work of c1", "what do you all have?"}},
		{second, []string{"a work of c2", "what do you all have?"}},
		{hub, []string{"c1 has it", "what do you hubs have?"}},
		{other, []string{"c1 to the other hub", "what do you hubs have?"}},
	} {
		for _, wanted := range e.wanted {
			require.Equal(t, wanted, receive(t, e.to))
		}
	}
	require.Equal(t, []string{"c2", "c1", "away", ""}, sent)
}

// A subscriber that does not read holds nobody up, and gets everything in order when it reads.
func TestPublishWaitsForNobody(t *testing.T) {
	c := client(t, nil)
	agent := subscribe(t, c, "+", "c1")
	const events = 200
	filler := string(make([]byte, 20_000)) // Far more altogether than a connection holds.
	for i := range events {
		require.NoError(t, publish(t.Context(), c, eventtypes.SubResourceSpec, eventtypes.UpdateRequestAction, "c1", "", fmt.Sprint(i, filler)))
	}
	for i := range events {
		require.Equal(t, fmt.Sprint(i, filler), receive(t, agent))
	}
}

func TestRefusesWhatIsNoEvent(t *testing.T) {
	c := client(t, nil)
	_, err := c.Publish(t.Context(), &pbv1.PublishRequest{Event: &pbv1.CloudEvent{Id: "1", Source: "test", SpecVersion: "1.0", Type: "nonsense"}})
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
}
