// Package mqttagent carries the events of agents that tests play over MQTT. sdk-go's own transport (v1.3.0) can wait for itself forever
// when it is closed while a message arrives (docs/contributing/upstream.md), and an agent on it is deaf from then on.
package mqttagent

import (
	"context"
	"errors"
	"sync"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

var errNotConnected = errors.New("not connected")

// Transport is sdk-go's, one for each connection: a connection that can't be closed keeps no other one from being made.
type Transport struct {
	make func() (options.CloudEventTransport, error)
	errs chan error

	mu      sync.Mutex
	current options.CloudEventTransport
}

var _ options.CloudEventTransport = &Transport{}

// New returns a transport that makes one of sdk-go's for each connection.
func New(makes func() (options.CloudEventTransport, error)) *Transport {
	return &Transport{make: makes, errs: make(chan error, 1)}
}

// Connect implements options.CloudEventTransport. For a client that has ended it does nothing: sdk-go goes on connecting where the context
// ends while there is no connection, and would take the connection of the same agent over that has come back. sdk-go sees that the
// context has ended once it is told that it is connected.
func (t *Transport) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	next, err := t.make()
	if err != nil {
		return err
	}
	if err := next.Connect(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	t.current = next
	t.mu.Unlock()
	go t.forward(ctx, next)
	return nil
}

// forward reports the first error of a connection while it is the current one.
func (t *Transport) forward(ctx context.Context, of options.CloudEventTransport) {
	select {
	case <-ctx.Done():
	case err := <-of.ErrorChan():
		if now, _ := t.get(); now == of {
			select {
			case t.errs <- err:
			default:
			}
		}
	}
}

func (t *Transport) get() (options.CloudEventTransport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		return nil, errNotConnected
	}
	return t.current, nil
}

// Send implements options.CloudEventTransport.
func (t *Transport) Send(ctx context.Context, event cloudevents.Event) error {
	current, err := t.get()
	if err != nil {
		return err
	}
	return current.Send(ctx, event)
}

// Subscribe implements options.CloudEventTransport.
func (t *Transport) Subscribe(ctx context.Context) error {
	current, err := t.get()
	if err != nil {
		return err
	}
	return current.Subscribe(ctx)
}

// Receive implements options.CloudEventTransport.
func (t *Transport) Receive(ctx context.Context, handle options.ReceiveHandlerFn) error {
	current, err := t.get()
	if err != nil {
		return err
	}
	return current.Receive(ctx, handle)
}

// ErrorChan implements options.CloudEventTransport.
func (t *Transport) ErrorChan() <-chan error { return t.errs }

// Close implements options.CloudEventTransport. It does not wait for sdk-go's, which may never return.
func (t *Transport) Close(ctx context.Context) error {
	t.mu.Lock()
	last := t.current
	t.current = nil
	t.mu.Unlock()
	if last != nil {
		go func() { _ = last.Close(context.WithoutCancel(ctx)) }()
	}
	return nil
}
