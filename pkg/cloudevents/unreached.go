package cloudevents

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// judgeReach records whether an agent that has not confirmed a write is unreached. An agent is unreached if its work
// was sent again and its state was requested, the agent or its cluster has been available since then, and the agent
// still does not report the write. In that case, another client uses its client ID, or the agent lost its connection
// without noticing. An agent that is offline is not unreached. judgeReach reports whether the agent or its cluster is
// available.
func (d *Driver) judgeReach(ctx context.Context, l look) (there bool) {
	if up := d.link.upSince.Load(); up != nil && d.clock.Since(*up) < d.link.agentReturn {
		return false // Agents are reconnecting.
	}
	d.store.mu.Lock()
	there = l.record.cluster.heardLast.After(l.was.sent)
	d.store.mu.Unlock()
	if !there && l.was.looks > 0 && d.available != nil {
		there, _ = d.available(ctx, l.work.Namespace)
	}
	if !there || !l.was.there || !d.noteUnreached(l) {
		return there
	}
	klog.FromContext(ctx).Info("An agent does not receive what the hub sends: restart it, and check that no other client uses its client ID",
		"cluster", l.work.Namespace, "name", l.work.Name, "generation", l.work.Generation)
	return there
}

// noteUnreached marks a work whose agent is available as unreached, unless the agent has reported since the write. It reports whether it
// marked the work.
func (d *Driver) noteUnreached(l look) bool {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	r := l.record
	reported := r.wordAt.After(l.was.at)
	if r.unreached || reported && (isDeleting(l.work) || r.reported >= l.work.Generation) {
		return false // The agent is slow, or reports nothing new until a deletion is done.
	}
	d.setUnreached(r, true)
	return true
}

// echoed records that the agent of a work may have confirmed the last write. The caller holds the store's mutex.
func (d *Driver) echoed(r *record) {
	if r.unreached && (r.work == nil || confirmed(r.work)) {
		d.setUnreached(r, false)
	}
}

// setUnreached marks a work, and counts the clusters with marked works. The caller holds the store's mutex.
func (d *Driver) setUnreached(r *record, unreached bool) {
	r.unreached = unreached
	change, counts := 1, 1
	if !unreached {
		change, counts = -1, 0
	}
	if r.cluster.unreached += change; r.cluster.unreached == counts {
		d.store.unreached += change
		d.metrics.AgentsUnreached(d.store.unreached)
	}
	d.store.touch(r)
}

// Unreached reports whether the agent of a work is available but does not receive the hub's events.
func (d *Driver) Unreached(work types.UID) bool {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	r := d.store.records[work]
	return r != nil && r.unreached
}
