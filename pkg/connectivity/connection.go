package connectivity

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Connection knows since when this process can hear the API server without interruption. While it could not, the agents' reports did not
// reach it either, and for some time after that a deadline means nothing (R11).
type Connection struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time
	// settled is when agents that lost their way to this hub count as back.
	settled time.Time
	// down holds the sources that cannot be heard, and since when. An informer retries at its own pace: until a retry succeeds, its cache
	// shows a past.
	down map[source]time.Time
	// failing is when the first of the requests failed that were made after the last successful one; zero while requests succeed.
	failing time.Time
	// beat is when this process was last seen running; zero while no heartbeat is expected.
	beat  time.Time
	stall Stall
	// optional holds the collections that a hub can do without, and since when each is refused; zero while it is not.
	optional map[source]time.Time
}

// source is what the hub listens to: the path of a collection that an informer lists and watches, or the name of a broker.
type source string

// anyRequest stands for the requests that are not an informer's: it is unclear whether the same one is ever made again.
const anyRequest source = ""

const (
	// outage is how long nothing must have succeeded before the connection counts as having been away. One request that fails now and then,
	// while others succeed, is no outage: it would switch every deadline off (R11).
	outage = 5 * time.Second
	// refusedFor is how long a collection is refused before it counts as not allowed: a server that starts refuses what it will
	// allow a moment later.
	refusedFor = 10 * time.Second
)

// New returns a Connection that begins at the clock's now.
func New(clk clock.PassiveClock) *Connection {
	return &Connection{clock: clk, since: clk.Now(), down: map[source]time.Time{}, optional: map[source]time.Time{}}
}

// Optional marks a collection that a hub can do without: a hub that may not read it still has a connection.
func (c *Connection) Optional(collection schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.optional[sourceOf(collection)] = time.Time{}
}

// Refused reports whether the API server does not allow an optional collection to be read, and not only for a moment.
func (c *Connection) Refused(collection schema.GroupVersionResource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused(sourceOf(collection))
}

// refused is Refused for a caller that holds mu.
func (c *Connection) refused(collection source) bool {
	since := c.optional[collection]
	return !since.IsZero() && c.clock.Since(since) >= refusedFor
}

// Since returns when the connection began or came back; now, while it is down. It is in the future while agents are on their way back.
func (c *Connection) Since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	if len(c.down) > 0 || c.isOutage(c.failing) {
		return c.clock.Now()
	}
	if c.settled.After(c.since) {
		return c.settled
	}
	return c.since
}

// Restart lets the connection begin now: the caches have synced.
func (c *Connection) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.clock.Now()
}

// WatchLost notes that an informer's watch of a collection ended with an error: until the informer has listed or watched the collection
// again, its cache shows a past. A watch that is accepted, and then fails because its version is too old, is seen only here.
func (c *Connection) WatchLost(collection schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from := sourceOf(collection); !c.refused(from) {
		c.lost(from)
	}
}

// Lost notes that a broker cannot be heard.
func (c *Connection) Lost(broker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost(source(broker))
}

// Back notes that a broker is heard again, and how long those who report by it may still take to return: the agents lost their broker too.
// It changes nothing if the broker was not lost.
func (c *Connection) Back(broker string, settle time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, lost := c.down[source(broker)]; lost {
		delete(c.down, source(broker))
		c.since = c.clock.Now()
		c.settled = c.since.Add(settle)
	}
}

// lost notes since when something is not heard. The caller holds mu.
func (c *Connection) lost(from source) {
	if _, known := c.down[from]; !known {
		c.down[from] = c.clock.Now()
	}
}

// succeeded notes that a request succeeded. The grace begins again only after an outage. The caller holds mu.
func (c *Connection) succeeded(from source) {
	if c.isOutage(c.failing) || c.isOutage(c.down[from]) {
		c.since = c.clock.Now()
	}
	c.failing = time.Time{}
	delete(c.down, from)
}

// isOutage reports whether what is not heard since a time has not been heard for long enough to count as away. The caller holds mu.
func (c *Connection) isOutage(since time.Time) bool {
	return !since.IsZero() && c.clock.Since(since) >= outage
}

// noteRefusal keeps since when an optional collection is refused. The caller holds mu.
func (c *Connection) noteRefusal(collection source, refused bool) {
	since, optional := c.optional[collection]
	switch {
	case !optional:
	case !refused:
		c.optional[collection] = time.Time{}
	case since.IsZero():
		c.optional[collection] = c.clock.Now()
	}
}
