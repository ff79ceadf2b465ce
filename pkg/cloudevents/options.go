package cloudevents

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Connection is notified when the connection to the broker is lost, and when it is restored.
type Connection interface {
	// Lost notes that the named source can't be heard.
	Lost(name string)
	// Back notes that the source is heard again, and how long its reporters may need until they are connected again too.
	Back(name string, settle time.Duration)
}

// Metrics count events.
type Metrics interface {
	// EventRefused counts an event of an agent that was dropped.
	EventRefused(reason string)
	// EventSent counts an event that was sent, by its action.
	EventSent(action string)
	// EventReceived counts an accepted event of an agent, by its kind.
	EventReceived(kind string)
	// Connected notes whether the broker is connected.
	Connected(yes bool)
	// Reconnected counts a connection that was restored.
	Reconnected()
	// EventResent counts a work that was sent again, because its agent did not report anything of it.
	EventResent()
	// ReportsUnread notes how many received reports are not processed yet.
	ReportsUnread(n int)
	// AgentsUnreached notes how many agents are available but do not receive the hub's events.
	AgentsUnreached(n int)
}

type noMetrics struct{}

func (noMetrics) EventRefused(string)  {}
func (noMetrics) EventResent()         {}
func (noMetrics) EventSent(string)     {}
func (noMetrics) EventReceived(string) {}
func (noMetrics) Connected(bool)       {}
func (noMetrics) Reconnected()         {}
func (noMetrics) ReportsUnread(int)    {}
func (noMetrics) AgentsUnreached(int)  {}

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
	// QPS limits how many events are sent per second. Zero means no limit: a broker that receives too much pushes back by its receive maximum.
	QPS float32
	// Metrics count events; nil for none.
	Metrics Metrics
	// AgentReturn is how long agents may take to reconnect after an outage of the broker.
	AgentReturn time.Duration
	// Available reports whether a cluster is available, from a source other than the broker, and whether that source knows the cluster; nil if
	// there is no such source. It is called only for clusters that do not answer, or that the owner of a reported work does not select.
	Available func(ctx context.Context, cluster string) (available, exists bool)
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}
