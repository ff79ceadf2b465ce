package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/cert"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

// Connection is notified when the connection to the broker is lost, and when it is restored.
type Connection interface {
	// Lost records that the connection to the named source is lost.
	Lost(name string)
	// Back records that the source is connected again, and how long its reporters may take to reconnect.
	Back(name string, settle time.Duration)
}

// Metrics count events.
type Metrics interface {
	// EventRefused counts an event from an agent that was dropped.
	EventRefused(reason string)
	// EventSent counts an event that was sent, by its action.
	EventSent(action string)
	// EventReceived counts an accepted event from an agent, by its kind.
	EventReceived(kind string)
	// Connected records whether the broker is connected.
	Connected(yes bool)
	// Reconnected counts a connection that was restored.
	Reconnected()
	// EventResent counts a work that was sent again because its agent did not report it.
	EventResent()
	// ReportsUnread records the number of received reports that are not processed yet.
	ReportsUnread(n int)
	// AgentsUnreached records the number of agents that are available but do not receive the hub's events.
	AgentsUnreached(n int)
}

// The kinds of events that agents send.
const (
	// ReceivedReport is an agent's report of a work.
	ReceivedReport = "report"
	// ReceivedQuestion is a request for the works of a cluster.
	ReceivedQuestion = "question"
)

// Options configure a driver.
type Options struct {
	// Type is mqtt or grpc.
	Type string
	// ConfigFile is the path of sdk-go's configuration for that type.
	ConfigFile string
	// ClientID distinguishes this client from all others of the broker.
	ClientID string
	// Owners looks up the owners of works.
	Owners Owners
	// Connection is notified when the connection to the broker is lost and when it is restored.
	Connection Connection
	// QPS limits the number of events sent per second. Zero means no limit, because an overloaded broker slows the hub
	// down by its receive maximum.
	QPS float32
	// Metrics count events.
	Metrics Metrics
	// AgentReturn is the time that agents may take to reconnect after an outage of the broker.
	AgentReturn time.Duration
	// Available reports whether a cluster is available, from a source other than the broker, and whether that source
	// knows the cluster; nil if there is no such source. It is called only for clusters that do not answer, or that are
	// not selected by the owner of a reported work.
	Available func(ctx context.Context, cluster string) (available, exists bool)
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}

// loadConfig reads a driver's configuration, and rejects a configuration that is certainly a mistake.
func loadConfig(o Options) (any, error) {
	_, config, err := builder.NewConfigLoader(o.Type, o.ConfigFile).LoadConfig()
	if err != nil {
		return nil, err
	}
	if err := check(config); err != nil {
		return nil, err
	}
	return config, checkTLS(config, o.ConfigFile)
}

// newTransport returns sdk-go's transport, or mqttTransport if events have topics.
func newTransport(o Options, config any) (options.CloudEventTransport, error) {
	if broker, ok := config.(*mqtt.MQTTOptions); ok {
		return &mqttTransport{options: broker, clientID: o.ClientID}, nil
	}
	source, err := builder.BuildCloudEventsSourceOptions(config, o.ClientID, SourceID, payload.ManifestBundleEventDataType)
	if err != nil {
		return nil, err
	}
	return source.CloudEventsTransport, nil
}

// check rejects a configuration with which a hub could not learn about its works after a restart.
func check(config any) error {
	broker, ok := config.(*mqtt.MQTTOptions)
	if !ok {
		return nil
	}
	if _, err := mqtt.SourceSubscribe(broker, SourceID); err != nil {
		return fmt.Errorf("topics.agentEvents: %w", err)
	}
	if broker.Topics.SourceBroadcast == "" {
		return fmt.Errorf("topics.sourceBroadcast is empty: set it to sources/%s/sourcebroadcast, "+
			"by which this hub asks all agents for their works when it starts", SourceID)
	}
	if broker.Topics.AgentBroadcast == "" {
		return errors.New("topics.agentBroadcast is empty: set it to clusters/+/agentbroadcast, " +
			"by which agents ask this hub for their works when they start")
	}
	return nil
}

// checkTLS rejects a configuration that names an authority, but with which sdk-go would connect without TLS.
func checkTLS(config any, path string) error {
	var certificates cert.CertConfig
	secure := false
	switch o := config.(type) {
	case *mqtt.MQTTOptions:
		loaded, err := mqtt.LoadConfig(path)
		if err != nil {
			return err
		}
		certificates, secure = loaded.CertConfig, o.Dialer.TLSConfig != nil
	case *grpc.GRPCOptions:
		loaded, err := grpc.LoadConfig(path)
		if err != nil {
			return err
		}
		certificates, secure = loaded.CertConfig, o.Dialer.TLSConfig != nil
	}
	if len(certificates.CAData) > 0 && !secure {
		return errors.New("caFile is set, and clientCertFile and clientKeyFile are not: the connection would have no TLS; set them")
	}
	return nil
}
