package connectivity

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// clockTolerance is the maximum difference between two clocks that agree.
	clockTolerance = 10 * time.Second
	// slowAnswer is the maximum duration of a request whose answer is used: the answer was written at an unknown time during the request.
	slowAnswer = 5 * time.Second
	// confirmations is the number of consecutive answers that must show a new difference before it is reported: a single answer may come from
	// a proxy, or from another API server behind the same address.
	confirmations = 3
)

// Difference measures how far the machine's clock is ahead of an API server's, by the Date of its answers. No decision
// depends on it.
type Difference struct {
	clock clock.PassiveClock
	// differs is called when the clocks no longer agree, when the difference changes, and with 0 when they agree again.
	differs func(ahead time.Duration)

	mu sync.Mutex
	// ahead was reported last; 0 while the clocks agree.
	ahead time.Duration
	// doubts counts the consecutive answers that show a difference other than ahead; doubted is the last such difference.
	doubts  int
	doubted time.Duration
}

// NewDifference returns a Difference that calls differs with each new difference.
func NewDifference(machine clock.PassiveClock, differs func(ahead time.Duration)) *Difference {
	return &Difference{clock: machine, differs: differs}
}

// Watch measures with the answers to all clients that are created from the configuration after the call.
func (d *Difference) Watch(config *rest.Config) {
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			sent := d.clock.Now()
			response, err := inner.RoundTrip(request)
			if err == nil && response.StatusCode < http.StatusInternalServerError && response.Header.Get("Age") == "" {
				d.measure(sent, response.Header.Get("Date"))
			}
			return response, err
		})
	})
}

// measure records the Date of an answer to a request that was sent at the given time.
func (d *Difference) measure(sent time.Time, date string) {
	server, err := http.ParseTime(date)
	received := d.clock.Now()
	if took := received.Sub(sent); err != nil || took < 0 || took > slowAnswer {
		return
	}
	// The header has whole seconds.
	if ahead, changed := d.note(received.Sub(server.Add(time.Second / 2))); changed {
		d.differs(ahead)
	}
}

// note records the difference that one answer shows. It returns the difference to report, and whether several answers
// have confirmed a change.
func (d *Difference) note(ahead time.Duration) (known time.Duration, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if (ahead - d.ahead).Abs() <= clockTolerance {
		d.doubts = 0
		return d.ahead, false
	}
	if (ahead - d.doubted).Abs() > clockTolerance {
		d.doubts = 0
	}
	d.doubted = ahead
	if d.doubts++; d.doubts < confirmations {
		return d.ahead, false
	}
	d.doubts, d.ahead = 0, ahead
	if ahead.Abs() <= clockTolerance {
		d.ahead = 0
	}
	return d.ahead, true
}
