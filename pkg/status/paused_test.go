package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// paused returns the input of a paused object.
func paused(stage status.Stage, differs bool, options ...rt.SnapshotOption) *status.Input {
	in := input(stage, append(options, rt.Paused())...)
	in.Object.Spec.Paused, in.TemplatePending = true, differs
	return in
}

func conditionOf(in *status.Input, conditionType string) *metav1.Condition {
	built := build(in)
	return meta.FindStatusCondition(built.Conditions, conditionType)
}

// The condition Paused counts the held actions, and describes how to resume.
func TestPausedCounts(t *testing.T) {
	one, three := p1(rt.AbortAll(), rt.Clusters("c1")), p1(rt.AbortAll(), rt.Clusters("c1", "c2", "c3"))
	const begins, ends = "spec.paused is true: the hub does not create, change or delete ManifestWorks; ", "; set spec.paused to false to resume"
	const waits = "spec.manifestWorkTemplate differs from revision web-bbb, and will be rolled out after the pause"
	for name, tc := range map[string]struct {
		in   *status.Input
		want string
	}{
		"nothing":   {paused(status.RollingOut, false, one, rt.Works(inFlight("c1"))), "no changes are held back"},
		"a rollout": {paused(status.RollingOut, false, three, rt.Works(done("c1"), old("c2"), old("c3"))), "held back: revision web-bbb on 1 cluster (c2)"},
		"an abort under way": {
			paused(status.Aborting, false, three, rt.Aborted(), rt.Works(done("c1"), old("c2"), done("c3"))),
			"held back: the return to revision web-aaa on 2 clusters (c1, c3)",
		},
		"labels and a deletion": {
			paused(status.Complete, false, one, rt.OwnerLabel("team", "a"), rt.Works(done("c1"), rt.Work("c4", rt.AtRevision("aaa"), rt.Unselected(0)))),
			"held back: labels on 1 cluster (c1), the deletion of the ManifestWork on 1 cluster (c4)",
		},
		"an abort that has nothing to return to": {
			paused(status.Aborting, false, one, rt.Aborted(), rt.Rolling("", "bbb"), rt.OwnerLabel("team", "a"), rt.Works(done("c1"))),
			"held back: labels on 1 cluster (c1)",
		},
		"an abort that is due": {
			paused(status.RollingOut, false, three, rt.Works(failed("c1"), old("c2"), old("c3"))),
			"the rollout of revision web-bbb has failed, and will be aborted after the pause unless these clusters recover: " +
				"placement p1: 1 of 3 clusters failed (c1): not successful within progressDeadline 5m0s, maxFailures is 0",
		},
		"an agent that has no work": {
			paused(status.Complete, false, three, rt.Heard(0, "c1", "c2", "c3"), rt.Works(done("c1"), done("c2"))),
			"held back: revision web-bbb on 1 cluster (c3); no ManifestWork on 1 cluster (c3): an agent that lost its ManifestWork will remove the objects",
		},
		"a template that differs": {paused(status.Complete, true, one, rt.Works(done("c1"))), waits},
		"a template that differs takes the place of what is under way": {
			paused(status.RollingOut, true, three, rt.Works(failed("c1"), old("c2"))), waits,
		},
		"and of the clusters that it has not reached": {paused(status.RollingOut, true, three, rt.Works(done("c1"), old("c2"), old("c3"))), waits},
		"a template that differs waits for the abort": {
			paused(status.Aborting, true, one, rt.Aborted(), rt.Works(done("c1"))), "held back: the return to revision web-aaa on 1 cluster (c1); " + waits,
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := conditionOf(tc.in, workv1alpha1.ConditionPaused)
			require.Equal(t, metav1.ConditionTrue, told.Status)
			require.Equal(t, workv1alpha1.ReasonPaused, told.Reason)
			require.EqualValues(t, 7, told.ObservedGeneration)
			require.Equal(t, begins+tc.want+ends, told.Message)
		})
	}
}

// Progressing keeps its reason, and is Unknown if it would be True without the pause. kstatus treats it like the condition of a paused
// Deployment: a waiting rollout is in progress, and a failed rollout has failed.
func TestPausedProgressing(t *testing.T) {
	one := p1(rt.Clusters("c1"))
	for name, tc := range map[string]struct {
		in                   *status.Input
		status               metav1.ConditionStatus
		reason               string
		reconciling, stalled bool
	}{
		"rolling out": {
			in: paused(status.RollingOut, false, one), status: metav1.ConditionUnknown, reason: workv1alpha1.ReasonNewRevisionCreated, reconciling: true,
		},
		"complete": {
			in: paused(status.Complete, false, one, rt.Works(done("c1"))), status: metav1.ConditionFalse, reason: workv1alpha1.ReasonNewManifestWorkAvailable,
		},
		"complete, and another template": {
			in: paused(status.Complete, true, one, rt.Works(done("c1"))), status: metav1.ConditionUnknown,
			reason: workv1alpha1.ReasonNewManifestWorkAvailable, reconciling: true,
		},
		"stalled": {
			in: paused(status.Stalled, false, one, rt.Works(failed("c1"))), status: metav1.ConditionFalse,
			reason: workv1alpha1.ReasonProgressDeadlineExceeded, stalled: true,
		},
		"stalled, and another template": {
			in: paused(status.Stalled, true, one, rt.Works(failed("c1"))), status: metav1.ConditionUnknown,
			reason: workv1alpha1.ReasonProgressDeadlineExceeded, reconciling: true,
		},
		"aborting": {
			in: paused(status.Aborting, true, one, rt.Aborted(), rt.Works(done("c1"))), status: metav1.ConditionFalse,
			reason: workv1alpha1.ReasonProgressDeadlineExceeded, reconciling: true,
		},
		"aborted": {
			in: paused(status.Aborted, false, one, rt.Aborted(), rt.Works(old("c1"))), status: metav1.ConditionFalse,
			reason: workv1alpha1.ReasonRolloutAborted, stalled: true,
		},
		"aborted, and another template": {
			in: paused(status.Aborted, true, one, rt.Aborted(), rt.Works(old("c1"))), status: metav1.ConditionUnknown,
			reason: workv1alpha1.ReasonRolloutAborted, reconciling: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			built := build(tc.in)
			progressing := meta.FindStatusCondition(built.Conditions, workv1alpha1.ConditionProgressing)
			require.Equal(t, tc.status, progressing.Status)
			require.Equal(t, tc.reason, progressing.Reason)
			require.Equal(t, tc.reconciling, meta.IsStatusConditionTrue(built.Conditions, workv1alpha1.ConditionReconciling))
			require.Equal(t, tc.stalled, meta.IsStatusConditionTrue(built.Conditions, workv1alpha1.ConditionStalled))
			require.EqualValues(t, 7, built.ObservedGeneration)
		})
	}
}

// If another template waits, no condition reports that the clusters have the template in the spec.
func TestPausedTemplateIsNotRolledOut(t *testing.T) {
	one := p1(rt.Clusters("c1"))
	for _, conditionType := range []string{workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ConditionPlacementRolledOut} {
		require.Equal(t, metav1.ConditionTrue, conditionOf(paused(status.Complete, false, one, rt.Works(done("c1"))), conditionType).Status)
		waits := conditionOf(paused(status.Complete, true, one, rt.Works(done("c1"))), conditionType)
		require.Equal(t, metav1.ConditionFalse, waits.Status)
		require.Contains(t, waits.Message, "spec.manifestWorkTemplate differs")
	}
}

// Held actions are named in the order of the clusters, regardless of the order of the writes (P7).
func TestPausedNamesInOrder(t *testing.T) {
	in := paused(status.RollingOut, false, p1(rt.Clusters("c1", "c2")))
	in.Plan.Held.Writes = []rollout.Write{{Action: rollout.Update, Cluster: "c2"}, {Action: rollout.Create, Cluster: "c1"}}
	require.Contains(t, conditionOf(in, workv1alpha1.ConditionPaused).Message, "on 2 clusters (c1, c2)")
	require.Equal(t, "c2", in.Plan.Held.Writes[0].Cluster)
}
