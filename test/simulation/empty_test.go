package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// uids returns the UIDs of the works, by cluster.
func (s *teller) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, work := range s.Works() {
		uids[work.Namespace] = work.UID
	}
	return uids
}

// TestEmptySelection: OCM creates a PlacementDecision and writes its clusters in a second request. Its controller may die in between. So an
// empty selection deletes works only when the Placement itself says that it selects nothing, or after 3 minutes.
func TestEmptySelection(t *testing.T) {
	for name, empty := range map[string]func(s *teller){
		"of a Placement that is created again": func(s *teller) { s.Recreate("p1") },
		"of a decision that is written again":  func(s *teller) { s.decide("p1", 0, nil) },
		"of a Placement that no controller has counted": func(s *teller) {
			s.decide("p1", 0, nil)
			s.count("p1", 0, false)
		},
		"of a later Placement that is created again": func(s *teller) {
			s.Place("p2", []string{"c1", "c2", "c3"})
			s.Edit("adds p2", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = append(spec.PlacementRefs, progressive("p2", 3, "30s", 0, false))
			})
			s.settle(time.Second)
			s.Recreate("p2")
			s.Place("p1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 3, "30s", 0, false), "c1", "c2", "c3")
			before := s.uids()
			empty(s)
			s.settle(2*time.Minute + 50*time.Second)
			require.Equal(t, before, s.uids(), s.story())
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.settle(time.Minute)
			require.Equal(t, before, s.uids(), s.story())
		})
	}
}

// TestEmptySelectionCounts: the works go 5 seconds after the Placement itself says that it selects nothing. If it never says so, they go
// after 3 minutes.
func TestEmptySelectionCounts(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 3, "30s", 0, false), "c1")
	s.Place("p1")
	s.settle(6 * time.Second)
	require.Empty(t, s.held("c1"), s.story())

	s.Place("p1", []string{"c1"})
	s.settle(10 * time.Second)
	require.Equal(t, "v1", s.held("c1"), s.story())
	s.Recreate("p1")
	s.settle(3*time.Minute + time.Second)
	require.Empty(t, s.held("c1"), s.story())
}

// TestFailureWhileASelectionIsEmpty: a failure that the first placementRef tolerates does not count for a later one that tolerates none,
// for as long as OCM may take to write the decisions of the first.
func TestFailureWhileASelectionIsEmpty(t *testing.T) {
	for name, empty := range map[string]func(s *teller){
		"the Placement is deleted":                      func(s *teller) { s.must(s.API.Delete(Placements, Namespace, "p1", nil)) },
		"the Placement is created again":                func(s *teller) { s.Recreate("p1") },
		"its decision is written again":                 func(s *teller) { s.decide("p1", 0, nil) },
		"its decision is written again, by a new count": func(s *teller) { s.decide("p1", 0, nil); s.count("p1", 0, false) },
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Place("p2", []string{"c1", "c2", "c3", "c4"})
			p1, p2 := soaking(progressive("p1", 3, "30s", 1, true), 10*time.Minute), progressive("p2", 3, "30s", 0, true)
			s.Create("v1", p1, p2)
			s.settle(time.Hour)
			s.hangs("v2", "c1")
			s.settle(time.Minute)
			require.Equal(t, []string{"c1"}, s.failed(), s.story())
			empty(s)
			s.settle(2*time.Minute + 50*time.Second)
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.settle(10 * time.Second)
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			require.Equal(t, "p1", s.placementOf("c1"), s.story())
		})
	}
}

// TestDeadlineWhileAPlacementIsReplaced: while the Placement of a cluster in flight is missing, the cluster does not fail by the deadline
// of a later placementRef.
func TestDeadlineWhileAPlacementIsReplaced(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2"})
	s.Place("p2", []string{"c1", "c2", "c3"})
	s.Create("v1", progressive("p1", 1, "1h", 0, true), progressive("p2", 1, "1m", 0, false))
	s.quiet()
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	require.Equal(t, "v2", s.held("c1"), s.story())
	s.must(s.API.Delete(Placements, Namespace, "p1", nil))
	s.Tell("placement p1 is deleted")
	s.settle(2 * time.Minute)
	require.Empty(t, s.failed(), s.story())
	s.Place("p1", []string{"c1", "c2"})
	s.settle(10 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.settle(time.Hour)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
}
