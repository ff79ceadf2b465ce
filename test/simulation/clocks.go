package simulation

import (
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// machineClock is the clock of the hub's machine.
type machineClock struct {
	right *clocktesting.FakeClock
	ahead *time.Duration
}

// Now implements clock.PassiveClock.
func (c machineClock) Now() time.Time { return c.right.Now().Add(*c.ahead) }

// Since implements clock.PassiveClock.
func (c machineClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// SetBack sets the clock of the hub's machine back. A heartbeat notices it within a second, which the clock of a simulation never misses by itself.
func (w *World) SetBack(by time.Duration) {
	w.Tell("the clock of the hub's machine is set back by %s", by)
	w.HubAhead -= by
	w.Hub.connection.Restart()
}

// runFor runs the world for a time, with a heartbeat of the hub every second.
func (w *World) runFor(during time.Duration) error {
	for range during / time.Second {
		w.Hub.connection.Beat()
		if err := w.Settle(time.Second); err != nil {
			return err
		}
	}
	return nil
}

// stall advances the time while the hub's process does not run.
func (w *World) stall(during time.Duration) { w.Clock.Step(during) }
