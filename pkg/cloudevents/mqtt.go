package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"

	cloudeventsmqtt "github.com/cloudevents/sdk-go/protocol/mqtt_paho/v2"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/eclipse/paho.golang/paho"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

const (
	// maxPacket is the largest packet that the broker may send: an event and its headers.
	maxPacket = maxEvent + 64<<10
	// maxWaiting is the maximum number of packets that wait in memory. At the maximum, the broker must wait.
	maxWaiting = 16
	// maxKeepAlive is the longest keep-alive, in seconds. A broker that stalls is noticed within twice that time.
	maxKeepAlive = 10
)

// mqttTransport carries events over MQTT with sdk-go's options and topics. A broker's permissions restrict an agent
// only by topic. sdk-go's own transport drops the topic of a received event; this one keeps it. sdk-go's transport can
// also deadlock when it is closed (docs/contributing/upstream.md#agents-that-stay-deaf).
type mqttTransport struct {
	options  *mqtt.MQTTOptions
	clientID string
	session  atomic.Pointer[mqttSession]
}

// mqttSession is one connection to the broker.
type mqttSession struct {
	client *paho.Client
	// end drops messages that wait to be received, so that the client can be closed.
	end context.CancelFunc
	// received passes the messages from the broker on, one at a time. While a message waits, the broker waits too.
	received chan *paho.Publish
	errs     chan error
	// largest is the size of the largest packet that the broker accepts, in bytes; zero means no limit.
	largest int64
}

var (
	_ options.CloudEventTransport = &mqttTransport{}

	errNotConnected = errors.New("not connected to the MQTT broker")
)

// Connect implements options.CloudEventTransport.
func (t *mqttTransport) Connect(ctx context.Context) error {
	conn, err := t.options.Dialer.Dial()
	if err != nil {
		return err
	}
	s := &mqttSession{received: make(chan *paho.Publish), errs: make(chan error, 1)}
	during, end := context.WithCancel(ctx)
	s.end = end
	logger := klog.FromContext(ctx)
	s.client = paho.NewClient(paho.ClientConfig{
		ClientID: t.clientID, Conn: conn,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(message paho.PublishReceived) (bool, error) {
			select {
			case s.received <- message.Packet:
				return true, nil
			case <-during.Done():
				return false, errNotConnected
			}
		}},
		OnClientError: func(err error) {
			select {
			case s.errs <- err:
			default:
				logger.V(2).Info("The MQTT connection failed again", "error", err.Error())
			}
		},
	})
	s.client.SetDebugLogger(mqtt.NewPahoDebugLogger(logger))
	s.client.SetErrorLogger(mqtt.NewPahoErrorLogger(logger))
	answer, err := s.client.Connect(ctx, t.connectOption())
	if err == nil && answer.ReasonCode != 0 {
		err = fmt.Errorf("it refuses the connection: %s", answer)
	}
	if err != nil {
		end()
		_ = conn.Close()
		return fmt.Errorf("connecting to the MQTT broker %s: %w", t.options.Dialer.BrokerHost, err)
	}
	if p := answer.Properties; p != nil && p.MaximumPacketSize != nil {
		s.largest = int64(*p.MaximumPacketSize)
	}
	t.session.Store(s)
	return nil
}

// connectOption returns sdk-go's options, with limits. The broker drops a packet that is too large instead of sending it.
func (t *mqttTransport) connectOption() *paho.Connect {
	connect := t.options.GetMQTTConnectOption(t.clientID)
	if connect.Properties == nil {
		// Without properties, true is the default. If it is false, some brokers drop the headers of events.
		connect.Properties = &paho.ConnectProperties{RequestProblemInfo: true}
	}
	connect.Properties.MaximumPacketSize = ptr.To[uint32](maxPacket)
	connect.Properties.ReceiveMaximum = ptr.To[uint16](maxWaiting)
	if connect.KeepAlive == 0 || connect.KeepAlive > maxKeepAlive {
		connect.KeepAlive = maxKeepAlive
	}
	return connect
}

// Send implements options.CloudEventTransport.
func (t *mqttTransport) Send(ctx context.Context, event cloudevents.Event) error {
	s := t.session.Load()
	if s == nil {
		return errNotConnected
	}
	topic, err := mqtt.SourcePubTopic(ctx, t.options, SourceID, event.Context)
	if err != nil {
		return err
	}
	message := &paho.Publish{QoS: byte(t.options.PubQoS), Topic: topic} //nolint:gosec // It is 0, 1 or 2: paho refuses other values.
	if err := cloudeventsmqtt.WritePubMessage(ctx, (*binding.EventMessage)(&event), message); err != nil {
		return err
	}
	if err := s.fits(message); err != nil {
		return err
	}
	_, err = s.client.Publish(ctx, message)
	return err
}

// maxHeader is the size of the largest header of an MQTT packet, in bytes.
const maxHeader = math.MaxUint16

// fits returns an error if the message is so large that the broker would close the connection, which carries all works.
func (s *mqttSession) fits(message *paho.Publish) error {
	for _, header := range message.Properties.User {
		if len(header.Value) > maxHeader {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the labels and annotations take up %d bytes; MQTT allows %d: remove some",
				len(header.Value), maxHeader))
		}
	}
	if s.largest == 0 {
		return nil
	}
	size, err := message.Packet().ToControlPacket().WriteTo(io.Discard)
	if err == nil && size > s.largest {
		err = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"the event takes up %d bytes; the MQTT broker allows %d: shrink the template, or raise the broker's limit (max_packet_size)",
			size, s.largest))
	}
	return err
}

// Subscribe implements options.CloudEventTransport.
func (t *mqttTransport) Subscribe(ctx context.Context) error {
	s := t.session.Load()
	if s == nil {
		return errNotConnected
	}
	subscription, err := mqtt.SourceSubscribe(t.options, SourceID)
	if err != nil {
		return err
	}
	if _, err := s.client.Subscribe(ctx, subscription); err != nil {
		return fmt.Errorf("subscribing at the MQTT broker: %w", err)
	}
	return nil
}

// Receive implements options.CloudEventTransport. The context of each event holds the cluster from the event's topic.
func (t *mqttTransport) Receive(ctx context.Context, handle options.ReceiveHandlerFn) error {
	s := t.session.Load()
	if s == nil {
		return errNotConnected
	}
	for {
		select {
		case message := <-s.received:
			receive(ctx, message, handle)
		case <-ctx.Done():
			return nil
		}
	}
}

// receive handles a message from the broker.
func receive(ctx context.Context, message *paho.Publish, handle options.ReceiveHandlerFn) {
	event, err := binding.ToEvent(ctx, cloudeventsmqtt.NewMessage(message))
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Ignoring a message that is not a CloudEvent", "topic", message.Topic, "error", err.Error())
		event = &cloudevents.Event{} // The empty event is refused and counted.
	}
	handle(withSender(ctx, clusterOfTopic(message.Topic)), *event)
}

// ErrorChan implements options.CloudEventTransport. The channel belongs to the current session.
func (t *mqttTransport) ErrorChan() <-chan error {
	if s := t.session.Load(); s != nil {
		return s.errs
	}
	return nil
}

// Close implements options.CloudEventTransport.
func (t *mqttTransport) Close(context.Context) error {
	s := t.session.Swap(nil)
	if s == nil {
		return nil
	}
	s.end()
	return s.client.Disconnect(&paho.Disconnect{ReasonCode: 0})
}

// clusterOfTopic returns the second-to-last level of a topic: sources/<source>/clusters/<cluster>/agentevents,
// clusters/<cluster>/agentbroadcast.
func clusterOfTopic(topic string) string {
	levels := strings.Split(topic, "/")
	if len(levels) < 2 {
		return ""
	}
	return levels[len(levels)-2]
}

type senderKey struct{}

// withSender stores the cluster from which the transport received an event.
func withSender(ctx context.Context, cluster string) context.Context {
	return context.WithValue(ctx, senderKey{}, cluster)
}

// senderOf returns the verified sender cluster of an event; false if the transport does not know it.
func senderOf(ctx context.Context) (cluster string, known bool) {
	cluster, known = ctx.Value(senderKey{}).(string)
	return cluster, known
}
