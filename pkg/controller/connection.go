package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
)

// Connection knows since when this process can hear the API server without interruption. While it could not, neither could
// the agents' reports reach it, and for some time after that a deadline means nothing (R11).
type Connection struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time
	// settled is when agents that lost their way to this hub count as back.
	settled time.Time
	// down holds what cannot be heard, and since when: the path of each collection that an informer lists and watches, and the broker of
	// a CloudEvents driver. An informer retries at its own pace: until a retry succeeds, its cache shows a past.
	down map[string]time.Time
	// failing is when the first of the requests failed that were made after the last successful one; zero while requests succeed.
	failing time.Time
	// beat is when this process was last seen running; zero while no heartbeat is expected.
	beat time.Time
	// optional holds the collections that a hub can do without, and since when each is refused; zero while it is not.
	optional map[string]time.Time
}

// anyRequest stands for the requests that are not an informer's: it is unclear whether the same one is ever made again.
const anyRequest = ""

// outage is how long nothing must have succeeded before the connection counts as having been away. One request that fails now and then, while
// others succeed, is no outage: it would switch every deadline off (R11).
const outage = 5 * time.Second

// NewConnection begins at the clock's now.
func NewConnection(clk clock.PassiveClock) *Connection {
	return &Connection{clock: clk, since: clk.Now(), down: map[string]time.Time{}, optional: map[string]time.Time{}}
}

// refusedFor is how long a collection is refused before it counts as not allowed: a server that starts refuses what it will
// allow a moment later.
const refusedFor = 10 * time.Second

// Optional says that a hub can do without a collection: that it may not read it does not make its connection one that is down.
func (c *Connection) Optional(collection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.optional[collection] = time.Time{}
}

// Refused says that the API server does not allow an optional collection to be read, and not only for a moment.
func (c *Connection) Refused(collection string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused(collection)
}

// refused is Refused for a caller that holds mu.
func (c *Connection) refused(collection string) bool {
	since := c.optional[collection]
	return !since.IsZero() && c.clock.Since(since) >= refusedFor
}

// Since is when the connection began or came back; now, while it is down. It is still to come while agents are on their way back.
func (c *Connection) Since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if !c.beat.IsZero() {
		c.noteBeat(now)
	}
	if len(c.down) > 0 || c.isOutage(c.failing, now) {
		return now
	}
	if c.settled.After(c.since) {
		return c.settled
	}
	return c.since
}

// Restart begins anew: the caches have synced.
func (c *Connection) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.clock.Now()
}

// Lost says that an informer's watch of a collection ended with an error: until it has listed or watched it anew, its cache
// shows a past. A watch that is answered at first, and then told that its version is too old, is seen only here.
func (c *Connection) Lost(collection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused(collection) {
		c.lost(collection)
	}
}

// Back says that what was lost is heard again, and for how long those who report by it may still be on their way back: the agents
// lost their broker too. What was not lost changes nothing.
func (c *Connection) Back(name string, settle time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, lost := c.down[name]; lost {
		delete(c.down, name)
		c.since = c.clock.Now()
		c.settled = c.since.Add(settle)
	}
}

// Hear watches the transport of all clients that are made of a configuration from now on. A proxy may keep the API server below a path: a
// collection has its own one, wherever that is.
func (c *Connection) Hear(config *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("the API server's URL %q: %w", config.Host, err)
	}
	config.Wrap(c.under(path.Join("/", server.Path)))
	return nil
}

// under watches a transport to an API server whose paths begin with a prefix.
func (c *Connection) under(prefix string) transport.WrapperFunc {
	return func(inner http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(request)
			c.observe(request, listens(request, prefix), response, err)
			return response, err
		})
	}
}

func (c *Connection) observe(request *http.Request, heard string, response *http.Response, err error) {
	if err != nil && (errors.Is(err, context.Canceled) || request.Context().Err() != nil) {
		return // We hung up ourselves.
	}
	failed := err != nil || response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout
	if heard != anyRequest && err == nil {
		// A server that starts refuses what it will allow a moment later: no refusal fills a cache.
		failed = response.StatusCode >= http.StatusBadRequest
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteRefusal(heard, err == nil && response.StatusCode == http.StatusForbidden)
	switch {
	case !failed || c.refused(heard):
		c.succeeded(heard)
	case heard == anyRequest:
		if c.failing.IsZero() {
			c.failing = c.clock.Now()
		}
	default:
		c.lost(heard)
	}
}

// lost notes since when something is not heard. The caller holds mu.
func (c *Connection) lost(name string) {
	if _, known := c.down[name]; !known {
		c.down[name] = c.clock.Now()
	}
}

// succeeded notes that a request succeeded. The grace begins again only after an outage. The caller holds mu.
func (c *Connection) succeeded(heard string) {
	now := c.clock.Now()
	if c.isOutage(c.failing, now) || c.isOutage(c.down[heard], now) {
		c.since = now
	}
	c.failing = time.Time{}
	delete(c.down, heard)
}

// isOutage reports whether what is not heard since a time has not been heard for long enough to count as away. The caller holds mu.
func (c *Connection) isOutage(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= outage
}

// noteRefusal keeps since when an optional collection is refused. The caller holds mu.
func (c *Connection) noteRefusal(collection string, refused bool) {
	since, optional := c.optional[collection]
	switch {
	case !optional:
	case !refused:
		c.optional[collection] = time.Time{}
	case since.IsZero():
		c.optional[collection] = c.clock.Now()
	}
}

// listens is the path of a collection where a request lists or watches it for an informer, and anyRequest for all others.
func listens(request *http.Request, prefix string) string {
	query := request.URL.Query()
	if request.Method == http.MethodGet && (query.Has("watch") || query.Has("resourceVersion") || query.Has("limit")) {
		return path.Join("/", strings.TrimPrefix(request.URL.Path, prefix))
	}
	return anyRequest
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
