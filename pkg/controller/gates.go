package controller

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// gatesOf returns a function that returns the success gates of a work. The decisions have the same ones (assess in package rollout).
func (c *Controller) gatesOf(p *pass, owners map[string]int, update *work.Revision) func(w *work.Work) []work.Gate {
	if !placement.HasGates(p.facts.Refs) {
		return func(*work.Work) []work.Gate { return nil }
	}
	before := &p.facts.Before
	of, gated, failed := rollout.GatesOf(p.facts.Refs, owners, update), before.Gated(), before.Of(ledger.Failed)
	return func(w *work.Work) []work.Gate {
		if w.Hash() != before.Update.Hash || !gated && failed[w.Cluster()].Reason != workv1alpha1.FailureGate {
			return nil
		}
		return of(w.Cluster())
	}
}

// succeeds reports whether a work succeeds at its revision now.
func succeeds(w *work.Work, rev *work.Revision, gates []work.Gate, now time.Time) bool {
	found, _, _ := work.Gated(w, rev, gates, now, 0)
	return found.State == work.Succeeded
}
