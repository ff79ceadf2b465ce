package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestPercentageOfAPlacementThatShrinks: maxFailures is a percentage of the largest number of clusters that have counted for the
// placementRef since the rollout began. So a Placement that shrinks does not abort the rollout, even if the hub loses its state.
func TestPercentageOfAPlacementThatShrinks(t *testing.T) {
	parallel := progressive("p1", 4, "30s", 0, true)
	parallel.RolloutStrategy.Progressive.MaxFailures = intstr.FromString("25%")
	parallel.RolloutStrategy.Progressive.MinSuccessTime.Duration = 10 * time.Minute
	grouped := perGroup("p1", "30s", 0, true)
	grouped.RolloutStrategy.ProgressivePerGroup.MaxFailures = intstr.FromString("25%")
	grouped.RolloutStrategy.ProgressivePerGroup.MinSuccessTime.Duration = 10 * time.Minute
	for name, meanwhile := range map[string]func(s *teller){
		"one process":   func(*teller) {},
		"two processes": func(s *teller) { s.Restart() },
		"a status that lost the number": func(s *teller) {
			s.forgetCounted()
			s.Restart()
		},
		"a status that was wiped": func(s *teller) {
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
			s.Restart()
		},
	} {
		for kind, ref := range map[string]workv1alpha1.LocalPlacementReference{"Progressive": parallel, "ProgressivePerGroup": grouped} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := checkedStory(t)
				s.Place("p1", []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"})
				s.Create("v1", ref)
				s.settle(time.Hour)
				s.hangs("v2", "c1", "c2")
				s.settle(40 * time.Second)
				require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
				meanwhile(s)
				s.Place("p1", []string{"c1", "c2", "c3"})
				s.settle(2 * time.Minute)
				require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
				require.Nil(t, s.Object().Status.AbortedTime, s.story())
			})
		}
	}
}

// TestPercentageOfADeselectedFailure: a failed cluster that was deselected, and whose agent does not release its work, counts like the
// others.
func TestPercentageOfADeselectedFailure(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"})
	ref := progressive("p1", 2, "30s", 0, true)
	ref.RolloutStrategy.Progressive.MaxFailures = intstr.FromString("25%")
	s.Create("v1", ref)
	s.quiet()
	for _, cluster := range []string{"c1", "c2", "c3"} {
		s.Report(cluster, "v2", Hangs)
	}
	s.Report("c3", "v2", Flaps)
	s.Update("v2")
	s.settle(35 * time.Second)
	require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
	s.adversaries.hold.Insert("c1")
	s.Place("p1", []string{"c2", "c3", "c4"})
	s.settle(15 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.Report("c3", "v2", Succeeds)
	s.Report("c2", "v2", Succeeds)
	s.quiet()
	require.Equal(t, "v2", s.held("c4"), s.story())
	require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision, s.story())
}

// forgetCounted removes the largest numbers of clusters from the status.
func (s *teller) forgetCounted() {
	summaries := s.Object().Status.PlacementsSummary
	for i := range summaries {
		summaries[i].Counted = 0
	}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"placementsSummary": summaries}}, true)
	s.Tell("user: removes the number of clusters from the status")
}
