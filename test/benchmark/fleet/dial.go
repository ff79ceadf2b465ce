package fleet

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/open-cluster-management-io/work-rollback/test/internal/mqttagent"
)

// dialTimeout is the time that an agent may take to be connected and subscribed.
const dialTimeout = time.Minute

// dial returns sdk-go's options of an agent for its broker. hangUp closes the connection, which sdk-go leaves open when the context of its
// client ends.
func (a *agent) dial() (o *options.CloudEventsAgentOptions, hangUp func(), err error) {
	var config any
	switch a.agents.driver {
	case "mqtt":
		config = &mqtt.MQTTOptions{
			KeepAlive: 60, PubQoS: 1, SubQoS: 1, Dialer: &mqtt.MQTTDialer{BrokerHost: a.agents.address, Timeout: dialTimeout},
			Topics: eventtypes.Topics{
				SourceEvents:    fmt.Sprintf("sources/%s/clusters/%s/sourceevents", source, a.cluster),
				AgentEvents:     fmt.Sprintf("sources/%s/clusters/%s/agentevents", source, a.cluster),
				SourceBroadcast: "sources/+/sourcebroadcast", AgentBroadcast: fmt.Sprintf("clusters/%s/agentbroadcast", a.cluster),
			},
		}
	case "grpc":
		dialer := &grpc.GRPCDialer{URL: a.agents.address}
		hangUp = func() { _ = dialer.Close() }
		config = &grpc.GRPCOptions{Dialer: dialer}
	default:
		return nil, nil, fmt.Errorf("there are no agents for the driver %q", a.agents.driver)
	}
	// When an earlier connection is closed, the benchmark's broker may end the session of its ID, although a new connection has taken over the
	// session.
	a.starts++
	id := fmt.Sprintf("%s-work-agent-%d", a.cluster, a.starts)
	o, err = builder.BuildCloudEventsAgentOptions(config, a.cluster, id, payload.ManifestBundleEventDataType)
	if err != nil {
		return nil, nil, err
	}
	o.CloudEventsTransport = mqttagent.New(func() (options.CloudEventTransport, error) {
		fresh, err := builder.BuildCloudEventsAgentOptions(config, a.cluster, id, payload.ManifestBundleEventDataType)
		if err != nil {
			return nil, err
		}
		return fresh.CloudEventsTransport, nil
	})
	if hangUp == nil {
		hangUp = func() { _ = o.CloudEventsTransport.Close(context.Background()) }
	}
	return o, hangUp, nil
}

// serve requests the works of the cluster whenever the client is subscribed again. It closes subscribed the first time.
func (a *agent) serve(ctx context.Context, client client, subscribed chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-client.SubscribedChan():
		}
		if subscribed != nil {
			close(subscribed)
			subscribed = nil
		}
		// If this fails, the connection is lost, and the agent requests the works after it reconnects. OCM's agent does the same.
		_ = client.Resync(ctx, eventtypes.SourceAll)
	}
}
