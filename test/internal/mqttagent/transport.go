// Package mqttagent carries the events of simulated agents over MQTT. sdk-go's own transport (v1.3.0) can deadlock when it is closed
// while a message arrives (docs/contributing/upstream.md). Its agent then receives no more messages.
package mqttagent

import (
	"context"
	"errors"
	"sync"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
)

var errNotConnected = errors.New("not connected")

// Transport uses a separate transport of sdk-go for each connection, so that a connection that can't be closed does not block the next
// connection.
type Transport struct {
	make func() (options.CloudEventTransport, error)
	errs chan error

	mu      sync.Mutex
	current options.CloudEventTransport
}

var _ options.CloudEventTransport = &Transport{}

// New returns a transport that creates a transport of sdk-go for each connection.
func New(makes func() (options.CloudEventTransport, error)) *Transport {
	return &Transport{make: makes, errs: make(chan error, 1)}
}

// Connect implements options.CloudEventTransport. For a client that has ended, it does nothing. If the context ends while there is no
// connection, sdk-go continues to connect, and would take over the connection of the restarted agent. sdk-go notices the end of the context
// only after Connect reports success.
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

// Close implements options.CloudEventTransport. It does not wait for sdk-go's Close, which may never return.
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
