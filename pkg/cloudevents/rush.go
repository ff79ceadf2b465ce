package cloudevents

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// rushClusters is how many clusters must report within a second to count as many at once, for example after an outage.
	rushClusters = 200
	// rushPause is how long after such a second the broker may still hold reports of it.
	rushPause = 5 * time.Second
	// rushMost is for how long a rush excuses an agent that does not answer. A fleet that always reports at that rate delays no abort for
	// longer.
	rushMost = time.Minute
)

// rush detects that many agents report at once. An answer then waits behind their reports, in the agents and in the broker, where the hub
// can't see it: a missing answer means nothing yet. It counts clusters and not events, so that one agent can't make a rush.
type rush struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// second is when the second began that is counted, and clusters are those that reported in it.
	second   time.Time
	clusters map[string]bool
	// since is when the rush began, and last when it was seen last; zero for never.
	since, last time.Time
}

func newRush(clk clock.PassiveClock) *rush { return &rush{clock: clk, clusters: map[string]bool{}} }

// note notes that the agent of a cluster sent something.
func (r *rush) note(cluster string) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.second) >= time.Second {
		r.second = now
		clear(r.clusters)
	}
	r.clusters[cluster] = true
	if len(r.clusters) < rushClusters {
		return
	}
	if now.Sub(r.last) >= rushPause {
		r.since = now
	}
	r.last = now
}

// excuses reports whether an agent that does not answer may be kept from it by a rush.
func (r *rush) excuses() bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Sub(r.last) < rushPause && now.Sub(r.since) < rushMost
}
