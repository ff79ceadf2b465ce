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
// empty selection deletes works only when the Placement itself reports that it selects nothing, or after 3 minutes.
func TestEmptySelection(t *testing.T) {
	for name, empty := range map[string]func(s *teller){
		"of a Placement that is created again": func(s *teller) { s.Recreate("p1") },
		"of a decision that is written again":  func(s *teller) { s.decide("p1", 0, nil) },
		"of a Placement that no controller has counted": func(s *teller) {
			s.decide("p1", 0, nil)
			s.count("p1", 0, false, nil)
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

// TestPlacementWithoutAStatus: a Placement was created again, and OCM's placement controller died after the first, empty decision. While
// its successor writes the decisions, no work of a later group is deleted.
func TestPlacementWithoutAStatus(t *testing.T) {
	s := checkedStory(t)
	groups := []DecisionGroup{{"canary", []string{"c1"}}, {"", []string{"c2"}}}
	s.PlaceGroups("p1", func(bool) {}, groups...)
	s.Create("v1", progressive("p1", 2, "30s", 0, true))
	s.settle(time.Minute)
	s.Recreate("p1")
	s.settle(137 * time.Second)
	s.PlaceGroups("p1", func(bool) {
		s.settle(0)
		s.has("v1", "c1", "c2")
	}, groups...)
	s.quiet()
	s.has("v1", "c1", "c2")
}
