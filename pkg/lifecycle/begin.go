package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// rolloutLinks decide what is persisted before a rollout goes on, in order.
var rolloutLinks = []link{
	(*chain).checkRetry,
	(*chain).abortByHand,
	(*chain).retryAborted,
	(*chain).newRollout,
	(*chain).persist,
	(*chain).markAbort,
}

// Begin returns what has to be persisted before the rollout of the revision that Next found goes on. The View has the notes of the works.
func Begin(v *View, found Decision) Step {
	c := &chain{View: v, Outcome: Outcome{Decision: found}}
	return c.walk(rolloutLinks, "what decides is persisted")
}

// abortByHand takes over an abort that a person asked for by setting status.abortedTime. The conditions report it first, as every
// abort, and it goes on from there like any other. Where nothing is to be aborted the field is removed. The pass ends with either.
func (c *chain) abortByHand() *Step {
	if !c.abortedByHand() {
		return nil
	}
	if problem, none := c.nothingToAbort(); none {
		return c.write(Step{Action: RemoveAbort, Key: "remove abort", Why: problem, Event: &Event{
			Warning: true, Reason: workv1alpha1.EventAbortIgnored, Action: "Abort",
			Note: fmt.Sprintf("%s, and the hub removed it: %s", c.setter(), problem),
		}}, c.failed)
	}
	c.Update = c.Named(c.Revisions.UpdateRevision)
	return c.persistAbort(c.setter())
}

// persistAbort has the conditions report an abort before anything follows from it. The pass ends with it.
func (c *chain) persistAbort(reason string) *Step {
	c.Aborting, c.Urgent, c.AbortedFor = true, true, reason
	c.Outcome.Snapshot = c.Snapshot(&c.Revisions, c.Update, true)
	decided := rollout.Decide(c.Outcome.Snapshot)
	return c.write(Step{Action: PersistStatus, Key: "persist abort", Why: reason, Plan: decided, Stage: status.Aborting}, c.failed)
}

// abortedByHand reports whether a person set status.abortedTime. This hub sets it together with conditions that report the abort, and the
// revision records it from before the first work goes back.
func (c *chain) abortedByHand() bool {
	if c.Object.Status.AbortedTime == nil || c.Revisions.AbortedTime == nil {
		return false
	}
	if told := status.StageOf(c.Object.Status.Conditions); told == status.Aborting || told == status.Aborted {
		return false
	}
	if update := c.revisionOf(c.Revisions.UpdateRevision); update != nil {
		_, marked := update.AbortedAt()
		return !marked
	}
	return true
}

// setter is who set status.abortedTime, and why, for a person.
func (v *View) setter() string {
	manager, by, why := status.AbortSetBy(v.Object.ManagedFields), v.Object.Status.AbortedBy, v.Object.Status.AbortReason
	set := "status.abortedTime was set"
	switch {
	case by != "" && manager != "":
		set = fmt.Sprintf("%s set status.abortedTime (field manager %s)", by, manager)
	case by != "":
		set = by + " set status.abortedTime"
	case manager != "":
		set = fmt.Sprintf("field manager %s set status.abortedTime", manager)
	}
	if why != "" {
		set += ": " + why
	}
	return plain.Line(set)
}

// nothingToAbort reports whether there is no rollout that can be aborted, and returns why for a person.
func (c *chain) nothingToAbort() (why string, none bool) {
	if hash := c.Revisions.CurrentRevision; hash != "" && hash == c.Revisions.UpdateRevision {
		return fmt.Sprintf("revision %s is the current one already, so no rollout can be aborted", revision.Name(c.Object.Name, hash)), true
	}
	if _, absent := c.Current(c.Revisions.CurrentRevision, c.Update); absent != nil {
		return status.NoCurrent(absent), true
	}
	return "", false
}

// newRollout begins the rollout of another revision. An abort that is being carried out ends first.
func (c *chain) newRollout() *Step {
	c.begins = c.Revisions.UpdateRevision != c.Update.Hash
	if c.begins && c.Revisions.AbortedTime != nil {
		before := c.Named(c.Revisions.UpdateRevision)
		if abort := rollout.Decide(c.Snapshot(&c.Revisions, before, true)); abort.Behind > 0 { // A work that can be written still has to go back: the new rollout waits.
			c.begins, c.Pending, c.Update = false, true, before
		}
	}
	if c.begins {
		c.Revisions.CurrentRevision = c.lastComplete()
		c.Revisions.UpdateRevision, c.Revisions.AbortedTime = c.Update.Hash, nil
	}
	c.Outcome.Snapshot = c.Snapshot(&c.Revisions, c.Update, !c.TemplateHeld && c.Revisions.AbortedTime != nil)
	if c.TemplateHeld {
		return c.proceed("nothing of the revision is started any more")
	}
	// Also while there is a history: it may be gone when somebody wipes the status.
	c.Keep = true
	return nil
}

// lastComplete returns the revision that is the current one when another rollout begins. A rollout that is complete is recorded on its
// revision first, and the template may change before the status shows it: an abort must go back to that revision, not to the one before.
func (c *chain) lastComplete() string {
	ended := c.revisionOf(c.Revisions.UpdateRevision)
	if latest := c.History.LatestCurrent(); ended == nil || latest == nil || latest.Hash != ended.Hash || c.Revisions.AbortedTime != nil {
		return c.Revisions.CurrentRevision
	}
	if known := work.NewRevision(ended); known.Underway() || !c.writtenOnlyBefore(known.Hash, known.CurrentSince) {
		return c.Revisions.CurrentRevision
	}
	return ended.Hash
}

// writtenOnlyBefore reports whether at least one work has a revision, and the hub wrote all works with that revision before a given time. A
// later write belongs to a rollout that began while the hub could not write revisions, and that nothing else records.
func (v *View) writtenOnlyBefore(hash string, end time.Time) bool {
	found := false
	for i := range v.Works {
		if at, written := v.Works[i].AppliedAt(); written && v.Works[i].Hash() == hash {
			if at.After(end) {
				return false
			}
			found = true
		}
	}
	return found
}

// persist writes a new rollout into the status, or a status that was rebuilt. The pass ends with it. Where the API server drops it, the
// revisions hold the same, and the next pass reads it from them. No deadline fires in this write: the next pass reads the works of
// failed clusters live before it records them, and a recorded failure is not examined again.
func (c *chain) persist() *Step {
	if c.Memory.Pruned || equality.Semantic.DeepEqual(c.Revisions, status.RevisionsOf(&c.Object.Status)) {
		return nil
	}
	unexamined := *c.Outcome.Snapshot
	unexamined.Gap = rollout.UnknownGap(c.Now)
	request := Step{
		Action: PersistStatus, Key: "persist", Why: "the status does not say which revisions count", Plan: rollout.Decide(&unexamined), Stage: status.RollingOut,
	}
	if !c.begins {
		c.Aborting, request.Stage = request.Plan.Behind > 0, ""
	}
	answer, next := c.do(request)
	switch {
	case next != nil:
		return next
	case answer.failed():
		return c.failed(answer)
	case answer.Result == Pruned:
		c.pruned = true
		return nil
	}
	return c.written(request.Why)
}

// markAbort brings what the update revision records of an abort in line with the status. Where the status has no abort and the revision
// records one, somebody removed it from the status: a retry.
func (c *chain) markAbort() *Step {
	update := c.revisionOf(c.Update.Hash)
	if update == nil {
		return nil
	}
	_, marked := update.AbortedAt()
	switch aborted := c.Revisions.AbortedTime != nil; {
	case aborted && !marked:
		return c.markAborted(update)
	case !aborted && marked:
		return c.clearAborted(update, "somebody removed status.abortedTime")
	}
	return nil
}

// clearAborted begins a rollout again that was aborted. A retry is a rollout of its own: what the clusters did before says nothing about it.
func (c *chain) clearAborted(update *revision.Revision, why string) *Step {
	clear := mark(ClearAborted, "clear", update, why, func(r *revision.Record) {
		if r.Abort != nil {
			r.RetriedAbort = r.Abort.At
		} else if at := c.Revisions.AbortedTime; at != nil {
			r.RetriedAbort = at.Time
		}
		r.Abort, r.AtOnce, r.Retried = nil, false, update.NextBegin(c.Now)
	})
	return c.write(clear, func(failed *Answer) *Step {
		c.Pending = true
		return c.invalid(Problem{Failed: failed, Text: "; until then the rollout does not begin again"})
	})
}

// markPatience is for how long an abort waits for the revision to record it, where that fails for a reason that may pass.
const markPatience = 10 * time.Second

// markAborted writes on the update revision that its rollout was aborted, before any work goes back. It is the second copy: where it can't
// be written, and the status holds the first one, the fleet does not stay on the bad revision. It is tried again in each pass.
func (c *chain) markAborted(update *revision.Revision) *Step {
	return c.write(c.abortMark(update), func(failed *Answer) *Step {
		// A person may have set any time, also one to come.
		age := c.Now.Sub(c.Revisions.AbortedTime.Time)
		if c.pruned || c.Memory.Pruned || failed.Result != Rejected && age >= 0 && age < markPatience {
			return c.failed(failed)
		}
		return c.despite(failed)
	})
}

// abortMark is what a revision records of the abort of its rollout, and why it was.
func (c *chain) abortMark(update *revision.Revision) Step {
	return mark(MarkAborted, "abort", update, "the revision does not record yet that its rollout was aborted", func(r *revision.Record) {
		r.Abort = &revision.Abort{
			At: c.Revisions.AbortedTime.Time, By: plain.Line(c.Object.Status.AbortedBy), Reason: plain.Line(c.abortReason()),
			Evidence: abortEvidence(c.Object.Status.Failures),
		}
		r.Reached, r.AtOnce = ptr.To(c.reached(update)), false
		if latest := c.History.LatestCurrent(); latest != nil && latest.Hash == update.Hash && c.Revisions.CurrentRevision != update.Hash {
			// A cluster relapsed before the status named this revision as the current one. The latest of the others is current.
			r.CurrentSince = time.Time{}
		}
	})
}

// maxEvidence is the number of failed clusters whose reports the revision records.
const maxEvidence = 10

// abortEvidence returns the reports of the first failed clusters, one line each. The revision keeps them after a later rollout has removed
// the failures from the status.
func abortEvidence(failures []workv1alpha1.ClusterFailure) []string {
	var evidence []string
	for i := range failures[:min(len(failures), maxEvidence)] {
		f := &failures[i]
		line := fmt.Sprintf("%s: %s", f.Cluster, f.Reason)
		if f.Message != "" {
			line += ": " + f.Message
		}
		evidence = append(evidence, plain.Line(line))
	}
	if more := len(failures) - maxEvidence; more > 0 {
		evidence = append(evidence, fmt.Sprintf("and %d more", more))
	}
	return evidence
}

// reached is the most clusters that have or had a revision when its rollout ended.
func (v *View) reached(rev *revision.Revision) int32 {
	clusters := sets.New[string]()
	for i := range v.Notes.Works {
		if w := &v.Notes.Works[i]; w.Hash() == rev.Hash && !w.UnexpectedName {
			clusters.Insert(w.Cluster())
		}
	}
	return max(ptr.Deref(rev.Reached, 0), int32(clusters.Len())) //nolint:gosec // No hub has two billion clusters.
}

// abortReason returns why the rollout was aborted; empty if nothing shows it any more.
func (c *chain) abortReason() string {
	switch remembered := c.Memory.Aborted.ReasonAt(c.Revisions.AbortedTime); {
	case c.AbortedFor != "":
		return c.AbortedFor
	case remembered != "":
		return remembered // The works may have gone back meanwhile.
	case status.AbortSetBy(c.Object.ManagedFields) != "":
		return c.setter()
	}
	// The works have not changed since the abort was decided, perhaps by an earlier process, in which deadlines fired.
	if due := rollout.Decide(c.Snapshot(&c.Revisions, c.Update, false).AssumeSettled()).AbortDue(); due != nil {
		return due.Reason
	}
	return ""
}
