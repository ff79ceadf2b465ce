package memory

import (
	"sync"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Clusters remembers when managed clusters became available again. No ManagedCluster records that time by the hub's
// clock: the condition has the time of the cluster's agent, and removing a taint leaves no timestamp. So the first
// report of a cluster counts as a change.
type Clusters struct {
	mu sync.Mutex
	// ruled is the number of known clusters that have a rule.
	ruled int
	known map[string]knownCluster
}

type knownCluster struct {
	report           availability.Report
	unavailableSince time.Time
	availableSince   time.Time
	// hold is the hold at the time heldAt. It applies until the time in changes, or forever if changes is zero.
	hold            placement.Hold
	held            bool
	heldAt, changes time.Time
}

// NewClusters returns empty Clusters.
func NewClusters() *Clusters { return &Clusters{known: map[string]knownCluster{}} }

// Note records the report of a ManagedCluster. changed reports whether a pass may find something new; it is false for
// the first report, and if the cluster stays available. ruled reports whether the cluster's rule changed.
func (c *Clusters) Note(name string, report availability.Report, now time.Time) (changed, ruled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.known[name]
	same := known && before.report.Available == report.Available && before.report.Since.Equal(report.Since)
	ruled = before.report.Rule != report.Rule
	if same && !ruled {
		return false, false
	}
	after := before
	after.report, after.heldAt = report, time.Time{}
	switch {
	case same:
	case report.Available:
		after.availableSince = now
	default:
		after.unavailableSince, after.availableSince = report.Since, time.Time{}
	}
	c.count(before.report.Rule, report.Rule)
	c.known[name] = after
	return known && !same && (!before.report.Available || !report.Available), ruled
}

// Forget drops a cluster without a ManagedCluster, and reports whether it was known.
func (c *Clusters) Forget(name string) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.known[name]
	c.count(before.report.Rule, availability.Rule{})
	delete(c.known, name)
	return known
}

// ClusterOf returns the availability of a cluster; false if it has no ManagedCluster.
func (c *Clusters) ClusterOf(name string, now time.Time) (cluster placement.Cluster, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, exists := c.known[name]
	if known.availableSince.After(now) { // The clock has been set back since.
		known.availableSince = now
		c.known[name] = known
	}
	return placement.Cluster{
		Available: known.report.Available, UnavailableSince: known.unavailableSince, AvailableSince: known.availableSince,
	}, exists
}

// count updates ruled after the rule of a cluster changed.
func (c *Clusters) count(before, after availability.Rule) {
	none := availability.Rule{}
	if before != none {
		c.ruled--
	}
	if after != none {
		c.ruled++
	}
}

// AnyRule reports whether any cluster restricts when rollouts may start there.
func (c *Clusters) AnyRule() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ruled > 0
}

// Hold returns the hold of a cluster, and the time when the hold changes by itself; zero for never.
func (c *Clusters) Hold(name string, now time.Time) (hold placement.Hold, held bool, changes time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, exists := c.known[name]
	if !exists || known.report.Rule == (availability.Rule{}) {
		return placement.Hold{}, false, time.Time{}
	}
	if known.heldAt.IsZero() || now.Before(known.heldAt) || !known.changes.IsZero() && !now.Before(known.changes) {
		known.hold, known.held, known.changes = known.report.Rule.At(now)
		known.heldAt = now
		c.known[name] = known
	}
	return known.hold, known.held, known.changes
}
