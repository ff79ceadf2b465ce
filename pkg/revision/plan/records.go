package plan

import (
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// records returns the facts about the rollout that the deciding fields describe. A new rollout, and a retry, begin without any (R4, R11).
// If the status lost them, the facts that this process remembers count; if it has none, nothing is started until the grace has ended (R16).
func (v *View) records(of *status.Revisions) rollout.Records {
	stored, remembered := &v.Object.Status, &v.Memory.Records
	switch {
	case v.Decided != nil:
		return *v.Decided
	case of.UpdateRevision == "" || stored.UpdateRevision != "" && stored.UpdateRevision != of.UpdateRevision || v.retries(of):
		return rollout.Records{}
	case (stored.UpdateRevision == "" || v.Memory.RecordsDropped) && remembered.Revision == of.UpdateRevision:
		return remembered.Records
	case stored.UpdateRevision == "":
		return rollout.Records{Lost: v.hasBegun(of.UpdateRevision)}
	}
	found := status.RecordsOf(stored)
	found.Lost = v.unrecorded(&found)
	return found
}

// unrecorded reports whether the status reports a rollout in progress, and does not record which clusters have failed: a release before this
// one wrote it, or an older CRD drops the records. An upgrade of the hub must not start further clusters while one may have failed.
func (v *View) unrecorded(known *rollout.Records) bool {
	stored := &v.Object.Status
	if stored.State != "" || len(known.Failures)+len(known.Rejections)+len(known.Halted) > 0 {
		return false
	}
	told := status.StageOf(stored.Conditions)
	return told == status.Stalled || told == status.RollingOut && v.hasBegun(stored.UpdateRevision)
}

// retries reports whether somebody removed status.abortedTime: the rollout is retried (R4).
func (v *View) retries(of *status.Revisions) bool {
	if of.AbortedTime != nil || v.Object.Status.AbortedTime != nil {
		return false
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
	return slices.ContainsFunc(v.Works, func(w rollout.Work) bool {
		_, written := w.AppliedAt()
		return written && w.Hash() == hash
	})
}
