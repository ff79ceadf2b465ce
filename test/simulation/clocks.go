package simulation

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
)

// machineClock is the clock of the hub's machine.
type machineClock struct {
	right *clocktesting.FakeClock
	ahead time.Duration
}

// Now implements clock.PassiveClock.
func (c machineClock) Now() time.Time { return c.right.Now().Add(c.ahead) }

// Since implements clock.PassiveClock.
func (c machineClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// timeShown returns a function that shows an answer of the API server to a hub's clock.
func (a *API) timeShown(hub *connectivity.Clock) func() {
	config := &rest.Config{}
	hub.Follow(config)
	transport := config.WrapTransport(answers{a})
	return func() {
		if request, err := http.NewRequest(http.MethodGet, "https://hub", http.NoBody); err == nil && !a.Undated {
			if response, err := transport.RoundTrip(request); err == nil {
				_ = response.Body.Close()
			}
		}
	}
}

// answers are the API server's answers, as a clock sees them.
type answers struct{ api *API }

// RoundTrip implements http.RoundTripper.
func (t answers) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{}
	header.Set("Date", t.api.now().UTC().Format(http.TimeFormat))
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody}, nil
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
