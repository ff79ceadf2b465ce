package cloudevents

import (
	"context"
	"time"

	"golang.org/x/time/rate"
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

// lanes hold, for each cluster, the works whose reports can't be processed at once: the store does not know the work, or the agent does not
// have the expected content. Processing them may wait for the API server or the broker. Clusters take turns, and other reports are not
// delayed.
type lanes struct {
	// waiting are the works of each cluster in the order of their reports; queued holds the same works.
	waiting map[string][]types.UID
	queued  map[types.UID]bool
	// repairs limit the actions that each cluster causes.
	repairs map[string]*rate.Limiter
}

func newLanes() lanes {
	return lanes{waiting: map[string][]types.UID{}, queued: map[types.UID]bool{}, repairs: map[string]*rate.Limiter{}}
}

// line adds a work, and reports whether it was not queued already.
func (l *lanes) line(cluster string, uid types.UID) bool {
	if l.queued[uid] {
		return false
	}
	l.queued[uid] = true
	l.waiting[cluster] = append(l.waiting[cluster], uid)
	return true
}

// next removes the next work of a cluster, and reports whether there are more.
func (l *lanes) next(cluster string) (uid types.UID, more bool) {
	waiting := l.waiting[cluster]
	if len(waiting) == 0 {
		return "", false
	}
	uid = waiting[0]
	delete(l.queued, uid)
	if waiting = waiting[1:]; len(waiting) > 0 {
		l.waiting[cluster] = waiting
		return uid, true
	}
	delete(l.waiting, cluster)
	return uid, false
}

// mayRepair returns how much longer the reports of a cluster have to wait before they may cause an action. If that is zero, it counts the
// action.
func (d *Driver) mayRepair(cluster string) (wait time.Duration) {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	limiter := d.lanes.repairs[cluster]
	if limiter == nil {
		limiter = rate.NewLimiter(repairsPerSecond, repairsAtOnce)
		d.lanes.repairs[cluster] = limiter
	}
	reservation := limiter.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// linedUp puts the report of a work in its cluster's lane.
func (d *Driver) linedUp(cluster string, uid types.UID) {
	d.mu.Lock()
	lined := d.lanes.line(cluster, uid)
	d.mu.Unlock()
	if lined {
		d.mends.Add(Task{cluster: cluster, mend: true})
	}
}

// mendNext looks at the next report in the lane of a cluster, and lets other clusters have their turn.
func (d *Driver) mendNext(ctx context.Context, cluster string) error {
	d.mu.Lock()
	uid, more := d.lanes.next(cluster)
	report := d.reports[uid]
	d.mu.Unlock()
	if more {
		d.mends.Add(Task{cluster: cluster, mend: true})
	}
	if report == nil {
		return nil
	}
	again, err := d.mend(ctx, report)
	d.later(ctx, d.mends, Task{uid: uid}, again, err)
	return nil
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
		d.mu.Lock()
		d.considered[report.UID] = true
		d.mu.Unlock()
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
	// An agent may report new content before the write of it has ended. By this point it has ended (P5).
	switch d.store.report(report) {
	case noted:
		return 0, nil
	case unknown:
		return d.confirmAfter, nil
	case unsure:
		if wait := d.retryFirst(report.UID); wait > 0 {
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
	d.store.renewed(report.UID, d.confirmAfter)
	klog.FromContext(ctx).Info("Sending a ManifestWork again, its agent does not have what it should have",
		"cluster", before.Namespace, "name", before.Name, "generation", before.Generation, "agents", report.Generation)
	renewed := copyOf(before)
	renewed.Generation = d.store.nextGeneration(report.UID, report.Generation+1)
	if _, bears := renewed.Annotations[workv1alpha1.AnnotationAppliedAt]; bears {
		renewed.Annotations[workv1alpha1.AnnotationAppliedAt] = d.clock.Now().UTC().Format(time.RFC3339Nano)
	}
	if err := d.publishSpec(ctx, eventtypes.UpdateRequestAction, renewed, d.store.contents.of(&before.Spec)); err != nil {
		return 0, err
	}
	d.store.put(renewed)
	return 0, nil
}

// renewPause returns how much longer a work has to wait before it is sent again. Reports of its agent during that time contain nothing new,
// and nothing waits for them.
func (d *Driver) renewPause(report *workv1.ManifestWork) time.Duration {
	wait := d.store.renewPause(report.UID, d.confirmAfter)
	if wait == 0 {
		wait = d.mayRepair(report.Namespace)
	}
	if wait > 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		if _, seen := d.unexpectedSince[report.UID]; !seen {
			d.unexpectedSince[report.UID] = d.clock.Now()
		}
	}
	return wait
}

// retryFirst is how much longer the writer of a work may take to retry. The write failed, but the agent has the new content: sending the
// work that the hub still holds would revert the cluster for a moment (P5).
func (d *Driver) retryFirst(uid types.UID) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if _, seen := d.unexpectedSince[uid]; !seen {
		d.unexpectedSince[uid] = now
	}
	return d.confirmAfter - now.Sub(d.unexpectedSince[uid])
}
