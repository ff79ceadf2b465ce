package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	cloudeventsmqtt "github.com/cloudevents/sdk-go/protocol/mqtt_paho/v2"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/eclipse/paho.golang/paho"
	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
)

const (
	// unreadEvents and unreadBytes are how many events, and how many bytes of them, wait in memory before the broker is made to wait.
	unreadEvents = 1000
	unreadBytes  = 32 << 20
	// maxPacket is the largest packet that the broker may send: an event and its headers.
	maxPacket = maxEvent + 64<<10
)

// mqttTransport carries events over MQTT by sdk-go's options and topics. sdk-go's own transport drops the topic that an event came by, and
// the topic is all that a broker's permissions bind an agent to: here it goes along.
type mqttTransport struct {
	options  *mqtt.MQTTOptions
	clientID string
	errs     chan error

	mu      sync.Mutex
	session *mqttSession
}

// mqttSession is one connection to the broker.
type mqttSession struct {
	client   *paho.Client
	received chan *paho.Publish
	closed   chan struct{}
	// arrived and handled count the events that came, and those that were handled.
	arrived, handled atomic.Int64
	// largest is the size of the largest packet that the broker accepts, in bytes; zero means no limit.
	largest int64
	// room is how many bytes more may wait; the broker waits for it.
	room  *semaphore.Weighted
	close func()
}

var (
	_ options.CloudEventTransport = &mqttTransport{}

	errNotConnected = errors.New("not connected to the MQTT broker")
)

func newMQTTTransport(o *mqtt.MQTTOptions, clientID string) *mqttTransport {
	return &mqttTransport{options: o, clientID: clientID, errs: make(chan error, 1)}
}

// Connect implements options.CloudEventTransport.
func (t *mqttTransport) Connect(ctx context.Context) error {
	conn, err := t.options.Dialer.Dial()
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	client := paho.NewClient(paho.ClientConfig{ClientID: t.clientID, Conn: conn, OnClientError: func(err error) {
		select {
		case t.errs <- err:
		default:
			logger.V(2).Info("The MQTT connection failed again", "error", err.Error())
		}
	}})
	client.SetDebugLogger(mqtt.NewPahoDebugLogger(logger))
	client.SetErrorLogger(mqtt.NewPahoErrorLogger(logger))
	answer, err := client.Connect(ctx, t.connectOption())
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("connecting to the MQTT broker %s: %w", t.options.Dialer.BrokerHost, err)
	}
	if answer.ReasonCode != 0 {
		_ = conn.Close()
		return fmt.Errorf("the MQTT broker %s refuses the connection: %s", t.options.Dialer.BrokerHost, answer)
	}
	s := &mqttSession{client: client, received: make(chan *paho.Publish, unreadEvents), closed: make(chan struct{})}
	s.room = semaphore.NewWeighted(unreadBytes)
	if p := answer.Properties; p != nil && p.MaximumPacketSize != nil {
		s.largest = int64(*p.MaximumPacketSize)
	}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = s
	return nil
}

// connectOption is sdk-go's, and says how large a packet may be: the broker drops a larger one, and the hub does not have to read it.
func (t *mqttTransport) connectOption() *paho.Connect {
	connect, largest := t.options.GetMQTTConnectOption(t.clientID), uint32(maxPacket)
	if connect.Properties == nil {
		// true is the default without properties. If it is false, some brokers drop the headers of events.
		connect.Properties = &paho.ConnectProperties{RequestProblemInfo: true}
	}
	connect.Properties.MaximumPacketSize = &largest
	return connect
}

func (t *mqttTransport) current() (*mqttSession, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session == nil {
		return nil, errNotConnected
	}
	return t.session, nil
}

// Send implements options.CloudEventTransport.
func (t *mqttTransport) Send(ctx context.Context, event cloudevents.Event) error {
	s, err := t.current()
	if err != nil {
		return err
	}
	topic, err := mqtt.SourcePubTopic(ctx, t.options, SourceID, event.Context)
	if err != nil {
		return err
	}
	message := &paho.Publish{QoS: byte(t.options.PubQoS), Topic: topic} //nolint:gosec // 0 to 2, paho refuses others
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
	s, err := t.current()
	if err != nil {
		return err
	}
	subscription, err := mqtt.SourceSubscribe(t.options, SourceID)
	if err != nil {
		return err
	}
	s.client.AddOnPublishReceived(func(message paho.PublishReceived) (bool, error) {
		if !s.waitForRoom(ctx, sizeOfPacket(message.Packet)) {
			return false, errNotConnected
		}
		select {
		case s.received <- message.Packet:
			s.arrived.Add(1)
			return true, nil
		case <-s.closed:
			return false, errNotConnected
		}
	})
	if _, err := s.client.Subscribe(ctx, subscription); err != nil {
		return fmt.Errorf("subscribing at the MQTT broker: %w", err)
	}
	return nil
}

// Receive implements options.CloudEventTransport. The context of each event knows the cluster of the topic that it came by.
func (t *mqttTransport) Receive(ctx context.Context, handle options.ReceiveHandlerFn) error {
	s, err := t.current()
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closed:
			return nil
		case message := <-s.received:
			event, err := binding.ToEvent(ctx, cloudeventsmqtt.NewMessage(message))
			if err != nil {
				klog.FromContext(ctx).V(2).Info("Ignoring a message that is not a CloudEvent", "topic", message.Topic, "error", err.Error())
				event = &cloudevents.Event{} // It is refused, and counted.
			}
			handle(withSender(ctx, clusterOfTopic(message.Topic)), *event)
			s.room.Release(sizeOfPacket(message))
			s.handled.Add(1)
		}
	}
}

// waitForRoom waits until a packet fits in beside those that wait to be read. It reports whether it does, and returns false where the
// connection is closed first.
func (s *mqttSession) waitForRoom(ctx context.Context, size int64) bool {
	if s.room.TryAcquire(size) {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.room.Acquire(ctx, size) == nil
}

// sizeOfPacket is what a packet counts for: its payload and its headers, as much as there is room for in all.
func sizeOfPacket(packet *paho.Publish) int64 {
	size := len(packet.Payload) + len(packet.Topic)
	if packet.Properties != nil {
		for _, header := range packet.Properties.User {
			size += len(header.Key) + len(header.Value)
		}
	}
	return int64(min(size, unreadBytes))
}

// Progress is how many events came so far by this connection, and how many of them were handled.
func (t *mqttTransport) Progress() (arrived, handled int64) {
	s, err := t.current()
	if err != nil {
		return 0, 0
	}
	return s.arrived.Load(), s.handled.Load()
}

// ErrorChan implements options.CloudEventTransport.
func (t *mqttTransport) ErrorChan() <-chan error { return t.errs }

// Close implements options.CloudEventTransport.
func (t *mqttTransport) Close(context.Context) error {
	s, err := t.current()
	if err != nil {
		return nil //nolint:nilerr // There is nothing to close.
	}
	s.close()
	t.mu.Lock()
	t.session = nil
	t.mu.Unlock()
	return s.client.Disconnect(&paho.Disconnect{ReasonCode: 0})
}

// clusterOfTopic is the level before the last one: sources/<source>/clusters/<cluster>/agentevents, clusters/<cluster>/agentbroadcast.
func clusterOfTopic(topic string) string {
	levels := strings.Split(topic, "/")
	if len(levels) < 2 {
		return ""
	}
	return levels[len(levels)-2]
}

type senderKey struct{}

// withSender remembers the cluster that the transport knows an event to come from.
func withSender(ctx context.Context, cluster string) context.Context {
	return context.WithValue(ctx, senderKey{}, cluster)
}

// senderOf is the cluster that an event comes from for sure; false where the transport does not know.
func senderOf(ctx context.Context) (cluster string, known bool) {
	cluster, known = ctx.Value(senderKey{}).(string)
	return cluster, known
}
