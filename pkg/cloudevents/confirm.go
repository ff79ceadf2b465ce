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
	// confirmAfter is the initial time in which an agent must report a write. The time doubles each time the write is
	// sent again, because most silent agents are offline, and ask for their works when they reconnect.
	confirmAfter = 15 * time.Second
	// unsettledAfter is the initial time that a cluster may be in progress before its agent is asked. The time doubles
	// after each question.
	unsettledAfter = time.Minute
	// longestPause is the maximum of both times.
	longestPause = 16 * time.Minute
	// auditInterval is the interval at which all agents are asked for their works. Otherwise an agent reports only
	// changes, and a lost report would never be repeated.
	auditInterval = 30 * time.Minute
)

// pause returns the time to wait after a number of attempts without a result. It doubles with each attempt.
func pause(first, longest time.Duration, times int) time.Duration {
	return min(first<<min(times, 16), longest)
}

// write is a write of a work that no agent has confirmed, or whose cluster is not settled.
type write struct {
	// at is the time of the first send, and sent is the time of the last send.
	at, sent time.Time
	// due is the time at which to check whether the write was confirmed, and looks is the number of checks so far.
	due   time.Time
	looks int
	// there is true if the agent, or its cluster, was connected when the write was last sent again.
	there bool
}

// lookAfter starts the timer of a write, which replaces an older write of the same work.
func (d *Driver) lookAfter(work *workv1.ManifestWork, wait time.Duration) {
	s, now := d.store, d.clock.Now()
	s.mu.Lock()
	s.record(work.Namespace, work.UID).write = &write{at: now, sent: now, due: now.Add(wait)}
	s.mu.Unlock()
	d.sends.AddAfter(confirmTask{work.UID}, wait)
}

// again schedules the next check of a write, and returns the time until then.
func (d *Driver) again(w *write, there bool, wait time.Duration) time.Duration {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	w.looks++
	w.there, w.due = there, d.clock.Now().Add(wait)
	return wait
}

// expectAnswers starts the timers of all works, because their agents are about to be asked. A restarted agent has lost
// its works, and does not answer. If its own question was lost too, only these timers detect that.
func (d *Driver) expectAnswers(ctx context.Context) error {
	works, _ := d.store.in(metav1.NamespaceAll)
	for _, work := range works {
		switch gone, err := d.dropOwnerless(ctx, work); {
		case err != nil:
			return err
		case gone:
			continue
		}
		d.store.mu.Lock()
		r := d.store.records[work.UID]
		looked := r == nil || r.write != nil
		if r != nil && confirmed(work) {
			r.unanswered = true
		}
		d.store.mu.Unlock()
		if !looked {
			d.lookAfter(work, confirmAfter+d.link.agentReturn) // A reconnecting agent asks for its works by itself.
		}
	}
	return nil
}

// confirmTask sends a work again if its agent has not reported the work's generation, or has not confirmed its
// deletion: an event that a broker loses must not fail a rollout. An agent that receives the same generation twice does
// nothing. If a cluster has been in progress for a long time, its agent is asked, because the last report may have been
// lost. The writers' lock is taken only for a deletion, because a writer may be waiting for the broker.
type confirmTask struct{ uid types.UID }

func (t confirmTask) perform(ctx context.Context, d *Driver) (again time.Duration, err error) {
	l := d.look(t.uid)
	switch {
	case l.write == nil || l.wait > 0:
		return l.wait, nil
	case l.unread || !d.Reachable():
		return confirmAfter, nil
	case l.arrived:
		return d.askUnsettled(ctx, l)
	}
	there := d.judgeReach(ctx, l)
	klog.FromContext(ctx).V(2).Info("Sending a ManifestWork again: its agent has reported nothing about it",
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

// look is the state of a write when its timer fires.
type look struct {
	record *record
	work   *workv1.ManifestWork
	// write is nil if there is nothing to confirm; was is a copy of write.
	write *write
	was   write
	// wait is the remaining time of the current write, if the timer belonged to an older write.
	wait time.Duration
	// arrived is true if the agent reported the write, and unread is true if a report of the work is not processed yet.
	arrived, unread bool
}

// look checks whether a write was confirmed. If the write was confirmed and the cluster has settled, the write is done.
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

// askUnsettled asks the agent of a cluster that has been in progress for a long time. The first check does not ask,
// because most clusters settle soon.
func (d *Driver) askUnsettled(ctx context.Context, l look) (again time.Duration, err error) {
	again = d.again(l.write, false, pause(unsettledAfter, longestPause, l.was.looks))
	if l.was.looks == 0 || !d.mayAsk(l.work.Namespace) {
		return again, nil
	}
	return again, d.link.ask(ctx, l.work.Namespace)
}

// mayAsk reports whether an agent may be asked. An agent answers for all of its works at once, so it is asked at most once per
// confirmAfter.
func (d *Driver) mayAsk(cluster string) bool {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return remaining(&d.store.cluster(cluster).asked, d.clock.Now(), confirmAfter) == 0
}

// remaining returns the time until an interval has passed since last. If no time remains, it sets last to now.
func remaining(last *time.Time, now time.Time, interval time.Duration) (wait time.Duration) {
	if wait = last.Add(interval).Sub(now); wait > 0 {
		return wait
	}
	*last = now
	return 0
}

// settled reports whether the agent reports the current generation of a work as available, and neither progressing nor degraded.
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
	if gone, err := d.dropOwnerless(ctx, work); gone || err != nil {
		return err
	}
	if err := d.send(ctx, eventtypes.ResyncResponseAction, work, d.store.contents.contentOf(&work.Spec)); err != nil {
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

// confirmed reports whether an agent has reported anything about the current generation of a work.
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
