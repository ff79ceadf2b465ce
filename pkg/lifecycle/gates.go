package lifecycle

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Successes returns a function that reports whether a work has succeeded at a revision, as its success gates allow. owners are the owners of
// the clusters, and update is the update revision. Before a decision, the process notes since when each success lasts.
func (v *Observation) Successes(owners map[string]int, update *work.Revision) func(w *work.Work, rev *work.Revision) bool {
	gates := v.gatesOf(owners, update)
	return func(w *work.Work, rev *work.Revision) bool {
		if !w.At(rev) {
			return false
		}
		found, _, _ := work.Gated(w, rev, gates(w), v.Now, 0)
		return found.State == work.Succeeded
	}
}

// gatesOf returns a function that returns the success gates of a work. They are those of assess in package rollout.
func (v *Observation) gatesOf(owners map[string]int, update *work.Revision) func(w *work.Work) []work.Gate {
	if !placement.HasGates(v.Refs) {
		return func(*work.Work) []work.Gate { return nil }
	}
	l := &v.Before
	of, gated, failed := rollout.GatesOf(v.Refs, owners, update), l.Gated(), l.TroublesIn(ledger.Failed)
	return func(w *work.Work) []work.Gate {
		owner, owned := owners[w.Cluster()]
		switch {
		case !owned, w.PlacementName() != v.Refs[owner].Name, w.Hash() != l.Update.Hash:
			return nil
		case !gated && failed[w.Cluster()].Reason != workv1alpha1.FailureGate:
			return nil
		}
		return of(w.Cluster())
	}
}
