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
	// confirmAfter is how long an agent may take to tell anything of what it was sent, at first. Each time that it is sent again it
	// may take twice as long: most agents that say nothing are offline, and ask by themselves when they are back.
	confirmAfter = 15 * time.Second
	// maxDoublings bounds that: about a quarter of an hour.
	maxDoublings = 6
)

// expectWord makes sure that what was sent is looked after.
func (d *Driver) expectWord(uid types.UID) {
	d.mu.Lock()
	wait := d.confirmAfter << d.resent[uid]
	d.mu.Unlock()
	d.tasks.AddAfter(task{uid: uid, confirm: true}, wait)
}

// confirm sends a work again whose agent has said nothing about its generation, or that was deleted and is not gone: an event that a
// broker loses must not become a failed rollout (R11). The agent takes the same generation twice, and nothing happens.
func (d *Driver) confirm(ctx context.Context, uid types.UID) (again time.Duration, err error) {
	defer d.lock(uid)()
	work := d.store.get(uid)
	d.mu.Lock()
	if work == nil || confirmed(work) {
		delete(d.resent, uid)
		d.mu.Unlock()
		return 0, nil
	}
	if !d.link.up.Load() {
		d.mu.Unlock()
		return d.confirmAfter, nil
	}
	d.resent[uid] = min(d.resent[uid]+1, maxDoublings)
	d.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Sending a ManifestWork again, its agent has not told anything of it",
		"cluster", work.Namespace, "name", work.Name, "generation", work.Generation)
	if err := d.publish(ctx, eventtypes.ResyncResponseAction, work); err != nil {
		return d.confirmAfter, nil //nolint:nilerr // Whoever wrote it was told; here it is only tried again.
	}
	return 0, d.ask(ctx, work.Namespace)
}

// confirmed says whether an agent has told anything of what the work is by now.
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
