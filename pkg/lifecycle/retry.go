package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// A retry by annotation is a time: whatever was aborted or has failed by then is retried once, when that time has come. A failure or an
// abort after a retry is later than that time, so no value is acted on twice, and nothing has to be recorded. A value has no effect on a
// rollout that began later, even if the value stays in Git for months.

// retryByAnnotation returns the time before which failures of the update revision's rollout are retried; zero if no retry of this
// rollout is requested. The status holds whole seconds, so this is the beginning of the second after the annotation's. It may be in the
// future.
func (v *View) retryByAnnotation(hash string) time.Time {
	at, err := v.annotatedRetry()
	if at.IsZero() || err != nil {
		return time.Time{}
	}
	at = at.Truncate(time.Second).Add(time.Second)
	if update := v.revisionOf(hash); update != nil && !at.After(update.Began()) {
		return time.Time{}
	}
	return at
}

// annotatedRetry returns the time of the annotation, or the zero time if there is no annotation.
func (v *View) annotatedRetry() (time.Time, error) {
	value, asked := v.Object.Annotations[workv1alpha1.AnnotationRetry]
	if !asked {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, value)
}

// retryAborted retries an aborted rollout if the annotation asks for it. The revision, which records aborts and retries, comes first, and
// the status follows.
func (c *chain) retryAborted() *Step {
	update := c.revisionOf(c.Update.Hash)
	if c.Revisions.AbortedTime == nil || c.TemplateHeld || update == nil || c.Update.Hash != c.Revisions.UpdateRevision {
		return nil
	}
	if c.wasRetried(update) {
		c.Revisions.AbortedTime = nil
		return nil
	}
	at := c.retryByAnnotation(update.Hash)
	switch {
	case at.IsZero(), c.Now.Before(at):
		return nil
	case !c.Revisions.AbortedTime.Time.Before(at):
		c.ignoreRetry(fmt.Sprintf("the rollout was aborted after this time, at %s: to retry, set the current time", c.Revisions.AbortedTime.UTC().Format(time.RFC3339)))
		return nil
	}
	return c.clearAborted(update, "the annotation "+workv1alpha1.AnnotationRetry+" asks for a retry")
}

// wasRetried reports whether the revision records a retry of the abort that the status still has. Such a status is older than the revision.
// The revision records the time of the abort that was retried, because times of different clocks can't be compared. A user who aborts again
// may set the same time; the conditions distinguish the new abort.
func (c *chain) wasRetried(update *revision.Revision) bool {
	if update.Abort != nil || !update.RetriedAbort.Equal(c.Revisions.AbortedTime.Time) {
		return false
	}
	conditions := c.Object.Status.Conditions
	reported, progressing := status.StageOf(conditions), meta.FindStatusCondition(conditions, workv1alpha1.ConditionProgressing)
	return (reported == status.Aborting || reported == status.Aborted) && progressing != nil && !progressing.LastTransitionTime.After(update.Retried)
}

// checkRetry makes an event if the annotation is not a time, or is in the future.
func (c *chain) checkRetry() *Step {
	switch at, err := c.annotatedRetry(); {
	case err != nil:
		c.ignoreRetry("not a time: use RFC 3339, for example 2026-11-25T10:00:00Z")
	case at.After(c.Now.Add(retrySkew)):
		c.ignoreRetry("this time is in the future: the hub will then retry what has failed by that time; to retry now, set the current time")
	}
	return nil
}

// retrySkew is how far the clock of a user may be ahead before an event reports that the hub waits.
const retrySkew = time.Minute

// ignoreRetry makes one event that gives the reason why the annotation retries nothing.
func (c *chain) ignoreRetry(why string) {
	note := fmt.Sprintf("annotation %s: %q: %s", workv1alpha1.AnnotationRetry, c.Object.Annotations[workv1alpha1.AnnotationRetry], why)
	c.Events = append(c.Events, Event{
		Warning: true, Reason: workv1alpha1.EventRetryIgnored, Action: "Retry", Note: plain.Line(note), Once: true,
	})
}

// removeRetried removes the records of failures that the annotation retries.
func (v *View) removeRetried(records *rollout.Records, hash string) {
	at := v.retryByAnnotation(hash)
	if at.IsZero() || v.Now.Before(at) {
		return
	}
	v.removeRecords(records, func(since time.Time) bool { return since.Before(at) })
}
