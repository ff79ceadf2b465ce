package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// lostStatus rebuilds a status that was lost from what the revisions record: an older CRD prunes it, a restore drops it. A lost status
// never counts as a retry or a first rollout. If the current revision was deleted at the same time, the revision that was current
// before it does not replace it.
func (c *chain) lostStatus() *Step {
	newest := c.History.Newest()
	if c.Revisions.UpdateRevision != "" || newest == nil {
		return nil
	}
	c.Revisions.UpdateRevision = newest.Hash
	if latest, known := c.History.LastCurrent(); known && c.Revisions.CurrentRevision == "" {
		c.Revisions.CurrentRevision = latest
	}
	if at, aborted := newest.AbortedAt(); aborted && c.Revisions.AbortedTime == nil {
		c.Revisions.AbortedTime = ptr.To(metav1.NewTime(at))
	}
	return nil
}

// keepAbort keeps the abort that the update revision records if the status predates that abort: somebody restored the status from a backup,
// or the cache of this process is behind. A user's retry removes only status.abortedTime, so the conditions still report the abort.
func (c *chain) keepAbort(update *revision.Revision) {
	at, aborted := update.AbortedAt()
	if !aborted || c.Revisions.AbortedTime != nil {
		return
	}
	if kept := &c.Memory.Kept; kept.UpdateRevision == update.Hash && kept.AbortedTime == nil {
		return // This process saw the retry later, but could not record it on the revision.
	}
	stage, told := status.StageOf(c.Object.Status.Conditions), meta.FindStatusCondition(c.Object.Status.Conditions, workv1alpha1.ConditionProgressing)
	if (stage == status.RollingOut || stage == status.Stalled) && !told.LastTransitionTime.After(at) {
		c.Revisions.AbortedTime = ptr.To(metav1.NewTime(at))
	}
}

// olderStatus treats a status that is older than the revisions as a lost one: somebody restored it from a backup. The rollout of today's
// template has begun or ended since, so it must not begin again: it may have been aborted. During a pause, the update revision stays, and
// no work is written: olderStatus waits for the end of the pause, unless neither revision of the status exists.
func (c *chain) olderStatus() *Step {
	newest := c.History.Newest()
	if newest != nil && newest.Err == nil && newest.Hash == c.Revisions.UpdateRevision {
		c.keepAbort(newest)
	}
	gone := c.History.ByHash(c.Revisions.UpdateRevision) == nil && c.History.ByHash(c.Revisions.CurrentRevision) == nil
	if c.Object.Spec.Paused && !gone {
		return nil
	}
	if c.Revisions.UpdateRevision == "" || newest == nil || newest.Err != nil || newest.Hash == c.Revisions.UpdateRevision ||
		newest.Digest != c.Template || !c.hasRolledOut(newest) {
		return nil
	}
	c.Revisions.UpdateRevision, c.Revisions.AbortedTime = newest.Hash, nil
	if latest, known := c.History.LastCurrent(); known {
		c.Revisions.CurrentRevision = latest
	}
	if at, aborted := newest.AbortedAt(); aborted {
		c.Revisions.AbortedTime = ptr.To(metav1.NewTime(at))
	}
	return nil
}

// hasRolledOut reports whether the last rollout of a revision has ended, or works have it from its first one.
func (v *View) hasRolledOut(rev *revision.Revision) bool {
	if _, aborted := rev.AbortedAt(); aborted {
		return true
	}
	known := work.NewRevision(rev)
	if known.BeginsAt.IsZero() {
		return v.hasBegun(rev.Hash)
	}
	return !known.CurrentSince.IsZero() && !known.Underway()
}

// settleCurrent makes sure that status.currentRevision names a revision that may be the current one: an abort goes back to it. What counts is
// written on the revision first; the pass ends with that. What does not count is put back.
func (c *chain) settleCurrent() *Step {
	named := c.Revisions.CurrentRevision
	if rev := c.History.ByHash(named); rev != nil && !rev.WasCurrent() && named == c.Revisions.UpdateRevision && c.wasComplete(named) {
		// Its rollout was complete when the revision could not be written, or could not be read. A relapse since must not become an abort.
		return c.markBeforeNext(rev)
	}
	claim := c.History.JudgeCurrent(named, c.Revisions.UpdateRevision)
	if latest := c.History.LatestCurrent(); claim.Record && latest != nil && named == c.Revisions.UpdateRevision && !c.completeSince(latest) {
		claim = revision.Claim{Hash: latest.Hash, Problem: "the rollout of revision " + c.History.ByHash(named).Object.Name + " is not complete"}
	}
	if claim.Record {
		return c.makeCurrent(c.History.ByHash(claim.Hash), "a person named it in status.currentRevision")
	}
	c.Revisions.CurrentRevision = claim.Hash
	if claim.Problem != "" {
		c.Events = append(c.Events, Event{Warning: true, Reason: workv1alpha1.EventCurrentRevisionIgnored, Action: "Observe",
			Note: fmt.Sprintf("status.currentRevision is %q, and the hub puts %q back: %s", named, claim.Hash, claim.Problem)})
	}
	return nil
}

// markBeforeNext marks a complete revision as current before the rollout of another template begins. After that, only the mark shows that the
// revision was the current one.
func (c *chain) markBeforeNext(rev *revision.Revision) *Step {
	if c.TemplateErr != nil || c.Object.Spec.Paused || rev.Err != nil || rev.Digest == c.Template {
		return nil
	}
	return c.write(mark(MarkCurrent, "complete", rev, "its rollout was complete", c.becomesCurrent), c.unrecorded)
}

// completeSince reports whether the rollout of the update revision was complete after another revision became the current one. A status that
// reports an earlier completion is older than the revisions.
func (c *chain) completeSince(latest *revision.Revision) bool {
	update := c.History.ByHash(c.Revisions.UpdateRevision)
	if c.Memory.Completed == update.Hash {
		return true
	}
	told := meta.FindStatusCondition(c.Object.Status.Conditions, workv1alpha1.ConditionProgressing)
	if told == nil || !c.wasComplete(update.Hash) {
		return false
	}
	return !told.LastTransitionTime.Time.Before(work.Later(latest.CurrentSince, update.Began()).Truncate(time.Second))
}

// wasComplete reports whether the conditions, or this process, know that the rollout of a revision was complete. A condition that contradicts
// what this process itself judged is somebody else's.
func (c *chain) wasComplete(hash string) bool {
	told := status.StageOf(c.Object.Status.Conditions) == status.Complete && c.Memory.Incomplete != hash
	return told || c.Memory.Completed == hash
}

// Current returns the stable revision for a rollout of update, which may be nil, or why there is none.
func (v *View) Current(hash string, update *work.Revision) (*work.Revision, *rollout.Absence) {
	return v.mode().current(hash, update)
}

func (r recorded) current(hash string, update *work.Revision) (*work.Revision, *rollout.Absence) {
	if hash == "" {
		return nil, r.neverComplete(update)
	}
	found, name := r.History.ByHash(hash), revision.Name(r.Object.Name, hash)
	switch {
	case found == nil && slices.Contains(r.History.Disowned, name):
		return nil, &rollout.Absence{Cause: rollout.Disowned, Revision: name}
	case found == nil:
		return nil, &rollout.Absence{Cause: rollout.Deleted, Revision: name}
	case found.Err != nil:
		return nil, &rollout.Absence{Cause: rollout.Unreadable, Detail: found.Err.Error()}
	case r.selectsBeside(found.RecordedOn):
		return nil, &rollout.Absence{Cause: rollout.OnOneCluster, Revision: found.Object.Name, Cluster: found.RecordedOn}
	}
	return work.NewRevision(found), nil
}

// selectsBeside reports whether other clusters are selected than the one that alone had a revision: its agent does not decide for them.
func (v *View) selectsBeside(only string) bool {
	if only == "" {
		return false
	}
	for cluster := range placement.Owners(v.Refs) {
		if cluster != only {
			return true
		}
	}
	return false
}

// neverComplete returns why no revision is the stable one, and which of them a person may name.
func (v *View) neverComplete(update *work.Revision) *rollout.Absence {
	found := &rollout.Absence{Cause: rollout.NeverComplete}
	for i := range v.History.Revisions {
		rev := &v.History.Revisions[i]
		if !rev.Recorded.IsZero() {
			found.Cause = rollout.NotAdopted
		}
		if rev.Err == nil && (update == nil || rev.Hash != update.Hash) {
			found.Others = append(found.Others, rev.Hash)
		}
	}
	if surpassed := v.History.LatestSurpassed(); surpassed != nil {
		found.Cause, found.Revision = rollout.Surpassed, surpassed.Object.Name
	}
	return found
}
