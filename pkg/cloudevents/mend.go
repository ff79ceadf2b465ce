package cloudevents

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// repairsPerSecond and repairsAtOnce limit, for each cluster, the actions that its reports cause in this hub: to send a work again, or to
	// delete one.
	repairsPerSecond = 1
	repairsAtOnce    = 10
)

// renewals is the pace at which a work is sent again if its agent reports a newer generation: immediately the first time, and then after a
// delay that doubles with each such report.
type renewals struct {
	last  time.Time
	times int
}

const (
	// longestRenewal bounds that delay.
	longestRenewal = longestPause / 2
	// renewalsForgotten is the time without a renewal after which the next one is immediate again.
	renewalsForgotten = 2 * longestPause
)

// wait returns how much longer the work has to wait.
func (r renewals) wait(now time.Time) time.Duration {
	if r.times == 0 {
		return 0
	}
	return max(0, pause(confirmAfter, longestRenewal, r.times-1)-now.Sub(r.last))
}

// note counts a renewal.
func (r *renewals) note(now time.Time) {
	if now.Sub(r.last) >= renewalsForgotten {
		r.times = 0
	}
	r.last = now
	r.times++
}

// mayRepair returns how much longer the reports of a cluster have to wait before they may cause an action. If that is zero, it counts the
// action.
func (d *Driver) mayRepair(cluster string) (wait time.Duration) {
	now := d.clock.Now()
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	reservation := d.store.cluster(cluster).repairs.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// mendTask processes the next report of a cluster that could not be processed at once, and then yields to other clusters. It may wait for
// the API server or the broker.
type mendTask struct{ cluster *cluster }

func (t mendTask) do(ctx context.Context, d *Driver) (again time.Duration, err error) {
	report, wait := d.store.nextKept(t.cluster)
	if report == nil {
		return wait, nil
	}
	again, err = d.mend(ctx, report)
	if err != nil && d.Reachable() {
		klog.FromContext(ctx).Error(err, "A report could not be processed and will be retried", "cluster", report.Namespace, "name", report.Name)
	}
	d.store.onKept(report.UID, func(k *kept) {
		switch {
		case k.report != report: // A newer report arrived, and is due.
		case err == nil:
			k.due, k.failures = d.clock.Now().Add(again), 0
		case d.Reachable():
			k.due, k.failures = d.clock.Now().Add(pause(RetryAfter, RetryAtMost, k.failures)), k.failures+1
		default:
			k.due = d.clock.Now().Add(answerInterval)
		}
	})
	d.mends.Add(t)
	return 0, nil
}

// nextKept returns the kept report of a cluster that has been due longest. If none is due, it returns nil and the time until the next one.
func (s *store) nextKept(c *cluster) (report *workv1.ManifestWork, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next *kept
	for _, r := range c.records {
		if r.kept != nil && (next == nil || r.kept.due.Before(next.due)) {
			next = r.kept
		}
	}
	if next == nil {
		return nil, 0
	}
	if wait = next.due.Sub(s.clock.Now()); wait > 0 {
		return nil, wait
	}
	return next.report, 0
}

// mend processes a report that could not be processed at once.
func (d *Driver) mend(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	found := d.store.report(report)
	if found == unknown {
		found = d.afterWrite(report)
	}
	switch found {
	case noted:
	case unknown:
		again, err = d.restore(ctx, report)
	default:
		again, err = d.renew(ctx, report)
	}
	switch {
	case err != nil:
	case again == 0:
		d.done(report)
	default:
		d.store.onKept(report.UID, func(k *kept) { k.considered = true })
	}
	return again, err
}

// afterWrite processes a report when no write of its work is in progress: an agent may report new content before the write has ended.
func (d *Driver) afterWrite(report *workv1.ManifestWork) verdict {
	defer d.lock(report.UID)()
	return d.store.report(report)
}

// renew sends a work again, with a generation that its agent can't mistake for an old one. The agent has lost the work, or has a generation
// that is newer than this hub's.
func (d *Driver) renew(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	defer d.lock(report.UID)()
	// An agent may report new content before the write of it has ended. With the lock held, the write has ended (P5).
	switch d.store.report(report) {
	case noted:
		return 0, nil
	case unknown:
		return confirmAfter, nil
	case unsure:
		// The write failed, but the agent has the new content. Its writer retries: sending the work that the hub still holds would revert the
		// cluster for a moment (P5).
		if wait := confirmAfter - d.unexpectedFor(report.UID); wait > 0 {
			return wait, nil
		}
	}
	before := d.store.get(report.UID)
	if before == nil || !before.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	if wait := d.renewPause(report); wait > 0 {
		return wait, nil
	}
	klog.FromContext(ctx).Info("Sending a ManifestWork again: its agent does not have the expected content",
		"cluster", before.Namespace, "name", before.Name, "generation", before.Generation, "agents", report.Generation)
	renewed := copyOf(before)
	renewed.Generation = d.store.nextGeneration(before, report.Generation+1)
	if _, bears := renewed.Annotations[workv1alpha1.AnnotationAppliedAt]; bears {
		renewed.Annotations[workv1alpha1.AnnotationAppliedAt] = d.clock.Now().UTC().Format(time.RFC3339Nano)
	}
	if err := d.publishSpec(ctx, eventtypes.UpdateRequestAction, renewed, d.store.contents.of(&before.Spec)); err != nil {
		return 0, err
	}
	d.store.put(renewed)
	return 0, nil
}

// renewPause returns how much longer a work has to wait before it is sent again. If that is zero, it counts the renewal. Until the work is
// sent, its agent reports nothing new, and nothing waits for its reports.
func (d *Driver) renewPause(report *workv1.ManifestWork) (wait time.Duration) {
	s, now := d.store, d.clock.Now()
	s.mu.Lock()
	r := s.records[report.UID]
	if r != nil {
		wait = r.renewals.wait(now)
	}
	s.mu.Unlock()
	if wait == 0 {
		wait = d.mayRepair(report.Namespace)
	}
	if wait > 0 {
		d.unexpectedFor(report.UID)
		return wait
	}
	if r != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.renewals.note(now)
	}
	return 0
}

// unexpectedFor returns for how long the agent of a work has reported content that the hub does not expect.
func (d *Driver) unexpectedFor(uid types.UID) (since time.Duration) {
	now := d.clock.Now()
	d.store.onKept(uid, func(k *kept) {
		if k.unexpected.IsZero() {
			k.unexpected = now
		}
		since = now.Sub(k.unexpected)
	})
	return since
}
