package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Conclude makes the update revision the current one where its rollout is complete: on the revision first, then in the status.
func Conclude(v *View, found Decision, decided *rollout.Plan) Step {
	c := &chain{View: v, Outcome: Outcome{Decision: found}}
	if step := c.judge(decided); step != nil {
		return *step
	}
	return *c.proceed("what was decided is recorded")
}

// judge notes whether the rollout is complete, and records it where it is.
func (c *chain) judge(decided *rollout.Plan) *Step {
	if decided.Complete {
		c.Incomplete = ptr.To("")
		return c.mode().complete(c)
	}
	if c.Revisions.CurrentRevision != c.Update.Hash {
		c.Incomplete = &c.Update.Hash
	}
	return nil
}

// complete makes the update revision the current one. What is not recorded yet is written on the revision first; the pass ends with that.
func (r recorded) complete(c *chain) *Step {
	latest, update := r.History.LatestCurrent(), r.History.ByHash(c.Update.Hash)
	switch {
	case update == nil:
		return nil // The revision was deleted, and is created again first.
	case latest == nil || latest.Hash != c.Update.Hash || c.Update.Underway():
		return c.markComplete(update)
	}
	c.Revisions.CurrentRevision = c.Update.Hash
	return nil
}

// completedAt is when the rollout that is complete now is: not before it began, also when the clock went back since.
func (c *chain) completedAt() time.Time {
	now := c.History.NextCurrentSince(c.Now)
	if c.Update.BeginsAt.After(now) {
		return c.Update.BeginsAt
	}
	return now
}

func (c *chain) markComplete(update *revision.Revision) *Step {
	mark := mark(MarkCurrent, "complete", update, "every cluster has the update revision", func(r *revision.Record) {
		r.CurrentSince, r.Reached = c.completedAt(), ptr.To(c.reached(update))
		r.RecordedOn = "" // Every cluster has it now.
	})
	return c.write(mark, func(failed *Answer) *Step {
		if !c.Memory.Pruned { // Otherwise nothing could hold it.
			// Every cluster had it: a relapse must not become an abort because the second copy is missing, which nothing follows from yet. The
			// condition names it, and each pass tries to write it.
			c.Completed, c.Revisions.CurrentRevision = c.Update.Hash, c.Update.Hash
		}
		return c.despite(failed)
	})
}

// Abort persists an abort, with the failures that led to it. The works are rolled back once the caches show the abort and the revision
// records it.
func Abort(v *View, found Decision, decided *rollout.Plan, at metav1.Time) Step {
	view, reason := *v, decided.Abort.Reason
	view.decided = &decided.Records
	c := &chain{View: &view, Outcome: Outcome{Decision: found}}
	c.Revisions.AbortedTime, c.AbortedFor, c.Aborting = &at, reason, true
	if update := c.revisionOf(c.Update.Hash); update != nil && c.Memory.Pruned {
		// The status can't hold it: the revision does.
		switch answer, next := c.do(c.abortMark(update)); {
		case next != nil:
			return *next
		case answer.failed():
			c.Problems = append(c.Problems, Problem{Failed: answer, Text: "; until then nothing is written back"})
		}
	}
	// What is confirmed from now on is the revision that the clusters go back to.
	return *c.persistAbort(reason)
}

// Restored notes, once for each abort, that every selected cluster confirmed the revision that it was brought back to. The
// update revision records it: the status says it in words only, and in counts that change when a cluster joins.
func Restored(v *View, found Decision, decided *rollout.Plan) (Step, bool) {
	restorable := decided.Restorable()
	if !found.Snapshot.Aborted || found.Aborting || decided.Behind > 0 || restorable == 0 || decided.Confirmed < restorable {
		return Step{}, false
	}
	update := v.revisionOf(found.Update.Hash)
	if update == nil || update.Abort == nil || !update.Abort.Restored.IsZero() {
		return Step{}, false
	}
	const why = "every cluster confirmed the revision that it was brought back to"
	return mark(MarkRestored, "restored", update, why, func(r *revision.Record) {
		abort := *r.Abort
		abort.Restored, r.Abort = v.Now, &abort
	}), true
}
