package cloudevents

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// heard knows since when this process has heard the agent of each cluster. A broker keeps no reports: a cluster that was not heard may
// have succeeded long ago (R11).
type heard struct {
	clock clock.PassiveClock

	mu    sync.RWMutex
	since map[string]time.Time
	// last is when each agent was heard last.
	last map[string]time.Time
}

func newHeard(clk clock.PassiveClock) *heard {
	return &heard{clock: clk, since: map[string]time.Time{}, last: map[string]time.Time{}}
}

// note takes down that an agent sent something.
func (h *heard) note(cluster string) {
	if cluster == "" {
		return
	}
	now := h.clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[cluster] = now
	if _, known := h.since[cluster]; !known {
		h.since[cluster] = now
	}
}

// after reports whether an agent was heard after a time.
func (h *heard) after(cluster string, then time.Time) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.last[cluster].After(then)
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

// Claimed returns the hashes of works that agents report as an owner's, and that this hub does not know: after a restart they can't be
// restored while their revisions can't be read. counts reports whether the owner can have a work of that name in that cluster: agents
// make up what they like.
func (d *Driver) Claimed(owner string, counts func(cluster, name string) bool) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var hashes []string
	for uid, report := range d.reports {
		if report.Labels[workv1alpha1.LabelReplicaSet] == owner && counts(report.Namespace, report.Name) && d.store.get(uid) == nil {
			hashes = append(hashes, report.Labels[workv1alpha1.LabelControllerHash])
		}
	}
	return hashes
}
