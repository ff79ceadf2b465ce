package cloudevents

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// renewalsAtOnce is the number of times a work is sent again without a pause if its agent reports a newer generation,
	// and renewalPause is the pause after that. This limits the load from an agent that always reports a newer generation,
	// or from another hub with the same source ID.
	renewalsAtOnce = 3
	renewalPause   = longestPause / 2
)

// mendTask processes a report that could not be processed immediately. It may wait for the API server or the broker.
type mendTask struct{ uid types.UID }

func (t mendTask) perform(ctx context.Context, d *Driver) (again time.Duration, err error) {
	var report *workv1.ManifestWork
	d.store.onKept(t.uid, func(k *kept) { report = k.report })
	if report == nil {
		return 0, nil
	}
	if again, err = d.mend(ctx, report); err != nil {
		err = fmt.Errorf("processing the report of ManifestWork %s/%s: %w", report.Namespace, report.Name, err)
	}
	return again, err
}

// mend processes a report that could not be processed immediately. An agent may report new content before the write of
// that content has ended. mend holds the lock of the work, so the write has ended (P5).
func (d *Driver) mend(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	defer d.lock(report.UID)()
	switch d.store.report(report) {
	case noted:
	case unknown:
		again, err = d.restore(ctx, report)
	case unsure:
		// The write failed, but the agent has the new content. The writer will retry. Sending the work that the hub
		// still holds would briefly revert the cluster (P5).
		if again = confirmAfter - d.unexpectedFor(report.UID); again <= 0 {
			again, err = d.renew(ctx, report)
		}
	case unexpectedGeneration:
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

// renew sends a work again, with a generation that its agent can't mistake for an old one. The agent has lost the work, or has a generation
// that is newer than this hub's. The caller holds the lock of the work.
func (d *Driver) renew(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	before := d.store.get(report.UID)
	if before == nil || !before.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	if gone, err := d.dropOwnerless(ctx, before); gone || err != nil {
		return 0, err
	}
	if err := d.reachable(); err != nil {
		return 0, err
	}
	if wait := d.mayRenew(report.UID); wait > 0 {
		d.unexpectedFor(report.UID) // The agent reports nothing new until the work is sent, so nothing waits for its reports.
		return wait, nil
	}
	klog.FromContext(ctx).Info("Sending a ManifestWork again: its agent does not have the expected content",
		"cluster", before.Namespace, "name", before.Name, "generation", before.Generation, "agents", report.Generation)
	renewed := copyOf(before)
	renewed.Generation = d.store.nextGeneration(before.Namespace, report.Generation+1)
	if _, bears := renewed.Annotations[workv1alpha1.AnnotationAppliedAt]; bears {
		renewed.Annotations[workv1alpha1.AnnotationAppliedAt] = d.clock.Now().UTC().Format(time.RFC3339Nano)
	}
	if err := d.publish(ctx, eventtypes.UpdateRequestAction, renewed, d.store.contents.contentOf(&before.Spec)); err != nil {
		return 0, err
	}
	d.store.put(renewed)
	d.countRenewal(report.UID)
	return 0, nil
}

// mayRenew returns how much longer a work must wait before it is sent again.
func (d *Driver) mayRenew(uid types.UID) (wait time.Duration) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	r := d.store.records[uid]
	if r == nil || r.renewals == nil {
		return 0
	}
	if missing := 1 - r.renewals.TokensAt(d.clock.Now()); missing > 0 {
		return time.Duration(missing * float64(renewalPause))
	}
	return 0
}

// countRenewal counts a work that was sent again. A work that could not be sent does not count.
func (d *Driver) countRenewal(uid types.UID) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	r := d.store.records[uid]
	if r == nil {
		return
	}
	if r.renewals == nil {
		r.renewals = rate.NewLimiter(rate.Every(renewalPause), renewalsAtOnce)
	}
	r.renewals.AllowN(d.clock.Now(), 1)
}

// unexpectedFor returns how long the agent of a work has been reporting content that the hub does not expect.
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
