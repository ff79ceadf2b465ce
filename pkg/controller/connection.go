package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Connection knows since when this process can hear the API server without interruption. While it could not, neither could
// the agents' reports reach it, and for some time after that a deadline means nothing (R11).
type Connection struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time
	down  bool
}

// NewConnection begins at the clock's now.
func NewConnection(clk clock.PassiveClock) *Connection {
	return &Connection{clock: clk, since: clk.Now()}
}

// Since is when the connection began or came back; now, while it is down.
func (c *Connection) Since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return c.clock.Now()
	}
	return c.since
}

// Restart begins anew: the caches have synced.
func (c *Connection) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.clock.Now()
}

// Wrap watches a transport. It is for rest.Config.Wrap.
func (c *Connection) Wrap(inner http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		c.observe(request, response, err)
		return response, err
	})
}

func (c *Connection) observe(request *http.Request, response *http.Response, err error) {
	if err != nil && (errors.Is(err, context.Canceled) || request.Context().Err() != nil) {
		return // We hung up ourselves.
	}
	failed := err != nil || response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case failed:
		c.down = true
	case c.down:
		c.down = false
		c.since = c.clock.Now()
	}
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
