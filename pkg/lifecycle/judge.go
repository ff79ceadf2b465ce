package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// judge plans the rollout, and records the results in the ledger. If the results end or abort the rollout, the decision has the plan that
// follows.
func (c *chain) judge() {
	c.Plan = rollout.Decide(c.Snapshot)
	if !c.examine() {
		return
	}
	planned := c.Snapshot
	if c.enter(); c.Snapshot != planned {
		settled := c.Plan.Settled
		c.Plan = rollout.Decide(c.Snapshot)
		c.Plan.Settled = settled
	}
}

// examine requests the works of the clusters that have newly failed, because a success may have been missed, and plans again with what they
// show now. It omits clusters whose write the API server rejects, because nothing was applied on them.
func (c *chain) examine() bool {
	var failed []*workv1.ManifestWork
	for i := range c.Notes.Works {
		w := &c.Notes.Works[i]
		failure, fails := c.Plan.Records.Failures[w.Cluster()]
		if _, known := c.Snapshot.Records.Failures[w.Cluster()]; fails && !known && failure.Message == "" {
			failed = append(failed, w.Object)
		}
	}
	if len(failed) == 0 {
		return true
	}
	answer := c.ask(Request{Action: ReadWorks, Key: "reports of failed clusters", Works: failed, Abort: c.Plan.Abort != nil})
	if answer == nil {
		return false
	}
	c.Snapshot = showing(c.Snapshot, answer.Works)
	c.Plan = rollout.Decide(c.Snapshot)
	for _, live := range answer.Works {
		if failure, fails := c.Plan.Records.Failures[live.Namespace]; fails && failure.Message == "" {
			failure.Message = status.FailureMessage(live, failure.Gate)
			c.Plan.Records.Failures[live.Namespace] = failure
		}
	}
	return true
}

// showing returns a snapshot in which works have their live state. If several reports that were held up arrive at once, the caches follow
// one report behind, and a failure that they show may already be a success.
func showing(s *rollout.Snapshot, lives []*workv1.ManifestWork) *rollout.Snapshot {
	byUID := make(map[types.UID]*workv1.ManifestWork, len(lives))
	for _, live := range lives {
		byUID[live.UID] = live
	}
	shown := *s
	shown.Works = slices.Clone(s.Works)
	for i := range shown.Works {
		if live := byUID[shown.Works[i].Object.UID]; live != nil {
			shown.Works[i] = *shown.Works[i].Showing(live)
		}
	}
	return &shown
}

// enter records the results of the plan in the ledger: the failed clusters, and whether the rollout is complete or aborted, or an abort
// has restored its clusters.
func (c *chain) enter() {
	plan, l := c.Plan, &c.Ledger
	l.Served = plan.Served
	if c.Snapshot.Aborted {
		if restorable := plan.Restorable(); plan.Behind == 0 && restorable > 0 && plan.Confirmed >= restorable && l.Abort.Restored.IsZero() {
			l.Abort.Restored = c.Now
		}
		l.SetUnrestored(troublesOf(ledger.Unrestored, plan.Records.Unrestored))
		return
	}
	c.takeRecords(l, &plan.Records)
	if plan.WouldAbort != nil && l.WouldAbort == nil {
		l.WouldAbort = &revision.WouldAbort{
			At: c.abortedAt(), Reason: plan.WouldAbort.Reason, Clusters: work.Having(c.Notes.Works, l.Update.Hash),
		}
	}
	switch {
	case plan.Abort != nil:
		l.AbortWith(&revision.Abort{At: c.abortedAt(), Reason: plan.Abort.Reason}, work.Having(c.Notes.Works, l.Update.Hash))
		c.Snapshot = c.SnapshotOf(l, c.Update, true)
	case plan.Complete && l.Ended.IsZero() && l.Begun.Last().Equal(c.Before.Begun.Last()) && // A beginning in this pass is reported first.
		(c.NoHistory || c.revisionOf(l.Update.Hash) != nil): // A deleted revision is recreated first.
		l.End(c.Now)
		c.Snapshot = c.SnapshotOf(l, c.Update, false)
	}
}

// records returns the facts about the rollout in a ledger, without the failures and halts that the annotation retries.
func (v *Observation) records(l *ledger.Ledger) rollout.Records {
	facts := map[ledger.State]map[string]rollout.Failure{ledger.Failed: {}, ledger.Rejected: {}, ledger.Degraded: {}, ledger.Unrestored: {},
		ledger.Passed: {}}
	found := rollout.Records{
		Failures: facts[ledger.Failed], Rejections: facts[ledger.Rejected], Degraded: facts[ledger.Degraded], Unrestored: facts[ledger.Unrestored],
		Passed: facts[ledger.Passed],
		Halted: map[string]time.Time{}, Counted: l.Counted, Uncounted: l.Lost, Baking: l.Baking,
	}
	at := v.retryByAnnotation(l)
	over := func(since time.Time) bool { return !at.IsZero() && !v.Now.Before(at) && since.Before(at) }
	for i := range l.Troubles {
		t := &l.Troubles[i]
		if of := facts[t.State]; of != nil && !over(t.Since) {
			of[t.Cluster] = rollout.Failure{Placement: t.Placement, Since: t.Since, Reason: t.Reason, Message: t.Message}
		}
	}
	for placement, since := range l.Halted {
		if !over(since) {
			found.Halted[placement] = since
		}
	}
	found.Lost = l.Lost && len(l.Troubles)+len(l.Halted) == 0
	return found
}

func retried(l *ledger.Ledger) map[string]time.Time {
	found := map[string]time.Time{}
	for cluster, t := range l.TroublesIn(ledger.TriedAgain) {
		found[cluster] = t.Since
	}
	return found
}

func (v *Observation) takeRecords(l *ledger.Ledger, records *rollout.Records) {
	troubles := slices.Concat(troublesOf(ledger.Failed, records.Failures), troublesOf(ledger.Rejected, records.Rejections),
		troublesOf(ledger.Degraded, records.Degraded), troublesOf(ledger.Passed, records.Passed))
	for cluster, t := range l.TroublesIn(ledger.TriedAgain) {
		if _, failed := records.Failures[cluster]; !failed && !v.writtenSince(cluster, t.Since) {
			t.Since = work.Earlier(t.Since, v.Now) // The clock may have been set back.
			troubles = append(troubles, t)
		}
	}
	l.SetTroubles(troubles)
	l.Halted, l.Counted, l.Baking = records.Halted, records.Counted, records.Baking
}

// troublesOf returns facts about clusters as troubles, in any order.
func troublesOf(state ledger.State, facts map[string]rollout.Failure) []ledger.Trouble {
	troubles := make([]ledger.Trouble, 0, len(facts))
	for cluster, f := range facts {
		troubles = append(troubles, ledger.Trouble{
			Cluster: cluster, State: state, Placement: f.Placement, Since: f.Since, Reason: f.Reason, Message: ledger.Quoted(f.Message),
		})
	}
	return troubles
}

// writtenSince reports whether the retry of a cluster has ended: its work has been written since then, or it has no work.
func (v *Observation) writtenSince(cluster string, at time.Time) bool {
	for i := range v.Notes.Works {
		if w := &v.Notes.Works[i]; w.Cluster() == cluster && w.WrittenAt().Before(at) {
			return false
		}
	}
	return true
}

// maxEvidence is the number of failed clusters whose reports the revision records.
const maxEvidence = 10

// RecordOf returns the record of the update revision. It keeps the history of the rollout for users after another rollout has begun.
func (v *Observation) RecordOf(l *ledger.Ledger, rev *revision.Revision) *revision.Record {
	return rev.Changed(func(r *revision.Record) {
		if rev.Hash != l.Update.Hash {
			return
		}
		r.Began, r.Retried, r.Abort, r.WouldAbort, r.Approvals = l.Begun.At, l.Begun.Retried, nil, l.WouldAbort, slices.Clone(l.Approvals)
		if l.Complete() {
			r.Ended = l.Ended
		}
		if l.Abort != nil {
			abort := *l.Abort
			abort.Said, abort.Evidence = "", evidence(l.Troubles)
			if rev.Abort != nil && !abort.Held.IsZero() {
				abort.Evidence = rev.Abort.Evidence
			}
			r.Abort = &abort
		}
		if l.Complete() || l.Abort != nil {
			r.Reached = l.MostReached(rev.Reached, work.Having(v.Notes.Works, rev.Hash))
		}
	})
}

// evidence returns the reports of the first failed clusters, one line each.
func evidence(troubles []ledger.Trouble) (lines []string) {
	more := 0
	for i := range troubles {
		switch t := &troubles[i]; {
		case t.State != ledger.Failed:
		case len(lines) >= maxEvidence:
			more++
		default:
			line := fmt.Sprintf("%s: %s", t.Cluster, t.Reason)
			if t.Message != "" {
				line += ": " + t.Message
			}
			lines = append(lines, plain.Line(line))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
