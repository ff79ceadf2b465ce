package connectivity

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// beatInterval is how often a running process notes that it runs.
	beatInterval = time.Second
	// beatLateness is how late a beat may be on a busy machine.
	beatLateness = 2 * time.Second
	// clockStep is how far wall clock and monotonic clock may drift apart from one beat to the next.
	clockStep = time.Second
)

// KeepBeating calls Beat once a second until the context ends.
func (c *Connection) KeepBeating(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { c.Beat() }, beatInterval)
}

// Beat notes that this process runs. Where the beat before it is too long ago, or the wall clock was set since, the machine was suspended,
// migrated or stopped: agents' reports could not be read meanwhile, and no request needs to have failed (R11). From the first beat on,
// Since looks for that as well, so that no decision comes before the next beat.
func (c *Connection) Beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteBeat(c.clock.Now())
}

// noteBeat is Beat for a caller that holds mu.
func (c *Connection) noteBeat(now time.Time) {
	last := c.beat
	c.beat = now
	// Round strips the monotonic reading.
	if last.IsZero() || !interrupted(now.Round(0).Sub(last.Round(0)), now.Sub(last)) {
		return
	}
	if now.Before(c.since) {
		// The wall clock was set back: what was to come by the old one comes after the same time by the new one.
		c.settled = now.Add(max(0, c.settled.Sub(c.since)))
	}
	c.since = now
}

// interrupted reports whether a process that beats once a second did not run between two beats, by the time that passed on the wall clock
// and on the monotonic clock. A monotonic clock does not count the time for which a machine is suspended.
func interrupted(wall, monotonic time.Duration) bool {
	return wall < 0 || max(wall, monotonic) > beatInterval+beatLateness || (wall-monotonic).Abs() > clockStep
}
