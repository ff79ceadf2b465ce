package cloudevents

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// heard knows since when this process has heard the agent of each cluster. A broker keeps no reports: a cluster that was not heard may
// have succeeded long ago (R11).
type heard struct {
	clock clock.PassiveClock

	mu    sync.RWMutex
	since map[string]time.Time
}

func newHeard(clk clock.PassiveClock) *heard {
	return &heard{clock: clk, since: map[string]time.Time{}}
}

// note takes down that an agent sent something.
func (h *heard) note(cluster string) {
	if _, known := h.of(cluster); known || cluster == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.since[cluster]; !known {
		h.since[cluster] = h.clock.Now()
	}
}

// of reports since when the agent of a cluster is heard; false when it was not.
func (h *heard) of(cluster string) (time.Time, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	since, known := h.since[cluster]
	return since, known
}

// HeardSince reports since when this process has heard the agent of a cluster; false when it has not.
func (d *Driver) HeardSince(cluster string) (time.Time, bool) { return d.heard.of(cluster) }
