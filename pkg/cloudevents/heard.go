package cloudevents

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// hear notes that the agent of a cluster sent something.
func (s *store) hear(name string) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	if c.heardLast = now; c.heardSince.IsZero() {
		c.heardSince = now
	}
}

// HeardSince returns when this process first heard the agent of a cluster; false if it has not. A broker keeps no reports: a cluster that
// was not heard may have succeeded long ago.
func (d *Driver) HeardSince(cluster string) (time.Time, bool) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	c := d.store.clusters[cluster]
	if c == nil {
		return time.Time{}, false
	}
	return c.heardSince, !c.heardSince.IsZero()
}

// Claimed returns the hashes of works that agents report as an owner's, and that this hub does not know: after a restart they can't be
// restored while their revisions can't be read. counts reports whether the owner can have a work of that name in that cluster: agents can
// report anything.
func (d *Driver) Claimed(owner string, counts func(cluster, name string) bool) []string {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	var hashes []string
	for _, r := range d.store.reports {
		report := r.kept.report
		if r.work == nil && ownerLabelOf(report) == owner && counts(report.Namespace, report.Name) {
			hashes = append(hashes, report.Labels[workv1alpha1.LabelControllerHash])
		}
	}
	return hashes
}
