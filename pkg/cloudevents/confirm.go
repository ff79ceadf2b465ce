package cloudevents

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// unsettledAfter is how long a cluster may be under way before its agent is asked, at first. Each time after that it may take twice as
	// long.
	unsettledAfter = time.Minute
	// unsettledDoublings bounds that: about a quarter of an hour.
	unsettledDoublings = 4
	// auditInterval is how often all agents are asked what they have. An agent answers when it is asked, and otherwise says only what is
	// new: what was lost would stay unknown for ever.
	auditInterval = 30 * time.Minute
)

// expectWord starts the timer of a write. A timer of an older write of the same work does nothing from here on.
func (d *Driver) expectWord(uid types.UID) { d.lookAfter(uid, d.confirmAfter) }

// lookAfter starts the timer of a work, which takes the place of the one that it had.
func (d *Driver) lookAfter(uid types.UID, wait time.Duration) {
	d.mu.Lock()
	d.lastWrite++
	now := d.clock.Now()
	d.writes[uid] = write{number: d.lastWrite, at: now, sent: now}
	t := Task{uid: uid, write: d.lastWrite}
	d.mu.Unlock()
	d.sends.AddAfter(t, wait)
}

// expectAnswers looks after all works, whose agents are about to be asked. An agent that was restarted has lost its works, and answers
// nothing; where its own question was lost, nobody else would notice.
func (d *Driver) expectAnswers() {
	for _, work := range d.store.all() {
		d.mu.Lock()
		_, looked := d.writes[work.UID]
		if confirmed(work) {
			d.unanswered[work.UID] = true
		}
		d.mu.Unlock()
		if !looked {
			d.lookAfter(work.UID, d.confirmAfter+d.link.agentReturn) // An agent that is on its way back asks by itself.
		}
	}
}

// confirm sends a work again whose agent has said nothing about its generation, or that was deleted and is not gone: an event that a
// broker loses must not become a failed rollout (R11). The agent takes the same generation twice, and nothing happens. If a cluster has
// been in progress for long, its agent is asked: the last report may have been lost. confirm takes a writer's lock only for a deletion,
// because a writer may be waiting for the broker.
func (d *Driver) confirm(ctx context.Context, t Task) error {
	work := d.store.get(t.uid)
	d.mu.Lock()
	wait := d.confirmAfter
	switch {
	case d.writes[t.uid].number != t.write:
		d.mu.Unlock()
		return nil // A newer write has a timer of its own.
	case work == nil || confirmed(work) && settled(work) && !d.unanswered[t.uid]:
		delete(d.writes, t.uid)
		delete(d.unanswered, t.uid)
		d.mu.Unlock()
		d.echoed(t.uid)
		return nil
	}
	_, unread := d.reports[t.uid]
	arrived := confirmed(work) && !d.unanswered[t.uid]
	d.mu.Unlock()
	if unread || !d.link.up.Load() {
		d.sends.AddAfter(t, wait)
		return nil
	}
	if arrived {
		return d.askUnsettled(ctx, t, work.Namespace)
	}
	there := d.judgeReach(ctx, t, work)
	klog.FromContext(ctx).V(2).Info("Sending a ManifestWork again, its agent has not reported anything of it",
		"cluster", work.Namespace, "name", work.Name, "generation", work.Generation)
	if err := d.resend(ctx, t.uid); err != nil {
		d.sends.AddAfter(t, wait)
		return nil //nolint:nilerr // The writer got the error; here the write is only retried.
	}
	d.metrics.EventResent()
	d.noteSent(t)
	again := Task{uid: t.uid, write: t.write, times: min(t.times+1, maxDoublings), there: there}
	d.sends.AddAfter(again, wait<<again.times)
	return d.ask(ctx, work.Namespace)
}

// askUnsettled asks the agent of a cluster that is under way for long. At the first look it is not: most clusters are there soon.
func (d *Driver) askUnsettled(ctx context.Context, t Task, cluster string) error {
	again := Task{uid: t.uid, write: t.write, times: min(t.times+1, unsettledDoublings+1)}
	d.sends.AddAfter(again, unsettledAfter<<(again.times-1))
	if t.times == 0 || !d.mayAsk(cluster) {
		return nil
	}
	return d.ask(ctx, cluster)
}

// mayAsk reports whether an agent was not asked a moment ago: it answers for all of its works at once.
func (d *Driver) mayAsk(cluster string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if last, asked := d.askedAt[cluster]; asked && now.Sub(last) < d.confirmAfter {
		return false
	}
	d.askedAt[cluster] = now
	return true
}

// settled reports whether a cluster has got there, by what its agent said of today's generation.
func settled(work *workv1.ManifestWork) bool {
	available := false
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		switch {
		case c.ObservedGeneration != work.Generation:
		case c.Type == workv1.WorkAvailable:
			available = c.Status == metav1.ConditionTrue
		case c.Type == workv1.WorkProgressing && c.Status != metav1.ConditionFalse,
			c.Type == workv1.WorkDegraded && c.Status == metav1.ConditionTrue:
			return false
		}
	}
	return available
}

// resend sends the current version of a work again. If the work is deleted in the meantime, the deletion is sent last.
func (d *Driver) resend(ctx context.Context, uid types.UID) error {
	work := d.store.get(uid)
	if work == nil {
		return nil
	}
	if !work.DeletionTimestamp.IsZero() {
		return d.resendDeletion(ctx, work)
	}
	if err := d.send(ctx, eventtypes.ResyncResponseAction, work, d.store.contents.of(&work.Spec)); err != nil {
		return err
	}
	if now := d.store.get(uid); now != nil && now.DeletionTimestamp.IsZero() {
		return nil
	}
	return d.resendDeletion(ctx, work)
}

// resendDeletion sends the deletion of a work again, unless the work has been recreated. No writer may recreate it during the send: an
// agent deletes the work regardless of the generation in the deletion event.
func (d *Driver) resendDeletion(ctx context.Context, work *workv1.ManifestWork) error {
	defer d.lock(work.UID)()
	if now := d.store.get(work.UID); now != nil && now.DeletionTimestamp.IsZero() {
		return nil
	}
	return d.send(ctx, eventtypes.DeleteRequestAction, d.deleting(work), nil)
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
