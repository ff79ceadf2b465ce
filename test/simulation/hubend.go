package simulation

import (
	"context"
	"errors"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

// hubEnd is the connection of the hub's current process to the broker.
type hubEnd struct {
	network *Network
	// connected is true if there is a connection. back is the time at which a connection is possible again, and notices is the time at which
	// the hub notices that there is none.
	connected     bool
	back, notices time.Time
	// away is the last time at which there was no connection.
	away time.Time
	// deaf is the time until which the hub reads nothing.
	deaf time.Time
	// fault is the fate of the events that are sent now.
	fault Fault
}

var (
	_ options.CloudEventTransport = &hubEnd{}

	errCut = errors.New("broken pipe")
)

// begin starts a new process of the hub. Events that the previous process had not read are lost.
func (h *hubEnd) begin() {
	h.connected, h.notices, h.fault = false, time.Time{}, NoFault
	h.network.drop("")
}

func (h *hubEnd) driver() *stepped { return h.network.world.Hub.driver }

// lose ends the connection for a time.
func (h *hubEnd) lose(during, notice time.Duration) {
	now := h.network.now()
	h.back = later(now.Add(max(during, notice)), h.network.back)
	if h.connected {
		h.connected, h.notices, h.away = false, now.Add(notice), now
		h.network.drop("")
	}
}

// turn notices that the connection is lost, and connects again.
func (h *hubEnd) turn() (acted bool) {
	now := h.network.now()
	if !h.notices.IsZero() && !h.notices.After(now) {
		h.notices = time.Time{}
		h.network.world.Tell("the hub's driver notices that the broker is away")
		_ = h.driver().Disconnect(context.Background())
		acted = true
	}
	if !h.connected && h.notices.IsZero() && !later(h.back, h.network.back).After(now) {
		h.away = now
		if err := h.driver().Connect(context.Background()); err != nil {
			panic(err)
		}
		acted = true
	}
	return acted
}

func (h *hubEnd) arrive(event cloudevents.Event) {
	if h.connected {
		h.driver().Receive(context.Background(), event)
	}
}

// read lets the driver read the events that have arrived, and perform the tasks that are due.
func (h *hubEnd) read() (acted bool) {
	reads := h.driver().queues[0]
	count := reads.Len()
	if lag := h.network.world.Lag; lag != nil && count > 0 {
		count = max(1, lag(count))
	}
	for ; count > 0 && reads.IsDue() && !h.deaf.After(h.network.now()); count-- {
		h.driver().Do(context.Background(), reads)
		acted = true
	}
	for h.driver().step(context.Background()) {
		acted = true
	}
	return acted
}

func (h *hubEnd) next() time.Time {
	next := earliest(h.driver().next(h.deaf), h.notices)
	if !h.connected && h.notices.IsZero() {
		next = earliest(next, later(h.back, h.network.back))
	}
	return next
}

// Connect implements options.CloudEventTransport.
func (h *hubEnd) Connect(context.Context) error {
	if h.back.After(h.network.now()) || h.network.back.After(h.network.now()) {
		return errCut
	}
	h.connected = true
	return nil
}

// Subscribe implements options.CloudEventTransport.
func (h *hubEnd) Subscribe(context.Context) error { return nil }

// Receive implements options.CloudEventTransport. Events are handed over by read.
func (h *hubEnd) Receive(context.Context, options.ReceiveHandlerFn) error { return nil }

// Close implements options.CloudEventTransport.
func (h *hubEnd) Close(context.Context) error { return nil }

// ErrorChan implements options.CloudEventTransport.
func (h *hubEnd) ErrorChan() <-chan error { return nil }

// Send implements options.CloudEventTransport.
func (h *hubEnd) Send(_ context.Context, event cloudevents.Event) error {
	switch {
	case !h.connected:
		return errCut
	case h.fault != NoFault && h.fault != KilledAfter && h.fault != Lost:
		return errors.New("simulated: the broker does not take it")
	}
	h.network.toAgents(event)
	if h.fault == Lost {
		return errors.New("simulated: the broker did not answer")
	}
	return nil
}
