package lifecycle

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Successes returns a function that reports whether a noted work has succeeded at a revision and passed its success gates. The process
// notes when each success began before it makes a decision.
func (v *Observation) Successes() func(w *work.Work, rev *work.Revision) bool {
	var gates map[*work.Work][]work.Gate
	if l := &v.Before; placement.HasGates(v.Refs) && l.Update.Hash != "" {
		gates = rollout.GatesOf(v.SnapshotOf(l, v.Named(l.Update.Hash), l.Abort != nil))
	}
	return func(w *work.Work, rev *work.Revision) bool {
		if !w.At(rev) {
			return false
		}
		found, _, _ := work.Gated(w, rev, gates[w], v.Now, 0)
		return found.State == work.Succeeded
	}
}
