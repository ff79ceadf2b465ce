package cloudevents

import (
	"context"
	"math"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// maxGeneration is the largest generation that an agent may report. An event holds 31 bits of a generation. The
// generations above this limit are reserved for this hub's own writes.
const maxGeneration = math.MaxInt32 - 1<<24

// received processes a report, or keeps the report if it has to wait.
func (d *Driver) received(ctx context.Context, event *cloudevents.Event, cluster string) {
	work, err := d.codec.Decode(event)
	switch {
	case err != nil:
		d.refuse(ctx, RefusedKind, cluster, "error", err.Error())
		return
	case work.Generation < 0 || work.Generation > maxGeneration:
		d.refuse(ctx, RefusedGeneration, cluster)
		return
	}
	d.noteWord(work.UID)
	switch {
	case d.store.report(work) == noted:
		d.done(work)
	case !d.keep(work):
		d.refuse(ctx, RefusedQuota, cluster)
	}
}

// unread updates the metric for the reports that are not processed yet.
func (d *Driver) unread() {
	d.store.mu.Lock()
	waiting := d.store.unread + len(d.store.reports)
	d.store.mu.Unlock()
	d.metrics.ReportsUnread(waiting)
}

// maxUnknown is the maximum number of works unknown to this hub that a cluster may report at once. If a cluster reports
// more, they must be invented.
const maxUnknown = 500

// kept is a report that has not been processed yet.
type kept struct {
	report *workv1.ManifestWork
	// cost is the report's size in memory.
	cost int
	// considered is true if the work was checked and can't be restored.
	considered bool
	// unwanted is the time since which the owner of the work has been missing, or has not selected the cluster; zero if
	// neither is the case.
	unwanted time.Time
	// unexpected is the time since which the agent has reported content that the hub does not expect; zero if the
	// content is as expected.
	unexpected time.Time
}

// onKept calls do with the kept report of a work, if the report still exists.
func (s *store) onKept(uid types.UID, do func(*kept)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reports[uid]; r != nil {
		do(r.kept)
	}
}

// noteWord records that the agent of a work has reported it.
func (d *Driver) noteWord(uid types.UID) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if r := d.store.records[uid]; r != nil {
		r.unanswered, r.wordAt = false, d.clock.Now()
		r.reports++
	}
}

// keep keeps a report until it is processed, unless the reports of its cluster take too much memory, or are about too many works that the
// hub does not know.
func (d *Driver) keep(work *workv1.ManifestWork) bool {
	work.Spec = workv1.ManifestWorkSpec{} // The spec that an agent reports does not count.
	work.Status = mergeStatus(&workv1.ManifestWorkStatus{}, &work.Status, 0, math.MaxInt)
	cost, s := costOf(work), d.store
	defer d.unread()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(work.Namespace, work.UID)
	defer s.release(r) // This has an effect only if the report is not kept.
	var k kept
	if r.kept != nil {
		k = *r.kept
	} else if r.work == nil && r.cluster.unknown() >= maxUnknown {
		return false
	}
	s.give(r.cluster, k.cost)
	if !s.take(r.cluster, cost) {
		s.take(r.cluster, k.cost)
		return false
	}
	k.report, k.cost = work, cost
	r.kept, s.reports[work.UID] = &k, r
	d.mends.Add(mendTask{work.UID})
	return true
}

// unknown returns the number of kept reports of works that the hub does not know.
func (c *cluster) unknown() (n int) {
	for _, r := range c.records {
		if r.work == nil && r.kept != nil {
			n++
		}
	}
	return n
}

// done drops the kept report of a work, unless it is newer than this one.
func (d *Driver) done(report *workv1.ManifestWork) {
	defer d.unread()
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[report.UID]
	if r == nil {
		return
	}
	d.echoed(r)
	if r.kept == nil {
		return
	}
	if r.kept.report != report && !newer(report, r.kept.report) {
		r.kept = &kept{report: r.kept.report, cost: r.kept.cost}
		return
	}
	s.give(r.cluster, r.kept.cost)
	r.kept = nil
	delete(s.reports, report.UID)
	s.release(r)
}

// newer reports whether a report is later than another report of the same work.
func newer(report, than *workv1.ManifestWork) bool {
	return isLater(than.Annotations[common.CloudEventsSequenceIDAnnotationKey],
		report.Annotations[common.CloudEventsSequenceIDAnnotationKey])
}

// askTask asks all agents for their works once per auditInterval. If the broker is unreachable, they are asked when it
// is reachable again.
type askTask struct{}

func (askTask) perform(ctx context.Context, d *Driver) (again time.Duration, err error) {
	if !d.Reachable() {
		return auditInterval, nil
	}
	if err := d.expectAnswers(ctx); err != nil {
		return 0, err
	}
	if err := d.link.ask(ctx, eventtypes.ClusterAll); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked.IsZero() {
		d.asked = d.clock.Now()
	}
	return auditInterval, nil
}

// answerInterval is the minimum interval at which an agent that keeps asking is sent all of its works.
const answerInterval = 5 * time.Second

// answerTask sends all of the hub's works for a cluster to its agent, and asks for the works that the agent has. A work
// that only the agent has is not deleted: a hub that has just restarted does not know all of its works yet.
type answerTask struct{ cluster string }

func (t answerTask) perform(ctx context.Context, d *Driver) (again time.Duration, err error) {
	d.store.mu.Lock()
	wait := remaining(&d.store.cluster(t.cluster).answered, d.clock.Now(), answerInterval)
	d.store.mu.Unlock()
	if wait > 0 {
		return wait, nil
	}
	works, _ := d.store.in(t.cluster)
	for _, work := range works {
		// A work that the broker no longer accepts, because its size limit was lowered, must not hold back the others.
		if err := d.resend(ctx, work.UID); err != nil && !apierrors.IsRequestEntityTooLargeError(err) {
			return answerInterval, nil //nolint:nilerr // An agent also asks when the broker is available again.
		}
	}
	return 0, d.link.ask(ctx, t.cluster)
}
