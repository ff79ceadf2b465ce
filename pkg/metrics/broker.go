package metrics

import (
	"errors"

	k8smetrics "k8s.io/component-base/metrics"
)

// The label values of a broker's metrics. Their number does not depend on the number of clusters.
var (
	// EventRefusals are the reasons for which an event from an agent is dropped.
	EventRefusals = []string{"kind", "cluster", "work", "sequence", "quota", "size", "generation"}
	// EventsSent are the actions of the hub's events, by sdk-go's names.
	EventsSent = []string{"create_request", "update_request", "delete_request", "resync_response", "resync_request"}
	// EventsReceived are the kinds of events that agents send.
	EventsReceived = []string{"report", "question"}
)

// broker holds the metrics of a broker. Without a broker, they are all zero.
type broker struct {
	disconnected  *k8smetrics.Gauge
	reconnects    *k8smetrics.Counter
	sent          *k8smetrics.CounterVec
	received      *k8smetrics.CounterVec
	refused       *k8smetrics.CounterVec
	resent        *k8smetrics.Counter
	reportsUnread *k8smetrics.Gauge
	unreached     *k8smetrics.Gauge
}

func newBroker() *broker {
	return &broker{
		disconnected: k8smetrics.NewGauge(gauge("broker_disconnected",
			"1 while ManifestWorks travel over a broker and this process has no connection to it: nothing is written, and no deadline fires.")),
		reconnects: k8smetrics.NewCounter(counter("broker_reconnects_total",
			"Number of times that the connection to the broker was restored.")),
		sent: k8smetrics.NewCounterVec(counter("broker_events_sent_total",
			"Events sent over a broker, by action: create_request, update_request and delete_request (a write), "+
				"resync_response (a ManifestWork again) or resync_request (a request to agents for their ManifestWorks)."), []string{"action"}),
		received: k8smetrics.NewCounterVec(counter("broker_events_received_total",
			"Events from agents over a broker that the hub accepted, by kind: "+
				"report (of a ManifestWork) or question (for the ManifestWorks of a cluster)."),
			[]string{"kind"}),
		refused: k8smetrics.NewCounterVec(counter("broker_events_refused_total",
			"Events from agents over a broker that the hub dropped, by reason: kind (agents do not send it), cluster (not that of its topic), "+
				"work (another cluster's), sequence (implausible), quota (too many unknown ManifestWorks, or too much memory), "+
				"size (too large) or generation (unknown to this hub)."), []string{"reason"}),
		resent: k8smetrics.NewCounter(counter("broker_events_resent_total",
			"ManifestWorks that were sent again over a broker, because their agents did not report them.")),
		reportsUnread: k8smetrics.NewGauge(gauge("broker_reports_unread",
			"Reports from agents that were received over a broker and are not processed yet.")),
		unreached: k8smetrics.NewGauge(gauge("broker_agents_unreached",
			"Agents that are connected but do not receive this process's events: restart them, and make sure that no other "+
				"client has their client ID.")),
	}
}

// register registers the metrics, and starts each counter at 0.
func (b *broker) register(registry Registry) error {
	var errs []error
	for _, metric := range []k8smetrics.Registerable{b.disconnected, b.reconnects, b.sent, b.received, b.refused, b.resent, b.reportsUnread,
		b.unreached} {
		errs = append(errs, registry.Register(metric))
	}
	begin(b.sent, EventsSent)
	begin(b.received, EventsReceived)
	begin(b.refused, EventRefusals)
	return errors.Join(errs...)
}

// Connected records whether the broker is connected.
func (m *Metrics) Connected(yes bool) { m.broker.disconnected.Set(number(!yes)) }

// Reconnected counts a restored connection to the broker.
func (m *Metrics) Reconnected() { m.broker.reconnects.Inc() }

// EventSent counts an event that was sent.
func (m *Metrics) EventSent(action string) { m.broker.sent.WithLabelValues(action).Inc() }

// EventReceived counts an accepted event from an agent.
func (m *Metrics) EventReceived(kind string) { m.broker.received.WithLabelValues(kind).Inc() }

// EventRefused counts an event from an agent that was dropped.
func (m *Metrics) EventRefused(reason string) { m.broker.refused.WithLabelValues(reason).Inc() }

// EventResent counts a work that was sent again.
func (m *Metrics) EventResent() { m.broker.resent.Inc() }

// ReportsUnread records the number of received reports that are not processed yet.
func (m *Metrics) ReportsUnread(n int) { m.broker.reportsUnread.Set(float64(n)) }

// AgentsUnreached records the number of agents that are available but do not receive the hub's events.
func (m *Metrics) AgentsUnreached(n int) { m.broker.unreached.Set(float64(n)) }
