package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// A process that has not reported anything takes the decisions from the ledger, and the rest of the last report from the status.
func TestToldBy(t *testing.T) {
	decided := func(changes ...func(*ledger.Ledger)) *ledger.Ledger {
		l := &ledger.Ledger{}
		l.Begin(ledger.Named{Hash: "bbb"}, ledger.New, now.Time, false)
		for _, change := range changes {
			change(l)
		}
		return l
	}
	ended := func(l *ledger.Ledger) { l.End(now.Time) }
	aborted := func(l *ledger.Ledger) { l.Abort = &revision.Abort{} }
	update := func(state workv1alpha1.RevisionState) []workv1alpha1.RevisionStatus {
		return []workv1alpha1.RevisionStatus{{Hash: "aaa", State: workv1alpha1.RevisionArchived}, {Hash: "bbb", State: state}}
	}
	for name, tc := range map[string]struct {
		state     workv1alpha1.State
		revisions []workv1alpha1.RevisionStatus
		ledger    *ledger.Ledger
		stage     status.Stage
	}{
		"nothing":                             {ledger: &ledger.Ledger{}},
		"rolling out":                         {state: workv1alpha1.StateRollingOut, ledger: decided(), stage: status.RollingOut},
		"lost":                                {ledger: decided(), stage: status.RollingOut},
		"stalled":                             {state: workv1alpha1.StateStalled, ledger: decided(), stage: status.Stalled},
		"complete":                            {state: workv1alpha1.StateComplete, ledger: decided(ended), stage: status.Complete},
		"complete, from a backup":             {state: workv1alpha1.StateRollingOut, ledger: decided(ended), stage: status.Complete},
		"complete, and refused":               {state: workv1alpha1.StateStalled, ledger: decided(ended), stage: status.Complete},
		"aborting":                            {state: workv1alpha1.StateAborting, ledger: decided(aborted), stage: status.Aborting},
		"aborted":                             {state: workv1alpha1.StateAborted, ledger: decided(aborted), stage: status.Aborted},
		"paused":                              {workv1alpha1.StatePaused, update(workv1alpha1.RevisionProgressing), decided(), status.RollingOut},
		"paused and stalled":                  {workv1alpha1.StatePaused, update(workv1alpha1.RevisionNotReady), decided(), status.Stalled},
		"a strategy is invalid, and stalled":  {workv1alpha1.StateInvalid, update(workv1alpha1.RevisionNotReady), decided(), status.Stalled},
		"another template waits, and stalled": {workv1alpha1.StateRollingOut, update(workv1alpha1.RevisionNotReady), decided(), status.Stalled},
		"paused without any revisions":        {state: workv1alpha1.StatePaused, ledger: decided(), stage: status.RollingOut},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &workv1alpha1.ManifestWorkReplicaSetStatus{
				State: tc.state, Revisions: tc.revisions, UpdateRevision: "bbb", AwaitingApproval: []string{"canary"},
			}
			require.Equal(t, status.Told{
				Stage: tc.stage, Update: tc.ledger.Update.Hash, Paused: tc.state == workv1alpha1.StatePaused, Awaiting: []string{"canary"},
			}, status.ToldBy(stored, tc.ledger))
		})
	}
}

func TestTransitions(t *testing.T) {
	for _, tc := range []struct {
		name     string
		was, is  status.Stage
		another  bool
		expected []status.Transition
	}{
		{"the first rollout", "", status.RollingOut, true, []status.Transition{status.Started}},
		{"a status that was lost, of what is complete", "", status.Complete, true, nil},
		{"a status that was lost, of what is aborted", "", status.Aborted, true, nil},
		{"a status that was lost, of what is stalled", "", status.Stalled, true, nil},
		{"it goes on", status.RollingOut, status.RollingOut, false, nil},
		{"a new template in the middle", status.RollingOut, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after a rollout", status.Complete, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after a stall", status.Stalled, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after an abort", status.Aborted, status.RollingOut, true, []status.Transition{status.Started}},
		{"a retry after an abort", status.Aborted, status.RollingOut, false, []status.Transition{status.Started}},
		{"a retry in the middle of an abort", status.Aborting, status.RollingOut, false, []status.Transition{status.Started}},
		{"complete", status.RollingOut, status.Complete, false, []status.Transition{status.Completed}},
		{"complete after a stall", status.Stalled, status.Complete, false, []status.Transition{status.Completed}},
		{"still complete", status.Complete, status.Complete, false, nil},
		{"stalled", status.RollingOut, status.Stalled, false, []status.Transition{status.Stopped}},
		{"healed", status.Stalled, status.RollingOut, false, []status.Transition{status.Resumed}},
		{"an abort", status.RollingOut, status.Aborting, false, []status.Transition{status.AbortDecided}},
		{"an abort after a stall", status.Stalled, status.Aborting, false, []status.Transition{status.AbortDecided}},
		{"an abort that goes on", status.Aborting, status.Aborting, false, nil},
		{"carried out", status.Aborting, status.Aborted, false, []status.Transition{status.AbortCarriedOut}},
		{"carried out in one", status.RollingOut, status.Aborted, false, []status.Transition{status.AbortDecided, status.AbortCarriedOut}},
		{"a work has to go back again", status.Aborted, status.Aborting, false, nil},
		{"still aborted", status.Aborted, status.Aborted, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := status.Told{Stage: tc.was, Update: "bbb"}, status.Told{Stage: tc.is, Update: "bbb"}
			if tc.another {
				before.Update = "aaa"
			}
			require.Equal(t, tc.expected, status.Transitions(&before, &after))
		})
	}
}
