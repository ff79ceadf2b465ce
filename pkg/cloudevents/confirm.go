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
	// unsettledAfter is how long a cluster may be under way before its agent is asked, at first. Each time after that it may take twice as
	// long.
	unsettledAfter = time.Minute
	// longestPause bounds both.
	longestPause = 16 * time.Minute
	// auditInterval is how often all agents are asked what they have. An agent answers when it is asked, and otherwise says only what is
	// new: what was lost would stay unknown for ever.
	auditInterval = 30 * time.Minute
)

// pause returns how long to wait after something was done a number of times in vain: twice as long each time.
func pause(first, longest time.Duration, times int) time.Duration {
	return min(first<<min(times, 16), longest)
}

// write is a write of a work that no agent has confirmed, or whose cluster is not settled.
type write struct {
	// at is the time of the first send, and sent the time of the last.
	at, sent time.Time
	// due is when to look whether it was confirmed, and looks how often that was done.
	due   time.Time
	looks int
	// there is true if the agent, or its cluster, was connected when it was last sent again.
	there bool
}

// lookAfter starts the timer of a write, which takes the place of an older write of the same work.
func (d *Driver) lookAfter(work *workv1.ManifestWork, wait time.Duration) {
	s, now := d.store, d.clock.Now()
	s.mu.Lock()
	s.record(work.Namespace, work.UID).write = &write{at: now, sent: now, due: now.Add(wait)}
	s.mu.Unlock()
	d.sends.AddAfter(confirmTask{work.UID}, wait)
}

// again returns when to look at a write the next time.
func (d *Driver) again(w *write, there bool, wait time.Duration) time.Duration {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	w.looks++
	w.there, w.due = there, d.clock.Now().Add(wait)
	return wait
}

// expectAnswers looks after all works, whose agents are about to be asked. An agent that was restarted has lost its works, and answers
// nothing; where its own question was lost, nobody else would notice.
func (d *Driver) expectAnswers() {
	works, _ := d.store.in(metav1.NamespaceAll)
	for _, work := range works {
		d.store.mu.Lock()
		r := d.store.records[work.UID]
		looked := r == nil || r.write != nil
		if r != nil && confirmed(work) {
			r.unanswered = true
		}
		d.store.mu.Unlock()
		if !looked {
			d.lookAfter(work, confirmAfter+d.link.agentReturn) // An agent that is on its way back asks by itself.
		}
	}
}

// confirmTask sends a work again whose agent has said nothing about its generation, or that was deleted and is not gone: an event that a
// broker loses must not become a failed rollout. The agent takes the same generation twice, and nothing happens. If a cluster has
// been in progress for long, its agent is asked: the last report may have been lost. A writer's lock is taken only for a deletion, because
// a writer may be waiting for the broker.
type confirmTask struct{ uid types.UID }

func (t confirmTask) do(ctx context.Context, d *Driver) (again time.Duration, err error) {
	l := d.look(t.uid)
	switch {
	case l.write == nil || l.wait > 0:
		return l.wait, nil
	case l.unread || !d.link.up.Load():
		return confirmAfter, nil
	case l.arrived:
		return d.askUnsettled(ctx, l)
	}
	there := d.judgeReach(ctx, l)
	klog.FromContext(ctx).V(2).Info("Sending a ManifestWork again, its agent has not reported anything of it",
		"cluster", l.work.Namespace, "name", l.work.Name, "generation", l.work.Generation)
	if err := d.resend(ctx, t.uid); err != nil {
		return confirmAfter, nil //nolint:nilerr // The writer got the error; here the write is only retried.
	}
	d.metrics.EventResent()
	d.store.mu.Lock()
	l.write.sent = d.clock.Now()
	d.store.mu.Unlock()
	if err := d.link.ask(ctx, l.work.Namespace); err != nil {
		return 0, err
	}
	return d.again(l.write, there, pause(confirmAfter, longestPause, l.was.looks+1)), nil
}

// look is what is known of a write when its timer fires.
type look struct {
	record *record
	work   *workv1.ManifestWork
	// write is nil if there is nothing to confirm, and was its content.
	write *write
	was   write
	// wait is for how much longer nothing is to be done, because this was the timer of an older write.
	wait time.Duration
	// arrived is true if the agent reported the write, and unread if it reported something that is not processed yet.
	arrived, unread bool
}

// look looks whether a write was confirmed. If it was, and the cluster has settled, the write is done.
func (d *Driver) look(uid types.UID) (l look) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[uid]
	if r == nil || r.write == nil {
		return look{}
	}
	if wait := r.write.due.Sub(d.clock.Now()); wait > 0 {
		return look{wait: wait}
	}
	arrived := r.work != nil && confirmed(r.work) && !r.unanswered
	if r.work == nil || arrived && settled(r.work) {
		r.write, r.unanswered = nil, false
		d.echoed(r)
		s.release(r)
		return look{}
	}
	return look{record: r, work: r.work, write: r.write, was: *r.write, arrived: arrived, unread: r.kept != nil}
}

// askUnsettled asks the agent of a cluster that is under way for long. At the first look it is not: most clusters are there soon.
func (d *Driver) askUnsettled(ctx context.Context, l look) (again time.Duration, err error) {
	again = d.again(l.write, false, pause(unsettledAfter, longestPause, l.was.looks))
	if l.was.looks == 0 || !d.mayAsk(l.work.Namespace) {
		return again, nil
	}
	return again, d.link.ask(ctx, l.work.Namespace)
}

// mayAsk reports whether an agent was not asked a moment ago: it answers for all of its works at once.
func (d *Driver) mayAsk(cluster string) bool {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return remaining(&d.store.cluster(cluster).asked, d.clock.Now(), confirmAfter) == 0
}

// remaining returns how much longer to wait until an interval since the last time has passed. If that is zero, the last time is now.
func remaining(last *time.Time, now time.Time, interval time.Duration) (wait time.Duration) {
	if wait = last.Add(interval).Sub(now); wait > 0 {
		return wait
	}
	*last = now
	return 0
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
