package cloudevents

import (
	"context"
	"fmt"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// received notes a report. It must not wait: the transport hands over one event after the other.
func (d *Driver) received(ctx context.Context, event *cloudevents.Event) {
	work, err := d.codec.Decode(event)
	if err != nil {
		d.metrics.EventRefused(string(RefusedKind))
		klog.FromContext(ctx).V(2).Info("Ignoring the report of an agent that can't be read", "error", err.Error())
		return
	}
	if !d.keep(work) {
		d.metrics.EventRefused(string(RefusedQuota))
		return
	}
	d.tasks.Add(task{uid: work.UID})
}

// readOutPatience is how long reports may take to be read before who waits for them has to try again.
const readOutPatience = 5 * time.Second

// readOut waits until every event that has come so far is handled, and the report of a work taken over. What the hub has not read yet is
// not silence (R11).
func (d *Driver) readOut(ctx context.Context, uid types.UID) error {
	arrived, _ := d.link.progress()
	read := d.await(ctx, readOutPatience, func() bool {
		if _, handled := d.link.progress(); handled < arrived {
			return false
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		_, unread := d.reports[uid]
		return !unread || !d.astray[uid].IsZero()
	})
	if !read {
		return fmt.Errorf("not within %s", readOutPatience)
	}
	return nil
}

// unread notes how many reports are not taken over. The caller holds mu.
func (d *Driver) unread() {
	arrived, handled := d.link.progress()
	d.metrics.ReportsUnread(int(arrived-handled) + len(d.reports))
}

// maxUnknown is how many works a cluster may report at once that this hub does not know: more than that are made up.
const maxUnknown = 500

// keep keeps a report until it is taken over, unless its cluster has too many of works that the hub does not know.
func (d *Driver) keep(work *workv1.ManifestWork) bool {
	known := d.store.get(work.UID) != nil
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.reports[work.UID]
	if before == nil && !known {
		unknown := d.unknown[work.Namespace]
		if len(unknown) >= maxUnknown {
			return false
		}
		if unknown == nil {
			unknown = map[types.UID]bool{}
			d.unknown[work.Namespace] = unknown
		}
		unknown[work.UID] = true
	}
	d.reports[work.UID] = work
	delete(d.unanswered, work.UID)
	d.unread()
	if answered := d.expected[work.UID]; answered != nil {
		close(answered)
		delete(d.expected, work.UID)
	}
	return true
}

// next does one task. It reports whether there may be another.
func (d *Driver) next(ctx context.Context, queue queue) bool {
	t, over := queue.Get()
	if over {
		return false
	}
	defer queue.Done(t)
	again, err := d.do(ctx, t)
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
	return true
}

func (d *Driver) do(ctx context.Context, t task) (again time.Duration, err error) {
	switch {
	case t.answer:
		return d.answer(ctx, t.cluster)
	case t.uid == "":
		return d.askAll(ctx)
	case t.write > 0:
		return 0, d.confirm(ctx, t)
	}
	d.mu.Lock()
	report := d.reports[t.uid]
	d.mu.Unlock()
	if report == nil {
		return 0, nil
	}
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

// afterWrite takes a report over when no write of its work is under way: an agent may report what it was sent before the write has ended.
func (d *Driver) afterWrite(report *workv1.ManifestWork) verdict {
	defer d.lock(report.UID)()
	return d.store.report(report)
}

// done drops a report that was taken over, unless there is a newer one.
func (d *Driver) done(report *workv1.ManifestWork) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unwanted, report.UID)
	delete(d.considered, report.UID)
	delete(d.astray, report.UID)
	if d.reports[report.UID] != report {
		return
	}
	delete(d.reports, report.UID)
	d.unread()
	if unknown := d.unknown[report.Namespace]; unknown != nil {
		if delete(unknown, report.UID); len(unknown) == 0 {
			delete(d.unknown, report.Namespace)
		}
	}
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
		if err := d.send(ctx, eventtypes.ResyncResponseAction, work, d.store.contents.of(&work.Spec)); err != nil {
			return answerInterval, nil //nolint:nilerr // An agent asks when the broker is back, too.
		}
	}
	return 0, d.askAgain(ctx, cluster)
}

func (d *Driver) ask(ctx context.Context, cluster string) error { return d.link.ask(ctx, cluster) }

// renew sends a work again, under a generation that its agent can't take for an old one: the agent has lost it, or has a newer one
// than this hub knows of.
func (d *Driver) renew(ctx context.Context, report *workv1.ManifestWork) (again time.Duration, err error) {
	defer d.lock(report.UID)()
	// An agent may report what it was sent before the write of it has ended. Now it has (P5).
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

// retryFirst is how much longer whoever wrote a work may take to write it again. The write failed, and its agent has it all the same: what
// the hub still holds would take the cluster back for a moment (P5).
func (d *Driver) retryFirst(uid types.UID) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if _, seen := d.astray[uid]; !seen {
		d.astray[uid] = now
	}
	return d.confirmAfter - now.Sub(d.astray[uid])
}

// verdict is what a report of an agent means.
type verdict int

const (
	// noted means that the store holds what the report says.
	noted verdict = iota
	// unknown means that the store has no such work.
	unknown
	// astray means that the agent does not have what the hub believes it has, and must be sent it again.
	astray
	// unsure means that the agent has what a write of this hub sent that has not ended yet, or that failed.
	unsure
)
