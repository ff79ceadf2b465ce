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
	mu    sync.Mutex
	known map[string]knownCluster
	// rules holds the clusters that have a rule.
	rules map[string]*ruledCluster
}

type knownCluster struct {
	report           availability.Report
	unavailableSince time.Time
	availableSince   time.Time
}

// ruledCluster is the rule of a cluster, and the hold that was last read from the rule. at is the time of that reading; zero if there was
// none. The hold applies until the time in changes, or forever if changes is zero.
type ruledCluster struct {
	rule        availability.Rule
	hold        placement.Hold
	held        bool
	at, changes time.Time
}

// NewClusters returns empty Clusters.
func NewClusters() *Clusters {
	return &Clusters{known: map[string]knownCluster{}, rules: map[string]*ruledCluster{}}
}

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
	after.report = report
	switch {
	case same:
	case report.Available:
		after.availableSince = now
	default:
		after.unavailableSince, after.availableSince = report.Since, time.Time{}
	}
	if delete(c.rules, name); report.Rule != (availability.Rule{}) {
		c.rules[name] = &ruledCluster{rule: report.Rule}
	}
	c.known[name] = after
	return known && !same && (!before.report.Available || !report.Available), ruled
}

// Forget drops a cluster without a ManagedCluster, and reports whether it was known.
func (c *Clusters) Forget(name string) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known = c.known[name]
	delete(c.known, name)
	delete(c.rules, name)
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

// Holds returns the holds of the given clusters, and the earliest time at which a hold changes by itself; zero for never.
func (c *Clusters) Holds(clusters map[string]int, now time.Time) (holds map[string]placement.Hold, changes time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rules) == 0 {
		return nil, time.Time{}
	}
	holds = map[string]placement.Hold{}
	for name := range clusters {
		known := c.rules[name]
		if known == nil {
			continue
		}
		known.look(now)
		if known.held {
			holds[name] = known.hold
		}
		if !known.changes.IsZero() && (changes.IsZero() || known.changes.Before(changes)) {
			changes = known.changes
		}
	}
	return holds, changes
}

// look reads the rule, unless the hold that was last read still applies.
func (r *ruledCluster) look(now time.Time) {
	if r.at.IsZero() || now.Before(r.at) || !r.changes.IsZero() && !now.Before(r.changes) {
		r.hold, r.held, r.changes = r.rule.At(now)
		r.at = now
	}
}
