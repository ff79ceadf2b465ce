package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestFailureWhileADecisionIsCreated: a tolerated failure does not pass to a later placementRef between the creation of a PlacementDecision
// and the write of its clusters. After that, an empty Placement hands its clusters over.
func TestFailureWhileADecisionIsCreated(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Place("p2", []string{"c1", "c2", "c3", "c4", "c5"})
	p1, p2 := progressive("p1", 3, "30s", 1, true), soaking(progressive("p2", 5, "30s", 0, true), 10*time.Minute)
	s.Create("v1", p1, p2)
	s.quiet()
	s.hangs("v2", "c1")
	s.settle(time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.Recreate("p1")
	s.settle(3 * time.Second)
	require.Equal(t, "p1", s.placementOf("c1"), s.story())
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.settle(10 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())

	s.Place("p1")
	s.Tell("p1 selects nothing any more")
	s.settle(10 * time.Second)
	require.Equal(t, "p2", s.placementOf("c2"), s.story())
}

// TestPercentageWhileDecisionsAreWritten: while decisions or the Placement are missing, maxFailures is a percentage of all clusters that the
// Placement may select.
func TestPercentageWhileDecisionsAreWritten(t *testing.T) {
	var g0, g1 []string
	for i := range 5 {
		g0, g1 = append(g0, fmt.Sprintf("c%d", i)), append(g1, fmt.Sprintf("d%d", i))
	}
	for name, play := range map[string]func(s *teller){
		"the second decision is written again": func(s *teller) {
			s.decide("p1", 1, nil)
			s.settle(2 * time.Second)
			s.decide("p1", 1, g1)
		},
		"half of the first decision is written": func(s *teller) {
			s.decide("p1", 0, g0[:3])
			s.settle(2 * time.Second)
			s.decide("p1", 0, g0)
		},
		"the Placement is created again": func(s *teller) {
			s.must(s.API.Delete(Decisions, Namespace, "p1-decision-1", nil))
			s.must(s.API.Delete(Decisions, Namespace, "p1-decision-2", nil))
			s.must(s.API.Delete(Placements, Namespace, "p1", nil))
			s.settle(2 * time.Second)
			_, err := s.API.Create(Placements, from(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "p1"}}))
			s.must(err)
			s.settle(2 * time.Second)
			s.decide("p1", 0, nil)
			s.settle(2 * time.Second)
			s.decide("p1", 0, g0)
			s.settle(2 * time.Second)
			s.Place("p1", g0, g1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.Place("p1", g0, g1)
			ref := progressive("p1", 2, "30s", 0, true)
			ref.RolloutStrategy.Progressive.MaxFailures = intstr.FromString("20%")
			s.Create("v1", ref)
			s.quiet()
			s.Report("c0", "v2", Hangs)
			s.Report("c1", "v2", Hangs)
			s.Report("c2", "v2", Succeeds)
			ref.RolloutStrategy.Progressive.MinSuccessTime.Duration = 10 * time.Minute
			s.Update("v2")
			s.Edit("soaks", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs[0] = ref })
			s.settle(time.Minute)
			require.Equal(t, []string{"c0", "c1"}, s.failed(), s.story())
			require.Nil(t, s.Object().Status.AbortedTime)
			s.Tell("%s", name)
			play(s)
			s.settle(10 * time.Second)
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			require.Equal(t, []string{"c0", "c1"}, s.failed(), s.story())
		})
	}
}

// TestPercentageOfAnOverlappedPlacement: the percentage for a missing Placement includes the clusters that a later placementRef also
// selects.
func TestPercentageOfAnOverlappedPlacement(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"})
	s.Place("p2", []string{"c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "d0"})
	p1, p2 := progressive("p1", 10, "30s", 0, true), progressive("p2", 10, "30s", 0, false)
	p1.RolloutStrategy.Progressive.MaxFailures = intstr.FromString("20%")
	p1.RolloutStrategy.Progressive.MinSuccessTime.Duration = 10 * time.Minute
	s.Create("v1", p1, p2)
	s.quiet()
	s.hangs("v2", "c0", "c1")
	s.settle(time.Minute)
	require.Equal(t, []string{"c0", "c1"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.must(s.API.Delete(Placements, Namespace, "p1", nil))
	s.Tell("placement p1 is deleted")
	s.settle(3 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestDeselectedClusterOfAnotherGroup: a deselected cluster counts for the decision group in which it failed.
func TestDeselectedClusterOfAnotherGroup(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a2"}, []string{"b1", "b2"})
	p1 := soaking(perGroup("p1", "30s", 1, true), 10*time.Minute)
	s.Create("v1", p1)
	s.settle(time.Hour)
	s.hangs("v2", "a1", "a2")
	s.settle(10 * time.Second)
	s.Place("p1", []string{"a1", "b1"}, []string{"a2", "b2"})
	s.settle(time.Minute)
	require.Equal(t, []string{"a1", "a2"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.Place("p1", []string{"a1", "b1"}, []string{"b2"})
	s.settle(2 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestDeselectedFormerCanary: the same applies to a group that tolerates no failure.
func TestDeselectedFormerCanary(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a2"}, []string{"b1", "b2"})
	p1 := progressive("p1", 2, "30s", 1, true)
	p1.RolloutStrategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "g0"}}
	p1.RolloutStrategy.Progressive.MinSuccessTime.Duration = 10 * time.Minute
	s.Create("v1", p1)
	s.settle(time.Hour)
	require.NotEmpty(t, s.Object().Status.CurrentRevision)
	s.hangs("v2", "a2")
	s.settle(10 * time.Second)
	s.Place("p1", []string{"a1"}, []string{"a2", "b1", "b2"})
	s.settle(time.Minute)
	require.Equal(t, []string{"a2"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.Place("p1", []string{"a1"}, []string{"b1", "b2"})
	s.settle(2 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestFailureBetweenTwoDecisions: a failed cluster that is between two decisions of the first placementRef causes no abort for a later one,
// although the count matches.
func TestFailureBetweenTwoDecisions(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a3"}, []string{"b1"})
	s.Place("p2", []string{"a1", "a2", "a3", "b1", "c1"})
	p1, p2 := soaking(progressive("p1", 3, "30s", 1, true), 10*time.Minute), progressive("p2", 3, "30s", 0, true)
	s.Create("v1", p1, p2)
	s.settle(time.Hour)
	s.hangs("v2", "a3")
	s.settle(time.Minute)
	require.Equal(t, []string{"a3"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.decide("p1", 0, []string{"a1", "a2"})
	s.Tell("a2 joins p1, which moves a3: the first decision is written")
	s.settle(time.Second)
	s.Place("p1", []string{"a1", "a2"}, []string{"a3", "b1"})
	s.settle(2 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestCompletionBetweenTwoDecisions: the rollout is not complete while a failed cluster is between two decisions. No cluster belongs to two
// placementRefs at the same time.
func TestCompletionBetweenTwoDecisions(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a3"}, []string{"b1"})
	s.Place("p2", []string{"a2", "c1"})
	s.Create("v1", progressive("p1", 3, "30s", 0, false), progressive("p2", 3, "30s", 0, false))
	s.quiet()
	v1 := s.Object().Status.CurrentRevision
	s.hangs("v2", "a3")
	s.settle(5 * time.Minute)
	require.Equal(t, v1, s.Object().Status.CurrentRevision, s.story())
	s.decide("p1", 0, []string{"a1", "a2"})
	s.Tell("a2 joins p1, which moves a3: the first decision is written")
	s.settle(time.Second)
	s.Place("p1", []string{"a1", "a2"}, []string{"a3", "b1"})
	s.settle(2 * time.Second)
	require.Equal(t, v1, s.Object().Status.CurrentRevision, s.story())
}
