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
	// clockStep is how far a wall clock and the monotonic clock may drift apart from one beat to the next.
	clockStep = time.Second
)

// KeepBeating calls Beat once a second until the context ends.
func (c *Connection) KeepBeating(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { c.Beat() }, beatInterval)
}

// Beat notes that this process runs. Where the beat before it is too long ago, the process stood still. Where the wall clock and
// the monotonic clock disagree since, the clock was set, or the machine was suspended or migrated: agents' reports could not be read
// meanwhile, and no request needs to have failed (R11). From the first beat on, Since and LastStall look for that as well, so that no
// decision comes before the next beat.
func (c *Connection) Beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteBeat()
}

// look is noteBeat if a heartbeat is expected. The caller holds mu.
func (c *Connection) look() {
	if !c.beat.IsZero() {
		c.noteBeat()
	}
}

// noteBeat is Beat for a caller that holds mu.
func (c *Connection) noteBeat() {
	now, last := c.clock.Now(), c.beat
	if c.beat = now; last.IsZero() {
		return
	}
	// Round strips the monotonic reading.
	monotonic, wall := now.Sub(last), now.Round(0).Sub(last.Round(0))
	switch {
	case jumped(wall, monotonic):
		c.jump(now)
	case monotonic > beatInterval+beatLateness:
		c.stalled(now, monotonic)
	}
}

// jump lets the connection begin now, by a clock that may show an earlier time than before. The caller holds mu.
func (c *Connection) jump(now time.Time) {
	if now.Before(c.since) {
		// The wall clock was set back: what was to come by the old one comes after the same time by the new one.
		c.settled = now.Add(max(0, c.settled.Sub(c.since)))
	}
	c.since, c.stall = now, Stall{}
}

// jumped reports whether a clock was set between two beats, or the machine was suspended, by the time that passed on that clock and on the
// monotonic clock. A monotonic clock does not count the time for which a machine is suspended.
func jumped(wall, monotonic time.Duration) bool {
	return wall < 0 || (wall-monotonic).Abs() > clockStep
}

// Stall is a time in which this process did not run, though its machine did: the machine was busy, or the process was stopped.
type Stall struct {
	// Ended is when the process ran again, and Length for how long it had not run; both are zero if there was no stall.
	Ended  time.Time
	Length time.Duration
}

// LastStall returns the last stall, or an older one where as much time as that one took has not passed since, and is to pass longer.
func (c *Connection) LastStall() Stall {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.stall
}

// stalled notes that this process did not run until now. The caller holds mu.
func (c *Connection) stalled(now time.Time, length time.Duration) {
	if now.Add(length).After(c.stall.Ended.Add(c.stall.Length)) {
		c.stall = Stall{Ended: now, Length: length}
	}
}
