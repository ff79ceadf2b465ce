package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// records returns the facts about the rollout that the deciding fields describe. A new rollout, and a retry, begin without any. If the
// status lost them, the facts that this process remembers count; if it has none, nothing is started until deadlines fire again.
func (v *View) records(of *status.Revisions) rollout.Records {
	stored, remembered := &v.Object.Status, &v.Memory.Records
	switch {
	case v.decided != nil:
		return *v.decided
	case of.UpdateRevision == "" || stored.UpdateRevision != "" && stored.UpdateRevision != of.UpdateRevision || v.retries(of):
		return rollout.Records{}
	case (stored.UpdateRevision == "" || v.Memory.RecordsDropped) && remembered.Revision == of.UpdateRevision:
		found := remembered.Records
		v.removeRetried(&found, of.UpdateRevision)
		return found
	case stored.UpdateRevision == "":
		lost := v.hasBegun(of.UpdateRevision)
		return rollout.Records{Lost: lost, Uncounted: lost}
	}
	found := status.RecordsOf(stored)
	found.Lost, found.Uncounted = v.unrecorded(&found), len(found.Counted) == 0 && v.hasBegun(of.UpdateRevision)
	v.removeRetried(&found, of.UpdateRevision)
	return found
}

// removeRecords removes the records whose time satisfies over. The maps may be shared with the memory of this process.
func (v *View) removeRecords(records *rollout.Records, over func(since time.Time) bool) {
	records.Failures = failuresWithout(records.Failures, over)
	records.Rejections = failuresWithout(records.Rejections, over)
	records.Halted = maps.Clone(records.Halted)
	maps.DeleteFunc(records.Halted, func(_ string, since time.Time) bool { return over(since) })
}

func failuresWithout(failures map[string]rollout.Failure, over func(since time.Time) bool) map[string]rollout.Failure {
	left := maps.Clone(failures)
	maps.DeleteFunc(left, func(_ string, f rollout.Failure) bool { return over(f.Since) })
	return left
}

// unrecorded reports whether the status reports a rollout in progress, and does not record which clusters have failed: a release before
// this one wrote it, or an older CRD drops the records. An upgrade of the hub must not start further clusters while one may have failed.
func (v *View) unrecorded(known *rollout.Records) bool {
	stored := &v.Object.Status
	if stored.State != "" || len(known.Failures)+len(known.Rejections)+len(known.Halted) > 0 {
		return false
	}
	told := status.StageOf(stored.Conditions)
	return told == status.Stalled || told == status.RollingOut && v.hasBegun(stored.UpdateRevision)
}

// retries reports whether the rollout is retried: somebody removed status.abortedTime, or the revision records a retry that the status does
// not show yet. An abortedTime in a status that was otherwise lost is not an abort of this rollout.
func (v *View) retries(of *status.Revisions) bool {
	if of.AbortedTime != nil {
		return false
	}
	if v.Object.Status.AbortedTime != nil && v.Object.Status.UpdateRevision != "" {
		return true
	}
	if update := v.revisionOf(of.UpdateRevision); update != nil {
		if _, marked := update.AbortedAt(); marked {
			return true
		}
	}
	reported := status.StageOf(v.Object.Status.Conditions)
	return reported == status.Aborting || reported == status.Aborted
}

// hasBegun reports whether any work has the revision with this hash, written by a hub.
func (v *View) hasBegun(hash string) bool {
	return slices.ContainsFunc(v.Works, func(w work.Work) bool {
		_, written := w.AppliedAt()
		return written && w.Hash() == hash
	})
}
