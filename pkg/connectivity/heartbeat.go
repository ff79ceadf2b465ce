package connectivity

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// beatInterval is the interval at which a running process records that it can hear every source.
const beatInterval = time.Second

// KeepBeating calls Beat once a second until the context ends.
func (c *Connection) KeepBeating(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { c.Beat() }, beatInterval)
}

// Beat records that this process runs and, unless a source is known to be down, can hear every source. After the first
// beat, Look does the same, so a decision does not miss a gap that the next beat would show.
func (c *Connection) Beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if c.beat.IsZero() {
		c.beat = now
	}
	c.listen(now)
}

// listen is like Beat, but does nothing before the first beat. If the last beat is too long ago, there was a gap. The
// new gap does not shorten the time after an earlier gap, unless the clock was set, because the rest of that time is
// then unknown. The caller holds mu.
func (c *Connection) listen(now time.Time) {
	last := c.beat
	if last.IsZero() || c.failing || len(c.down) > 0 {
		return
	}
	c.beat = now
	switch length, set := silence(between(last, now)); {
	case set:
		c.gap = Gap{End: now, Length: unknown}
	case length >= shortest:
		rest := c.gap.End.Add(c.gap.Length)
		if now.After(c.gap.End) {
			c.gap.End = now
		}
		c.gap.Length = max(length, rest.Sub(c.gap.End))
	}
}

// between returns the time that has passed by the wall clock and by the monotonic clock.
func between(last, now time.Time) (wall, monotonic time.Duration) {
	return now.Round(0).Sub(last.Round(0)), now.Sub(last) // Round strips the monotonic reading.
}

// silence returns the time without a beat, at most unknown, and whether the clock was set in the meantime. The clock
// was set if the wall clock and the monotonic clock disagree. This includes a suspended or migrated machine, because a
// monotonic clock does not count that time.
func silence(wall, monotonic time.Duration) (length time.Duration, set bool) {
	if wall < 0 || (wall-monotonic).Abs() >= shortest {
		return unknown, true
	}
	return min(max(wall, monotonic), unknown), false
}
