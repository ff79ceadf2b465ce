package cloudevents

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// outageLogInterval is how often the log names an outage at most: a connection that comes and goes must not fill it.
const outageLogInterval = time.Minute

// outages writes one line when the broker is lost and one when it is back, not one for each work that can't be sent.
type outages struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// since is when the outage began; zero while there is none.
	since time.Time
	// logged is when the log named one last; named says that it named this one.
	logged time.Time
	named  bool
}

func (o *outages) began(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		return
	}
	now := o.clock.Now()
	o.since, o.named = now, o.logged.IsZero() || now.Sub(o.logged) >= outageLogInterval
	if o.named {
		o.logged = now
		klog.FromContext(ctx).Info("The broker is not connected: nothing is written to any cluster until the connection is restored")
	}
}

// ended reports whether there was one.
func (o *outages) ended(ctx context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return false
	}
	if o.named {
		klog.FromContext(ctx).Info("The broker is connected again", "away", o.clock.Since(o.since).Round(time.Second).String())
	}
	o.since, o.named = time.Time{}, false
	return true
}
