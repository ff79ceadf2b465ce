package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Judge enters the results of a plan in the ledger: the failed clusters, and whether the rollout is complete or aborted, or the clusters of
// an abort are restored. If the rollout is aborted or complete, the decision gets a new snapshot.
func Judge(v *View, found Decision, plan *rollout.Plan) Decision {
	d := found
	d.Ledger = found.Ledger.Clone()
	l := &d.Ledger
	l.Served = plan.Served
	if found.Snapshot.Aborted {
		if restorable := plan.Restorable(); plan.Behind == 0 && restorable > 0 && plan.Confirmed >= restorable && l.Abort.Restored.IsZero() {
			l.Abort.Restored = v.Now
		}
		return d
	}
	v.takeRecords(l, &plan.Records)
	if plan.WouldAbort != nil && l.WouldAbort == nil {
		l.WouldAbort = &revision.WouldAbort{
			At: metav1.NewTime(v.Now).Rfc3339Copy().Time, Reason: plan.WouldAbort.Reason, Clusters: work.Having(v.Notes.Works, l.Update.Hash),
		}
	}
	switch {
	case plan.Abort != nil:
		l.Abort = &ledger.Abort{At: metav1.NewTime(v.Now).Rfc3339Copy().Time, Reason: plan.Abort.Reason}
		l.Begun.AtOnce = false
		d.Snapshot = v.Snapshot(l, d.Update, true)
	case plan.Complete && l.Ended.IsZero() && l.Begun.Last().Equal(v.Before.Begun.Last()) && // A beginning in this pass is reported first.
		(v.NoHistory || v.revisionOf(l.Update.Hash) != nil): // A deleted revision is recreated first.
		l.End(v.Now)
		d.Snapshot = v.Snapshot(l, d.Update, false)
	}
	return d
}

// records returns the facts about the rollout in a ledger, without the failures and halts that the annotation retries.
func (v *View) records(l *ledger.Ledger) rollout.Records {
	found := rollout.Records{
		Failures: map[string]rollout.Failure{}, Rejections: map[string]rollout.Failure{}, Degraded: map[string]rollout.Failure{},
		Halted: map[string]time.Time{}, Counted: l.Counted, Uncounted: l.Lost,
	}
	at := v.retryByAnnotation(l)
	over := func(since time.Time) bool { return !at.IsZero() && !v.Now.Before(at) && since.Before(at) }
	for i := range l.Troubles {
		t := &l.Troubles[i]
		failure := rollout.Failure{Placement: t.Placement, Since: t.Since, Reason: t.Reason, Message: t.Message}
		switch {
		case over(t.Since):
		case t.State == ledger.Failed:
			found.Failures[t.Cluster] = failure
		case t.State == ledger.Rejected:
			found.Rejections[t.Cluster] = failure
		case t.State == ledger.Degraded:
			found.Degraded[t.Cluster] = failure
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

// retried returns when users retried clusters.
func retried(l *ledger.Ledger) map[string]time.Time {
	found := map[string]time.Time{}
	for cluster, t := range l.Of(ledger.TriedAgain) {
		found[cluster] = t.Since
	}
	return found
}

// takeRecords enters the facts about the rollout in a ledger.
func (v *View) takeRecords(l *ledger.Ledger, records *rollout.Records) {
	troubles := make([]ledger.Trouble, 0, len(records.Failures)+len(records.Rejections))
	add := func(state ledger.State, facts map[string]rollout.Failure) {
		for cluster, f := range facts {
			troubles = append(troubles, ledger.Trouble{
				Cluster: cluster, State: state, Placement: f.Placement, Since: f.Since, Reason: f.Reason, Message: ledger.Quoted(f.Message),
			})
		}
	}
	add(ledger.Failed, records.Failures)
	add(ledger.Rejected, records.Rejections)
	add(ledger.Degraded, records.Degraded)
	again := l.Of(ledger.TriedAgain)
	for _, cluster := range slices.Sorted(maps.Keys(again)) {
		t := again[cluster]
		if _, failed := records.Failures[cluster]; !failed && !v.writtenSince(cluster, t.Since) {
			if t.Since.After(v.Now) {
				t.Since = v.Now // The clock was set back.
			}
			troubles = append(troubles, t)
		}
	}
	l.SetTroubles(troubles)
	l.Halted, l.Counted = nil, nil
	if len(records.Halted) > 0 {
		l.Halted = records.Halted
	}
	if len(records.Counted) > 0 {
		l.Counted = records.Counted
	}
}

// writtenSince reports whether the retry of a cluster has ended: its work was written since, or it has no work.
func (v *View) writtenSince(cluster string, at time.Time) bool {
	for i := range v.Notes.Works {
		if w := &v.Notes.Works[i]; w.Cluster() == cluster && w.WrittenAt().Before(at) {
			return false
		}
	}
	return true
}

// maxEvidence is the number of failed clusters whose reports the revision records.
const maxEvidence = 10

// RecordOf returns the record of the update revision, in which people can read about its rollout after another rollout has begun.
func (v *View) RecordOf(l *ledger.Ledger, rev *revision.Revision) *revision.Record {
	return rev.Changed(func(r *revision.Record) {
		if rev.Hash != l.Update.Hash {
			return
		}
		r.Began, r.Retried, r.Abort, r.WouldAbort = l.Begun.At, l.Begun.Retried, nil, l.WouldAbort
		if l.Complete() {
			r.Ended = l.Ended
		}
		if l.Abort != nil {
			r.Abort = &revision.Abort{
				At: l.Abort.At, By: l.Abort.By, Reason: l.Abort.Reason, Restored: l.Abort.Restored, Evidence: evidence(l.Troubles), Held: l.Abort.Held,
			}
			if rev.Abort != nil && !l.Abort.Held.IsZero() {
				r.Abort.Evidence = rev.Abort.Evidence
			}
		}
		if l.Complete() || l.Abort != nil {
			r.Reached = ptr.To(v.reached(rev))
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

// reached returns the largest number of clusters that had a revision when a rollout of it ended.
func (v *View) reached(rev *revision.Revision) int32 {
	return max(ptr.Deref(rev.Reached, 0), int32(work.Having(v.Notes.Works, rev.Hash))) //nolint:gosec // No hub has two billion clusters.
}
