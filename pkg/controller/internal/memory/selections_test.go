package memory

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	selection "github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// TestGroupsMayFollowTheDecisions: OCM writes the status of a Placement after its decisions, but only if the status changes.
func TestGroupsMayFollowTheDecisions(t *testing.T) {
	s := NewSelections()
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	placement.Status.DecisionGroups = []clusterv1beta1.DecisionGroupStatus{{ClustersCount: 1, Decisions: []string{"p-0"}}}
	of := func(at time.Duration, decision *clusterv1beta1.PlacementDecision) time.Duration {
		_, regrouping := s.PlacementOf(placement, []*clusterv1beta1.PlacementDecision{decision}, rt.At(at))
		return regrouping
	}
	require.Zero(t, of(0, decisionOf(0, "canary", "c1")))
	changed := decisionOf(0, "canary", "c2")
	require.Equal(t, regroupingFor, of(time.Minute, changed))
	require.Equal(t, 4*time.Second, of(time.Minute+time.Second, decisionOf(0, "mid", "c2")), "its label follows")
	require.Zero(t, of(time.Minute+regroupingFor, changed))
	require.Zero(t, of(0, changed), "the clock was set back")
	require.Equal(t, regroupingFor, of(2*time.Minute, decisionOf(0, "canary", "c3")))
	placement = placement.DeepCopy()
	require.Zero(t, of(2*time.Minute, changed))
}

func decisionOf(group int, name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "p-" + strconv.Itoa(group), Labels: map[string]string{
		clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(group), clusterv1beta1.DecisionGroupNameLabel: name,
	}}}
	for _, cluster := range clusters {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return decision
}

// TestSelectionsAreFoundOnce: the selection of a Placement is computed again only when the Placement or one of its decisions is replaced in
// the cache, or when a decision is added or removed.
func TestSelectionsAreFoundOnce(t *testing.T) {
	s := NewSelections()
	first, second := decisionOf(0, "", "c1"), decisionOf(1, "", "c2")
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	of := func(placement *clusterv1beta1.Placement, decisions ...*clusterv1beta1.PlacementDecision) *selection.Placement {
		selected, regrouping := s.PlacementOf(placement, slices.Clone(decisions), rt.At(0))
		require.Zero(t, regrouping)
		require.Equal(t, selection.FromDecisions(placement, decisions), selected)
		return selected
	}
	known := of(placement, first, second)
	require.Same(t, known, of(placement, second, first), "in any order of the index")
	for name, other := range map[string]func() *selection.Placement{
		"another name": func() *selection.Placement {
			return of(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}, first, second)
		},
		"fewer":    func() *selection.Placement { return of(placement, first) },
		"replaced": func() *selection.Placement { return of(placement, first, decisionOf(1, "", "c3")) },
		"status":   func() *selection.Placement { return of(placement.DeepCopy(), first, second) },
	} {
		known := of(placement, first, second)
		require.NotSame(t, known, other(), name)
	}
}
