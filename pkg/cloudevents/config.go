package cloudevents

import (
	"errors"
	"fmt"

	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/cert"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

// loadConfig reads a driver's configuration, and rejects one that is certainly a mistake.
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

// newTransport returns sdk-go's transport, or one that knows the topic of each event if there are topics.
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

// check rejects a configuration with which a hub would not learn of its works after a restart.
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
