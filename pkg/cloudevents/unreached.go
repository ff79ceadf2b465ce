package cloudevents

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
)

// write is a write of a work that no agent has confirmed.
type write struct {
	number uint64
	// at is the time of the first send, and sent the time of the last.
	at, sent time.Time
}

// judgeReach notes whether an agent that has not confirmed a write is unreached. An agent is unreached if its work was sent again and its
// state requested, the agent or its cluster has been available since then, and the agent still does not report the write. Then another
// client has its client ID, or it lost its connection and did not notice. An agent that is offline is not unreached. judgeReach reports
// whether the agent or its cluster is available.
func (d *Driver) judgeReach(ctx context.Context, t Task, work *workv1.ManifestWork) (there bool) {
	d.mu.Lock()
	w := d.writes[t.uid]
	d.mu.Unlock()
	if up := d.link.upSince.Load(); up != nil && d.clock.Since(*up) < d.link.agentReturn {
		return false // Agents are reconnecting.
	}
	if there = d.heard.after(work.Namespace, w.sent); !there && t.times > 0 && d.available != nil {
		there, _ = d.available(ctx, work.Namespace)
	}
	reported := d.store.wordOf(t.uid).After(w.at)
	if !there || !t.there || reported && (!work.DeletionTimestamp.IsZero() || d.store.reportedGeneration(t.uid) >= work.Generation) {
		return there // A slow agent, or one that reports nothing new until its deletion is done.
	}
	d.mu.Lock()
	_, known := d.unreached[t.uid]
	d.unreached[t.uid] = work.Namespace
	d.mu.Unlock()
	if known {
		return there
	}
	klog.FromContext(ctx).Info("An agent does not receive what the hub sends: restart it, and check that no other client uses its client ID",
		"cluster", work.Namespace, "name", work.Name, "generation", work.Generation)
	d.countUnreached()
	d.store.touch(t.uid)
	return there
}

// noteSent records that a write was sent again.
func (d *Driver) noteSent(t Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.writes[t.uid]; w.number == t.write {
		w.sent = d.clock.Now()
		d.writes[t.uid] = w
	}
}

// echoed records that the agent of a work may have confirmed the last write.
func (d *Driver) echoed(uid types.UID) {
	d.mu.Lock()
	_, known := d.unreached[uid]
	d.mu.Unlock()
	if work := d.store.get(uid); !known || work != nil && !confirmed(work) {
		return
	}
	d.mu.Lock()
	delete(d.unreached, uid)
	d.mu.Unlock()
	d.countUnreached()
	d.store.touch(uid)
}

func (d *Driver) countUnreached() {
	d.mu.Lock()
	clusters := map[string]bool{}
	for _, cluster := range d.unreached {
		clusters[cluster] = true
	}
	d.mu.Unlock()
	d.metrics.AgentsUnreached(len(clusters))
}

// Unreached reports whether the agent of a work is available but does not receive the hub's events.
func (d *Driver) Unreached(work types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, unreached := d.unreached[work]
	return unreached
}
