package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const tested = "Tested"

// isTested sets the condition of the gate on a work.
func isTested(status metav1.ConditionStatus, since time.Duration) rt.WorkOption {
	return rt.With(rt.Condition(tested, status, since))
}

// TestGates has each phase of a cluster with a success gate. The revision was written at 2m, and succeeded at 3m. The time is 10m.
func TestGates(t *testing.T) {
	ref := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append([]rt.RefOption{rt.Progressive(1), rt.Deadline("20m"), rt.Gate(tested), rt.Clusters("c1", "c2")}, options...)...)
	}
	gated := []rt.SnapshotOption{rt.Now(10 * minute), rt.Gated()}
	with := func(options ...rt.SnapshotOption) []rt.SnapshotOption { return append(gated, options...) }
	recorded := rt.Recorded("p1", workv1alpha1.FailureGate, "c1")
	for name, tc := range map[string]struct {
		ref     placement.Ref
		given   []rt.SnapshotOption
		work    []rt.WorkOption
		phase   rollout.Phase
		reason  workv1alpha1.FailureReason
		again   string
		started string
	}{
		"missing":                     {ref: ref(), given: gated, phase: rollout.PhaseValidating, again: "13m0s"},
		"missing past the deadline":   {ref: ref(rt.Deadline("5m")), given: gated, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate},
		"missing without a deadline":  {ref: ref(rt.Deadline("None")), given: gated, phase: rollout.PhaseValidating},
		"unknown":                     {ref: ref(), given: gated, work: []rt.WorkOption{isTested("Unknown", 4*minute)}, phase: rollout.PhaseValidating, again: "14m0s"},
		"true":                        {ref: ref(), given: gated, work: []rt.WorkOption{isTested("True", 4*minute)}, phase: rollout.PhaseSucceeded, started: "c2"},
		"true, and soaks since then":  {ref: ref(rt.Soak(7 * minute)), given: gated, work: []rt.WorkOption{isTested("True", 4*minute)}, phase: rollout.PhaseSoaking, again: "1m0s"},
		"false":                       {ref: ref(), given: gated, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate},
		"false, any number may fail":  {ref: ref(rt.MaxFailures("100%")), given: gated, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate, started: "c2"},
		"false without a deadline":    {ref: ref(rt.Deadline("None")), given: gated, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate},
		"false for a moment":          {ref: ref(), given: with(rt.Settle(3 * second)), work: []rt.WorkOption{isTested("False", 10*minute-second)}, phase: rollout.PhaseValidating, again: "2s"},
		"false after the success":     {ref: ref(), given: gated, work: []rt.WorkOption{isTested("False", 9*minute), rt.SettledAt(6 * minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate},
		"false, retried a moment ago": {ref: ref(), given: with(rt.Now(10*minute), retried(9*minute)), work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseValidating, again: "19m0s"},
		"removed after the success":   {ref: ref(), given: gated, work: []rt.WorkOption{rt.SettledAt(6 * minute), rt.StateChangedAt(9 * minute)}, phase: rollout.PhaseValidating, again: "19m0s"},
		"another group has the gate":  {ref: ref(func(ref *placement.Ref) { ref.Strategy.SuccessGates[0].Groups = []string{"b", "1"} }), given: gated, phase: rollout.PhaseSucceeded, started: "c2"},
		"its group, by index":         {ref: ref(func(ref *placement.Ref) { ref.Strategy.SuccessGates[0].Groups = []string{"0"} }), given: gated, phase: rollout.PhaseValidating, again: "13m0s"},
		"only reported":               {ref: rt.Ref("p1", rt.Progressive(1), rt.ReportGate(tested), rt.Clusters("c1", "c2")), given: gated, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseSucceeded, started: "c2"},
		"after completion":            {ref: ref(), given: gated[:1], work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseSucceeded, started: "c2"},
		"failed before completion":    {ref: ref(), given: []rt.SnapshotOption{gated[0], recorded}, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate},
		"failed before, and healed":   {ref: ref(), given: []rt.SnapshotOption{gated[0], recorded}, work: []rt.WorkOption{isTested("True", 4*minute)}, phase: rollout.PhaseSucceeded, started: "c2"},
		"failed, and open again":      {ref: ref(rt.Soak(7 * minute)), given: with(recorded), work: []rt.WorkOption{isTested("True", 4*minute)}, phase: rollout.PhaseFailed, reason: workv1alpha1.FailureGate, again: "1m0s"},
		"false while the Placement is unknown": {
			ref: ref(rt.Undecided()), given: gated, work: []rt.WorkOption{isTested("False", 4*minute)}, phase: rollout.PhaseValidating, again: "14m0s",
		},
		"over a broker, by a rule": {
			ref: ref(), given: with(rt.Heard(0, "c1", "c2"), rt.Updating(rt.Revision("bbb", rt.Rules(tested, "Progressing")))),
			work: []rt.WorkOption{isTested("True", 4*minute)}, phase: rollout.PhaseSucceeded, started: "c2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(append([]rt.SnapshotOption{rt.Refs(tc.ref), rt.Works(done("c1", tc.work...), old("c2"))}, tc.given...)...)
			require.Equal(t, tc.phase, p.Phases()["c1"])
			require.Equal(t, tc.reason, p.Records.Failures["c1"].Reason)
			started := ""
			for i := range p.Writes {
				if p.Writes[i].Cluster == "c2" {
					started = "c2"
				}
			}
			require.Equal(t, tc.started, started)
			require.False(t, p.Complete)
			if tc.again != "" {
				require.Equal(t, tc.again, p.Recheck.String())
			}
		})
	}
}

// retried simulates a user's retry of c1.
func retried(at time.Duration) rt.SnapshotOption {
	return func(s *rollout.Snapshot) { s.Retried = map[string]time.Time{"c1": rt.At(at)} }
}

// TestGateAborts: the reason for an abort names the gate, and so does the record, for the evidence.
func TestGateAborts(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), rt.Gate(tested), rt.Clusters("c1", "c2"))
	p := decide(rt.Now(10*minute), rt.Gated(), rt.Refs(ref), rt.Works(done("c1", isTested("False", 4*minute)), done("c2", isTested("True", 4*minute))))
	require.NotNil(t, p.Abort)
	require.Equal(t, "placement p1: 1 of 2 clusters failed (c1): success gate Tested not True, maxFailures is 0", p.Abort.Reason)
	require.Equal(t, tested, p.Records.Failures["c1"].Gate)
}

// TestGateOfAClusterThatIsAway: a cluster that becomes unavailable before its gate is True has not succeeded: the revision may have cut it
// off. The gate also applies while the Placement is missing.
func TestGateOfAClusterThatIsAway(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline("20m"), rt.AbortAll(), rt.Gate(tested), rt.Clusters("c1"))
	at := func(now time.Duration, ref placement.Ref, more ...rt.WorkOption) *rollout.Snapshot {
		return rt.Snapshot(rt.Rolling("aaa", "bbb"), rt.Gated(), rt.Refs(ref), rt.Unavailable(4*minute, "c2"), rt.Now(now),
			rt.Works(old("c1"), done("c2", more...)))
	}
	waits := rollout.Decide(at(10*minute, ref))
	require.Empty(t, waits.Writes, "it occupies the slot")
	require.Equal(t, []string{"c2"}, waits.AwaitedAway)
	require.Equal(t, []rollout.GateOutcome{{Placement: "p1", Type: tested, Open: []string{"c2"}}}, waits.Gates, "the conditions name it")
	require.NotNil(t, rollout.Decide(at(23*minute, ref)).Abort)
	require.Len(t, rollout.Decide(at(10*minute, ref, isTested("True", 4*minute))).Writes, 1)

	gone := rollout.Decide(at(23*minute, ref, isTested("True", 4*minute), rt.SettledAt(6*minute), rt.DeletedAt(8*minute)))
	require.Nil(t, gone.Abort, "its success before the deletion counts")
	removed := rollout.Decide(at(10*minute, ref, isTested("False", 9*minute), rt.JustSeenSucceeding(), rt.DeletedAt(8*minute)))
	require.Nil(t, removed.Abort, "the deletion removes what the gate tests")
	settled := rollout.Decide(at(23*minute, ref, isTested("Unknown", 8*minute), rt.SettledAt(6*minute)))
	require.Nil(t, settled.Abort, "its success has settled")
	require.Len(t, settled.Writes, 1)
	missing := at(10*minute, rt.Ref("p1", rt.Progressive(1), rt.Gate(tested), rt.Missing()))
	require.Len(t, rollout.GatesOf(missing)[&missing.Works[1]], 1)
}

// TestGatesDoNotHoldAReturn: a restore, and a return to the current revision, do not wait for a gate.
func TestGatesDoNotHoldAReturn(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("5m"), rt.Gate(tested), rt.Clusters("c1"))
	back := rt.Work("c1", rt.AtRevision("aaa"), rt.WrittenAt(2*minute), rt.Succeeded(3*minute), isTested("False", 4*minute))
	p := decide(rt.Now(10*minute), rt.Aborted(), rt.Refs(ref), rt.Works(back))
	require.Equal(t, 1, p.Confirmed)
	p = decide(rt.Now(10*minute), rt.Rolling("aaa", "aaa"), rt.Refs(ref), rt.Works(back))
	require.True(t, p.Complete)
}

// TestImpossibleGate: over a broker, a gate that no rule sets is an error in the strategy, and nothing is started.
func TestImpossibleGate(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(1), rt.Gate(tested), rt.Clusters("c1", "c2"))
	p := decide(rt.Now(10*minute), rt.Gated(), rt.Heard(0, "c1", "c2"), rt.Refs(ref), rt.Works(old("c1"), old("c2")))
	require.ErrorContains(t, p.Refs[0].Err, "spec.placementRefs[0].rolloutStrategy.successGates[0].conditionType: no condition rule in the template sets Tested")
	require.Empty(t, p.Writes)
	p = decide(rt.Now(10*minute), rt.Heard(0, "c1", "c2"), rt.Refs(ref), rt.Works(old("c1"), old("c2")))
	require.NoError(t, p.Refs[0].Err, "the gate decides nothing any more")
}

// TestGatesOf: the process observes the same gates that the decision uses.
func TestGatesOf(t *testing.T) {
	refs := []placement.Ref{
		rt.Ref("p1", rt.Gate(tested, "a"), rt.Gate("Passed"), rt.ReportGate("Told"), rt.Group("a", "c1"), rt.Group("b", "c2", "c5", "c6")),
		rt.Ref("p2", rt.Clusters("c1", "c3")),
	}
	s := rt.Snapshot(rt.Now(10*minute), rt.Gated(), rt.Refs(refs...), rt.Works(
		done("c1", rt.OfPlacement("p2")), done("c2"), done("c3"), done("c4"), done("c5", rt.OfPlacement("p2"), rt.Deleting()), old("c6")))
	gates, rev := rollout.GatesOf(s), rt.Revision("bbb")
	of := func(i int) []work.Gate { return gates[&s.Works[i]] }
	require.Equal(t, []work.Gate{rev.Gate(tested), rev.Gate("Passed")}, of(0), "also before it is relabelled")
	require.Equal(t, []work.Gate{rev.Gate("Passed")}, of(1))
	require.Empty(t, of(2))
	require.Equal(t, []work.Gate{rev.Gate("Passed")}, of(3), "nothing selects it, and its group is unknown")
	require.Empty(t, of(4), "it counts for both placementRefs while it is being deleted")
	require.Empty(t, of(5))
}

// TestGateOutcomes: an enforced gate names the clusters that it holds back. A gate that only reports covers each cluster that has the
// revision.
func TestGateOutcomes(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(3), rt.Gate("Passed"), rt.ReportGate(tested), rt.Clusters("c1", "c2", "c3", "c4"))
	p := decide(rt.Now(10*minute), rt.Gated(), rt.Refs(ref), rt.Works(
		done("c1", isTested("True", 4*minute), rt.With(rt.Condition("Passed", "True", 4*minute))),
		done("c2", isTested("False", 4*minute)), inFlight("c3"), old("c4", isTested("True", 0))))
	require.Equal(t, []rollout.GateOutcome{
		{Placement: "p1", Type: "Passed", Open: []string{"c2"}},
		{Placement: "p1", Type: tested, Report: true, True: 1, False: []string{"c2"}, Open: []string{"c3"}},
	}, p.Gates)
	p = decide(rt.Now(10*minute), rt.Aborted(), rt.Refs(ref), rt.Works(done("c1")))
	require.Empty(t, p.Gates)
}
