package connectivity

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Gap is the last period in which the agents' reports did not reach this process. The process could not hear the API server or the broker,
// did not run, or had not started yet. No deadline fires during a gap and for a time after it.
type Gap struct {
	// End is the time at which the reports could reach this process again. While the gap lasts, End is now. It is in the future while agents
	// reconnect to a broker.
	End time.Time
	// Length is the length of the gap. Its maximum is the constant unknown.
	Length time.Duration
}

// Connection tracks the last gap in the reports that reach this process.
type Connection struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	gap Gap
	// beat is the time at which this process last ran and could hear every source; zero before the first heartbeat.
	beat time.Time
	// down holds the sources that can't be heard. An informer retries at its own pace, and its cache is stale until a retry succeeds.
	down map[source]bool
	// failing is true from a failed request until the next request succeeds.
	failing bool
	// optional holds the collections that a hub can do without, and the time since which each is refused; zero if it is
	// not refused.
	optional map[source]time.Time
}

// source is a source of reports to the hub: the path of a collection that an informer lists and watches, or the name of
// a broker.
type source string

// anyRequest stands for the requests that are not an informer's: it is unclear whether the same request will ever be
// repeated.
const anyRequest source = ""

const (
	// shortest is the minimum length of a gap. Neither an occasional failed request nor a short delay on a busy machine is a gap. If they
	// were, no deadline would ever fire.
	shortest = 5 * time.Second
	// unknown is the assumed length of a gap that this process could not measure. No agent needs longer than that to report.
	unknown = 2 * time.Minute
	// refusedFor is the time for which a collection is refused before it counts as not allowed: a starting server briefly
	// refuses requests that it allows later.
	refusedFor = 10 * time.Second
)

// New returns a Connection that begins at the current time of the clock.
func New(clk clock.PassiveClock) *Connection {
	return &Connection{clock: clk, gap: Gap{End: clk.Now(), Length: unknown}, down: map[source]bool{}, optional: map[source]time.Time{}}
}

// Optional marks a collection that a hub can do without: a hub without permission to read it still has a connection.
func (c *Connection) Optional(collection schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.optional[sourceOf(collection)] = time.Time{}
}

// Refused reports whether the API server permanently refuses reads of an optional collection.
func (c *Connection) Refused(collection schema.GroupVersionResource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused(sourceOf(collection))
}

// refused implements Refused. The caller holds mu.
func (c *Connection) refused(collection source) bool {
	since := c.optional[collection]
	return !since.IsZero() && c.clock.Since(since) >= refusedFor
}

// Look returns the current time together with the last gap, because the clock can be set between two calls.
func (c *Connection) Look() (now time.Time, last Gap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.clock.Now()
	c.listen(now)
	silent, _ := silence(between(c.beat, now))
	if len(c.down) > 0 || c.failing && !c.beat.IsZero() && silent >= shortest {
		return now, Gap{End: now, Length: unknown}
	}
	return now, c.gap
}

// Restart records that the connection begins now, because the caches have synced.
func (c *Connection) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gap = Gap{End: c.clock.Now(), Length: unknown}
}

// WatchLost records that an informer's watch of a collection ended with an error. Until the informer has listed or
// watched the collection again, its cache is stale. A watch that is accepted and then fails because its version is too
// old is detected only here.
func (c *Connection) WatchLost(collection schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from := sourceOf(collection); !c.refused(from) {
		c.down[from] = true
	}
}

// Lost records that the connection to a broker is lost.
func (c *Connection) Lost(broker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[source(broker)] = true
}

// Back records that a broker is connected again, and how long the agents may take to reconnect, because they lost the
// broker too. It changes nothing if the broker was not lost.
func (c *Connection) Back(broker string, settle time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down[source(broker)] {
		delete(c.down, source(broker))
		c.gap = Gap{End: c.clock.Now().Add(settle), Length: unknown}
	}
}

// succeeded records that a request succeeded. The caller holds mu.
func (c *Connection) succeeded(from source) {
	c.failing = false
	delete(c.down, from)
	c.listen(c.clock.Now())
}

// noteRefusal records the time since which an optional collection is refused. The caller holds mu.
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
