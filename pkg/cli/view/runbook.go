package view

import (
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The path of the runbook in the repository, and the address of the repository's files.
const (
	runbookPath = "docs/runbook.md"
	repository  = "https://github.com/open-cluster-management-io/work-rollback/blob/main/"
)

// Runbook is the section of the runbook that applies to a state.
type Runbook string

// Path returns the path of the section in the repository.
func (r Runbook) Path() string { return runbookPath + "#" + string(r) }

// Address returns the URL of the section.
func (r Runbook) Address() string { return repository + r.Path() }

// runbookOf returns the section that applies to a rollout; empty if no user needs to act.
func runbookOf(rs *workv1alpha1.ManifestWorkReplicaSet, f *Fleet) Runbook {
	switch {
	case len(f.Alarms) > 0:
		return "the-hub-does-not-run"
	case f.State == workv1alpha1.StateAborting, f.State == workv1alpha1.StateAborted:
		return "a-rollout-was-aborted"
	case f.State.IsStalled():
		return "a-rollout-is-stalled"
	case f.State == workv1alpha1.StateInvalid, lacksLedger(rs):
		return "an-object-cant-be-rolled-out"
	case f.State == workv1alpha1.StatePaused:
		return "an-object-is-paused"
	case slices.ContainsFunc(f.Attention, func(a Alike) bool { return LevelOf(string(a.State)) == LevelBad }):
		return "a-cluster-does-not-follow"
	}
	return ""
}
