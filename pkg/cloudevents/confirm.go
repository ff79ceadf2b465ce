package cloudevents

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	// confirmAfter is how long an agent may take to report anything of what it was sent, at first. Each time that it is sent again it
	// may take twice as long: most agents that say nothing are offline, and ask by themselves when they are back.
	confirmAfter = 15 * time.Second
	// maxDoublings bounds that: about a quarter of an hour.
	maxDoublings = 6
)

// expectWord starts the timer of a write. A timer of an older write of the same work does nothing from here on.
func (d *Driver) expectWord(uid types.UID) {
	d.mu.Lock()
	d.lastWrite++
	d.writes[uid] = d.lastWrite
	t := task{uid: uid, write: d.lastWrite}
	wait := d.confirmAfter
	d.mu.Unlock()
	d.sends.AddAfter(t, wait)
}

// confirm sends a work again whose agent has said nothing about its generation, or that was deleted and is not gone: an event that a
// broker loses must not become a failed rollout (R11). The agent takes the same generation twice, and nothing happens. It takes no
// writer's lock: a writer may wait for the broker.
func (d *Driver) confirm(ctx context.Context, t task) error {
	work := d.store.get(t.uid)
	d.mu.Lock()
	wait := d.confirmAfter
	switch {
	case d.writes[t.uid] != t.write:
		d.mu.Unlock()
		return nil // A newer write has a timer of its own.
	case work == nil || confirmed(work):
		delete(d.writes, t.uid)
		d.mu.Unlock()
		return nil
	}
	_, unread := d.reports[t.uid]
	d.mu.Unlock()
	if unread || !d.link.up.Load() {
		d.sends.AddAfter(t, wait)
		return nil
	}
	klog.FromContext(ctx).V(2).Info("Sending a ManifestWork again, its agent has not reported anything of it",
		"cluster", work.Namespace, "name", work.Name, "generation", work.Generation)
	if err := d.resend(ctx, work); err != nil {
		d.sends.AddAfter(t, wait)
		return nil //nolint:nilerr // Whoever wrote it was told; here it is only tried again.
	}
	d.metrics.EventResent()
	again := task{uid: t.uid, write: t.write, times: min(t.times+1, maxDoublings)}
	d.sends.AddAfter(again, wait<<again.times)
	return d.ask(ctx, work.Namespace)
}

// resend sends what the hub has of a work. Where that was deleted in the meantime, the deletion comes last.
func (d *Driver) resend(ctx context.Context, work *workv1.ManifestWork) error {
	if err := d.send(ctx, eventtypes.ResyncResponseAction, work, d.store.contents.of(&work.Spec)); err != nil {
		return err
	}
	now := d.store.get(work.UID)
	switch {
	case now != nil && (now.DeletionTimestamp.IsZero() || !work.DeletionTimestamp.IsZero()):
		return nil
	case now == nil:
		now = d.deleting(work)
	}
	return d.send(ctx, eventtypes.DeleteRequestAction, now, nil)
}

// confirmed reports whether an agent has said anything of what the work is by now.
func confirmed(work *workv1.ManifestWork) bool {
	if !work.DeletionTimestamp.IsZero() {
		return false
	}
	for i := range work.Status.Conditions {
		if work.Status.Conditions[i].ObservedGeneration == work.Generation {
			return true
		}
	}
	return false
}
