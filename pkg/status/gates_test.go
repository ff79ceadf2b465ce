package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestGateMessage: the message comes from the manifest, or else from the work, and must be for the work's generation.
func TestGateMessage(t *testing.T) {
	condition := func(status metav1.ConditionStatus, generation int64, message string) metav1.Condition {
		return metav1.Condition{Type: "Tested", Status: status, Reason: "R", Message: message, ObservedGeneration: generation}
	}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	require.Equal(t, "the ManifestWork has no condition Tested for its generation 2", GateMessage(work, "Tested"))
	work.Status.Conditions = []metav1.Condition{condition("False", 1, "before")}
	require.Equal(t, "the ManifestWork has no condition Tested for its generation 2", GateMessage(work, "Tested"))
	work.Status.Conditions = []metav1.Condition{condition("Unknown", 2, "no traffic")}
	require.Equal(t, "Tested=Unknown: no traffic", GateMessage(work, "Tested"))
	work.Status.Conditions = []metav1.Condition{condition("False", 2, "Aggregated from 2 manifest conditions")}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{
		{Conditions: []metav1.Condition{condition("True", 2, "fine")}},
		{ResourceMeta: workv1.ManifestResourceMeta{Kind: "Job", Namespace: "shop", Name: "smoke"}, Conditions: []metav1.Condition{condition("False", 2, "no checkout")}},
	}
	require.Equal(t, "Job shop/smoke: Tested=False: no checkout", FailureMessage(work, "Tested"))
	require.NotContains(t, FailureMessage(work, ""), "Tested")
}

// TestGatesNote: the note names the clusters that a gate holds back. For a gate that only reports, it counts the clusters.
func TestGatesNote(t *testing.T) {
	in := &Input{Plan: &rollout.Plan{Gates: []rollout.GateOutcome{
		{Placement: "p1", Type: "Tested", Open: []string{"c1", "c2"}},
		{Placement: "p1", Type: "Told", Report: true, True: 2, False: []string{"c3"}, Open: []string{"c4"}},
		{Placement: "p2", Type: "Told", Report: true, True: 1},
	}}}
	require.Equal(t, "success gate Tested of placement p1 is not True yet on 2 clusters (c1, c2); "+
		"success gate Told of placement p1, only reported: True on 2 clusters, False on 1 cluster (c3), not set on 1 cluster (c4); "+
		"success gate Told of placement p2, only reported: True on 1 cluster", gatesNote(in))
	require.Empty(t, gatesNote(&Input{Plan: &rollout.Plan{}}))
}
