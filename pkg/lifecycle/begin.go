package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// begin retries an aborted rollout if the annotation requests it, and starts the rollout of the revision that was found.
func (c *chain) begin() {
	c.retryAborted(&c.Decision)
	c.beginRollout()
	c.Snapshot = c.SnapshotOf(&c.Ledger, c.Update, !c.TemplateHeld && c.Ledger.Abort != nil)
}

// beginRollout starts the rollout of another revision. An abort in progress finishes first. A command is first stored with the rollout to
// which it applies, so that the record of that revision shows the command later.
func (c *chain) beginRollout() {
	l := &c.Ledger
	if l.Update.Hash == c.Update.Hash {
		return
	}
	if l.Update.Hash != "" && (c.CopyBehind || !l.Equal(&c.Before)) {
		c.Pending, c.Update = true, c.Named(l.Update.Hash)
		return
	}
	if l.Abort != nil {
		before := c.Named(l.Update.Hash)
		if abort := rollout.Decide(c.SnapshotOf(l, before, true)); abort.Behind > 0 { // A writable work is not restored yet.
			c.Pending, c.Update = true, before
			return
		}
	}
	first := l.Update.Hash == ""
	c.Begin(l, ledger.Named{Hash: c.Update.Hash, Digest: c.Update.Digest})
	l.Lost = first && c.hasBegun(c.Update.Hash)
}

// Begin starts the rollout of a revision.
func (v *Observation) Begin(l *ledger.Ledger, update ledger.Named) {
	l.Begin(update, v.howBegins(l, update), v.Now, v.inRollbackWindow(l, update))
	if v.Object.Spec.AbortedRevisionPolicy == workv1alpha1.HoldAborted {
		l.Hold(v.revisionOf(update.Hash), v.Now, work.Having(v.Notes.Works, update.Hash))
	}
}

// howBegins returns how the rollout of a revision begins. When the hub first sees an object, its rollout is never Returned: earlier
// reports of the clusters count.
func (v *Observation) howBegins(l *ledger.Ledger, update ledger.Named) ledger.How {
	_, former := l.Formerly(update.Digest)
	rev := v.revisionOf(update.Hash)
	switch {
	case l.Update.Hash == "":
		return ledger.New
	case former:
		return ledger.Returned
	case rev != nil && !rev.Began.IsZero():
		return ledger.Found
	}
	return ledger.New
}

// inRollbackWindow reports whether an undo that begins returns to one of the last N current revisions. N is spec.rollbackWindow. Such an
// undo reaches every cluster at once. A revision whose last rollout was aborted does not qualify. Nor does a deleted revision, because its
// record is lost.
func (v *Observation) inRollbackWindow(l *ledger.Ledger, to ledger.Named) bool {
	window := ptr.Deref(v.Object.Spec.RollbackWindow, workv1alpha1.RollbackWindow{})
	place, former := l.Formerly(to.Digest)
	rev := v.revisionOf(to.Hash)
	known := rev != nil && (!rev.Began.IsZero() || !rev.Recorded.IsZero())
	return former && known && rev.Abort == nil && place > 0 && place <= int(ptr.Deref(window.Revisions, 0))
}

// The annotation for a retry is a time: aborts and failures up to that time are retried once, when that time is reached. A failure or an
// abort after the retry is later than that time, so no value takes effect twice, and no record is needed. A value has no effect on a
// rollout that began after that time, even if the value stays in Git for months.

// retryByAnnotation returns the time before which failures of the rollout are retried; zero if no retry of this rollout is requested. It
// is the start of the second after the annotation's time, and may be in the future.
func (v *Observation) retryByAnnotation(l *ledger.Ledger) time.Time {
	at, err := v.annotatedRetry()
	if at.IsZero() || err != nil {
		return time.Time{}
	}
	at = at.Truncate(time.Second).Add(time.Second)
	if !at.After(l.Begun.Last()) {
		return time.Time{}
	}
	return at
}

// annotatedRetry returns the time of the annotation, or the zero time if there is no annotation.
func (v *Observation) annotatedRetry() (time.Time, error) {
	value, asked := v.Object.Annotations[workv1alpha1.AnnotationRetry]
	if !asked {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, value)
}

// retrySkew is how far the clock of a user may be ahead before an event reports that the hub waits.
const retrySkew = time.Minute

// retryAborted retries an aborted rollout if the annotation requests it. It adds an event if the annotation retries nothing.
func (v *Observation) retryAborted(d *Decision) {
	l := &d.Ledger
	switch at, err := v.annotatedRetry(); {
	case err != nil:
		v.ignoreRetry(d, "not a time: use RFC 3339, for example 2026-11-25T10:00:00Z")
	case at.After(v.Now.Add(retrySkew)):
		v.ignoreRetry(d, "this time is in the future: the hub will then retry what has failed by that time; to retry now, set the current time")
	}
	at := v.retryByAnnotation(l)
	switch {
	case l.Abort == nil, d.TemplateHeld, d.Update.Hash != l.Update.Hash, at.IsZero(), v.Now.Before(at):
	case !l.Abort.At.Before(at):
		v.ignoreRetry(d, fmt.Sprintf("the rollout was aborted after this time, at %s: to retry, set the current time", l.Abort.At.UTC().Format(time.RFC3339)))
	default:
		l.Retry(v.Now)
	}
}

// ignoreRetry adds one event with the reason why the annotation retries nothing.
func (v *Observation) ignoreRetry(d *Decision, why string) {
	note := fmt.Sprintf("annotation %s: %q: %s", workv1alpha1.AnnotationRetry, v.Object.Annotations[workv1alpha1.AnnotationRetry], why)
	d.Events = append(d.Events, Event{
		Warning: true, Reason: workv1alpha1.EventRetryIgnored, Action: "Retry", Note: plain.Line(note), Once: true,
	})
}
