package connectivity

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// clockTolerance is the maximum difference to the API server's clock at which the machine's clock is still the hub's clock.
	clockTolerance = 10 * time.Second
	// slowAnswer is the maximum duration of a request whose answer is used: the answer was written at an unknown time during the request.
	slowAnswer = 5 * time.Second
	// confirmations is the number of consecutive answers that must agree before a measured time is replaced. A single answer of a proxy, or of
	// another API server behind the same address, must not move the clock.
	confirmations = 3
)

// Clock is the hub's clock. It is the machine's clock while that is within clockTolerance of the API server's. Otherwise it is the API
// server's clock, as measured by the answers to this process's requests. So the times that successive hubs write, and their decisions,
// follow one clock (R10). Between two answers it follows the monotonic clock, so that setting the machine's clock makes no difference. If
// no answer has a Date, it is the machine's clock.
type Clock struct {
	machine clock.PassiveClock
	// between returns the time between two readings of the machine's clock, by its monotonic clock.
	between func(from, to time.Time) time.Duration

	mu sync.Mutex
	// machineAt and serverAt are the same moment by both clocks; zero before the first answer.
	machineAt, serverAt time.Time
	// corrected is true if the machine's clock is not used, because it differs too much.
	corrected bool
	// doubts counts the consecutive answers that agree with each other but not with the measured time. The last one came at doubtMachine.
	doubts                    int
	doubtMachine, doubtServer time.Time
	// differs is called when the correction changes.
	differs func(ahead time.Duration)
}

// NewClock returns a Clock that is the machine's until answers of an API server show otherwise. It calls differs, unless that is nil, with
// how far the machine's clock is ahead of the API server's, when the correction starts or changes. It calls differs with 0 when the
// correction ends.
func NewClock(machine clock.PassiveClock, differs func(ahead time.Duration)) *Clock {
	if differs == nil {
		differs = func(time.Duration) {}
	}
	return &Clock{
		machine: machine, differs: differs,
		between: func(from, to time.Time) time.Duration { return to.Sub(from) },
	}
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(c.machine.Now())
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// at returns the hub's time at a reading of the machine's clock. The caller holds mu.
func (c *Clock) at(machine time.Time) time.Time {
	if c.machineAt.IsZero() {
		return machine
	}
	estimate := c.estimate(machine)
	if !c.corrected && near(machine, estimate, clockTolerance) {
		return machine
	}
	return estimate
}

// estimate returns the API server's time at a reading of the machine's clock, based on the last measurement. The caller holds mu.
func (c *Clock) estimate(machine time.Time) time.Time {
	return c.serverAt.Add(c.between(c.machineAt, machine))
}

// Follow measures the clock of a configuration's API server, by the answers to all clients that are created from the configuration after
// the call.
func (c *Clock) Follow(config *rest.Config) {
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			sent := c.machine.Now()
			response, err := inner.RoundTrip(request)
			if err == nil && response.StatusCode < http.StatusInternalServerError && response.Header.Get("Age") == "" {
				c.measure(sent, c.machine.Now(), response.Header.Get("Date"))
			}
			return response, err
		})
	})
}

// measure notes the Date of an answer.
func (c *Clock) measure(sent, received time.Time, date string) {
	server, err := http.ParseTime(date)
	if took := c.between(sent, received); err != nil || took < 0 || took > slowAnswer {
		return
	}
	server = server.Add(time.Second / 2) // The header has whole seconds.
	if ahead, changed := c.take(received, server); changed {
		c.differs(ahead)
	}
}

// take notes the API server's time at a reading of the machine's clock. It reports whether that changed the correction, and how far ahead
// the machine's clock is.
func (c *Clock) take(machine, server time.Time) (ahead time.Duration, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, wall := c.machineAt.IsZero(), machine.Round(0) // Round strips the monotonic reading.
	switch {
	case !c.corrected && near(wall, server, clockTolerance):
		c.doubts, c.machineAt, c.serverAt = 0, machine, wall
		return 0, false
	case !first && near(c.estimate(machine), server, clockTolerance):
		// The machine's clock was set; it was right before that.
		c.doubts, changed = 0, !c.corrected
		c.corrected = true
		return wall.Sub(c.estimate(machine)), changed
	case !first && !c.confirmed(machine, server):
		return 0, false
	}
	c.doubts, c.machineAt, c.serverAt = 0, machine, server
	if c.corrected = !near(wall, server, clockTolerance/2); !c.corrected {
		c.serverAt = wall
		return 0, true
	}
	return wall.Sub(server), true
}

// confirmed reports whether enough consecutive answers show an unexpected time. The caller holds mu.
func (c *Clock) confirmed(machine, server time.Time) bool {
	if !near(c.doubtServer.Add(c.between(c.doubtMachine, machine)), server, clockTolerance) {
		c.doubts = 0
	}
	c.doubts++
	c.doubtMachine, c.doubtServer = machine, server
	return c.doubts >= confirmations
}

// near reports whether two wall clock times differ by at most a tolerance.
func near(a, b time.Time, tolerance time.Duration) bool {
	return a.Round(0).Sub(b.Round(0)).Abs() <= tolerance
}
