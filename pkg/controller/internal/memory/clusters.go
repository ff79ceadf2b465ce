package memory

import (
	"sync"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Clusters remembers since when managed clusters are available again. No ManagedCluster says that by the hub's clock: the condition has the
// time of the cluster's agent, and a taint that was removed leaves no time. So the first report of a cluster counts as a change.
type Clusters struct {
	mu    sync.Mutex
	known map[string]knownCluster
}

type knownCluster struct {
	report           availability.Report
	unavailableSince time.Time
	availableSince   time.Time
}

// NewClusters returns empty Clusters.
func NewClusters() *Clusters { return &Clusters{known: map[string]knownCluster{}} }

// Note notes the report of a ManagedCluster, and reports whether a pass may find something new: not at the first report, nor if the cluster
// stays available.
func (c *Clusters) Note(name string, report availability.Report, now time.Time) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.known[name]
	if known && before.report.Available == report.Available && before.report.Since.Equal(report.Since) {
		return false
	}
	after := knownCluster{report: report, unavailableSince: before.unavailableSince, availableSince: now}
	if !report.Available {
		after.unavailableSince, after.availableSince = report.Since, time.Time{}
	}
	c.known[name] = after
	return known && (!before.report.Available || !report.Available)
}

// Forget drops a cluster without a ManagedCluster, and reports whether it was known.
func (c *Clusters) Forget(name string) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known = c.known[name]
	delete(c.known, name)
	return known
}

// Of returns the availability of a cluster; false if it has no ManagedCluster.
func (c *Clusters) Of(name string, now time.Time) (cluster placement.Cluster, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, exists := c.known[name]
	if known.availableSince.After(now) { // The clock was set back since.
		known.availableSince = now
		c.known[name] = known
	}
	return placement.Cluster{
		Available: known.report.Available, UnavailableSince: known.unavailableSince, AvailableSince: known.availableSince,
	}, exists
}
