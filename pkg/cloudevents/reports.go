package cloudevents

import (
	"context"
	"fmt"
	"math"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// maxGeneration is the largest generation that an agent may report. An event holds 31 bits of one, and above this this hub can still write
// for as long as it lives.
const maxGeneration = math.MaxInt32 - 1<<24

// received takes a report over, or keeps it where that has to wait.
func (d *Driver) received(ctx context.Context, event *cloudevents.Event) {
	work, err := d.codec.Decode(event)
	switch {
	case err != nil:
		d.metrics.EventRefused(string(RefusedKind))
		klog.FromContext(ctx).V(2).Info("Ignoring the report of an agent that can't be read", "error", err.Error())
		return
	case work.Generation < 0 || work.Generation > maxGeneration:
		d.metrics.EventRefused(string(RefusedGeneration))
		return
	}
	d.noteWord(work.UID)
	if d.store.report(work) == noted {
		d.done(work)
		d.echoed(work.UID)
		return
	}
	if !d.keep(work) {
		d.metrics.EventRefused(string(RefusedQuota))
		return
	}
	d.linedUp(work.Namespace, work.UID)
}

// readOutPatience is how long reports may take to be read before who waits for them has to try again.
const readOutPatience = 5 * time.Second

// readOut waits until every event that has come so far is handled, and the report of a work taken over. What the hub has not read yet is
// not silence (R11).
func (d *Driver) readOut(ctx context.Context, cluster string, uid types.UID) error {
	arrived, _ := d.link.progress()
	var isRead func() bool
	read := d.await(ctx, readOutPatience, func() bool {
		if _, handled := d.link.progress(); handled < arrived {
			return false
		}
		if isRead == nil {
			isRead = d.inbox.mark(cluster)
		}
		if !isRead() {
			return false
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		_, unread := d.reports[uid]
		return !unread || !d.unexpectedSince[uid].IsZero()
	})
	if !read {
		return fmt.Errorf("not within %s", readOutPatience)
	}
	return nil
}

// unread notes how many reports are not taken over.
func (d *Driver) unread() {
	arrived, handled := d.link.progress()
	d.mu.Lock()
	kept := len(d.reports)
	d.mu.Unlock()
	d.metrics.ReportsUnread(int(arrived-handled) + d.inbox.count() + kept)
}

// maxUnknown is how many works a cluster may report at once that this hub does not know: more than that are made up.
const maxUnknown = 500

// noteWord notes that the agent of a work has reported it.
func (d *Driver) noteWord(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unanswered, uid)
	if answered := d.expected[uid]; answered != nil {
		close(answered)
		delete(d.expected, uid)
	}
}

// keep keeps a report until it is taken over, unless the reports of its cluster take too much memory, or are of too many works that the hub
// does not know.
func (d *Driver) keep(work *workv1.ManifestWork) bool {
	work.Spec = workv1.ManifestWorkSpec{} // What an agent says of that does not count.
	bare(&work.Status)
	known, cost := d.store.get(work.UID) != nil, costOf(work)
	defer d.unread()
	d.mu.Lock()
	defer d.mu.Unlock()
	unknown := d.unknown[work.Namespace]
	if d.reports[work.UID] == nil && !known && len(unknown) >= maxUnknown {
		return false
	}
	before := d.kept[work.UID]
	d.memory.give(work.Namespace, before)
	if !d.memory.take(work.Namespace, cost) {
		d.memory.take(work.Namespace, before)
		return false
	}
	if d.reports[work.UID] == nil && !known {
		if unknown == nil {
			unknown = map[types.UID]bool{}
			d.unknown[work.Namespace] = unknown
		}
		unknown[work.UID] = true
	}
	d.reports[work.UID], d.kept[work.UID] = work, cost
	return true
}

// Do does the next task of one of the driver's queues. It reports whether there may be another.
func (d *Driver) Do(ctx context.Context, queue Queue) bool {
	t, over := queue.Get()
	if over {
		return false
	}
	defer queue.Done(t)
	if t.isReport() {
		d.lineUp(t.uid) // What becomes of it there decides when it is tried again, and how often it failed.
		return true
	}
	again, err := d.do(ctx, t)
	d.later(ctx, queue, t, again, err)
	return true
}

// later has a task done again: after a time, or because it failed.
func (d *Driver) later(ctx context.Context, queue Queue, t Task, again time.Duration, err error) {
	switch {
	case err != nil && !d.Reachable():
		queue.AddAfter(t, answerInterval) // The log has a line for the outage, and none for each work.
	case err != nil:
		klog.FromContext(ctx).Error(err, "Working on an agent's report", "uid", t.uid, "cluster", t.cluster)
		queue.AddRateLimited(t)
	case again > 0:
		queue.Forget(t)
		queue.AddAfter(t, again)
	default:
		queue.Forget(t)
	}
}

func (d *Driver) do(ctx context.Context, t Task) (again time.Duration, err error) {
	switch {
	case t.read:
		return 0, d.readTurn(ctx, t.cluster)
	case t.mend:
		return 0, d.mendNext(ctx, t.cluster)
	case t.answer:
		return d.answer(ctx, t.cluster)
	case t.uid == "":
		return d.askAll(ctx)
	case t.write > 0:
		return 0, d.confirm(ctx, t)
	}
	return 0, nil
}

// isReport reports whether a task is about the report of a work.
func (t Task) isReport() bool { return t.uid != "" && t.write == 0 && !t.read && !t.mend && !t.answer }

// lineUp puts the report of a work, if there is one, in the lane of its cluster.
func (d *Driver) lineUp(uid types.UID) {
	d.mu.Lock()
	report := d.reports[uid]
	d.mu.Unlock()
	if report != nil {
		d.linedUp(report.Namespace, report.UID)
	}
}

// done drops what is kept of the reports of a work, unless there is a newer one than this.
func (d *Driver) done(report *workv1.ManifestWork) {
	defer d.unread()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unwanted, report.UID)
	delete(d.considered, report.UID)
	delete(d.unexpectedSince, report.UID)
	kept := d.reports[report.UID]
	if kept == nil || kept != report && !newer(report, kept) {
		return
	}
	delete(d.reports, report.UID)
	d.memory.give(kept.Namespace, d.kept[report.UID])
	delete(d.kept, report.UID)
	if unknown := d.unknown[kept.Namespace]; unknown != nil {
		if delete(unknown, report.UID); len(unknown) == 0 {
			delete(d.unknown, kept.Namespace)
		}
	}
}

// newer reports whether a report is later than another one of the same work.
func newer(report, than *workv1.ManifestWork) bool {
	return isLater(than.Annotations[common.CloudEventsSequenceIDAnnotationKey],
		report.Annotations[common.CloudEventsSequenceIDAnnotationKey])
}

// askAll asks all agents what they have, now and again. Where the broker is away they are asked when it is back.
func (d *Driver) askAll(ctx context.Context) (again time.Duration, err error) {
	if !d.link.up.Load() {
		return auditInterval, nil
	}
	d.expectAnswers()
	return auditInterval, d.askAgain(ctx, eventtypes.ClusterAll)
}

// askAgain asks what agents have. Where the broker is away there is no need to try again: they are asked when it is back.
func (d *Driver) askAgain(ctx context.Context, cluster string) error {
	if !d.link.up.Load() {
		return nil
	}
	if err := d.ask(ctx, cluster); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if cluster == eventtypes.ClusterAll && d.asked.IsZero() {
		d.asked = d.clock.Now()
	}
	return nil
}

// answerInterval is how often an agent that asks and asks is sent all that the hub has for it.
const answerInterval = 5 * time.Second

// answer sends the agent of a cluster all that the hub has for it, and asks what it has. What the agent has, and this hub does not know, is
// not deleted: a hub that was just restarted does not know yet what it had.
func (d *Driver) answer(ctx context.Context, cluster string) (again time.Duration, err error) {
	d.mu.Lock()
	now := d.clock.Now()
	if wait := d.answered[cluster].Add(answerInterval).Sub(now); wait > 0 {
		d.mu.Unlock()
		return wait, nil
	}
	d.answered[cluster] = now
	d.mu.Unlock()
	for _, work := range d.store.ofCluster(cluster) {
		// A work that the broker does not take any more, because its limit was lowered, must not keep the agent from the others.
		if err := d.resend(ctx, work.UID); err != nil && !apierrors.IsRequestEntityTooLargeError(err) {
			return answerInterval, nil //nolint:nilerr // An agent asks when the broker is back, too.
		}
	}
	return 0, d.askAgain(ctx, cluster)
}

func (d *Driver) ask(ctx context.Context, cluster string) error { return d.link.ask(ctx, cluster) }
