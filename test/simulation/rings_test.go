package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// drawRings lists decision groups in half of the strategies. The last group rarely exists.
func drawRings(t *rapid.T) []workv1alpha1.RolloutGroup {
	bake := func() *metav1.Duration {
		return &metav1.Duration{Duration: rapid.SampledFrom([]time.Duration{0, 20 * time.Second, 5 * time.Minute}).Draw(t, "bakeTime")}
	}
	g0 := workv1alpha1.RolloutGroup{GroupName: "g0", BakeTime: bake()}
	g1 := workv1alpha1.RolloutGroup{GroupIndex: ptr.To[int32](1), BakeTime: bake()}
	lists := [][]workv1alpha1.RolloutGroup{nil, nil, nil, {g0}, {g1}, {g1, g0}, {{GroupName: "none"}}}
	return rapid.SampledFrom(lists).Draw(t, "groups")
}

// listing adds listed decision groups to a placementRef.
func listing(ref workv1alpha1.LocalPlacementReference, groups ...workv1alpha1.RolloutGroup) workv1alpha1.LocalPlacementReference {
	ref.RolloutStrategy.Groups = groups
	return ref
}

// group is a listed group with a bakeTime.
func group(name string, bake time.Duration) workv1alpha1.RolloutGroup {
	return workv1alpha1.RolloutGroup{GroupName: name, BakeTime: &metav1.Duration{Duration: bake}}
}

// TestStoriesOfRings plays named stories in which listed decision groups go first.
func TestStoriesOfRings(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"the listed groups go first and bake": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"}, []string{"c4"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.quiet()
			s.Edit("lists groups", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0] = listing(spec.PlacementRefs[0], group("g2", 10*time.Minute), group("g1", time.Hour))
			})
			s.Update("v2")
			s.settle(time.Minute)
			s.conditions()
			s.settle(10 * time.Minute)
			s.conditions()
			s.quiet()
		},
		"a listed group that fails is aborted": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			s.Create("v1", listing(progressive("p1", 2, "30s", 0, true), group("g1", time.Minute)))
			s.quiet()
			s.hangs("v2", "c3")
			s.quiet()
		},
		"a listed group that fails within maxFailures holds the others until a cluster of it succeeds": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			s.Create("v1", listing(progressive("p1", 2, "30s", 1, true), group("g1", time.Minute)))
			s.quiet()
			s.hangs("v2", "c3")
			s.quiet()
			s.Report("c3", "v2", Succeeds)
			s.quiet()
		},
		"a listed group that does not exist holds the others": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.quiet()
			s.Edit("lists a group", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0] = listing(spec.PlacementRefs[0], group("canary", time.Hour))
			})
			s.Update("v2")
			s.settle(time.Minute)
			s.conditions()
			s.quiet()
			s.Edit("corrects the group", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0].RolloutStrategy.Groups[0].GroupName = "g1"
			})
			s.quiet()
		},
		"clusters join a listed group in the middle and after the end": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			s.Create("v1", listing(progressive("p1", 2, "30s", 0, true), group("g1", 10*time.Minute)))
			s.quiet()
			s.Update("v2")
			s.settle(5 * time.Minute)
			s.Place("p1", []string{"c1", "c2", "c5"}, []string{"c3", "c4"})
			s.settle(6 * time.Minute)
			s.conditions()
			s.quiet()
			s.Place("p1", []string{"c1", "c2", "c5"}, []string{"c3", "c4", "c6"})
			s.quiet()
		},
	})
}

// TestBakeTimeOutlivesTheHub: the bakeTime continues, even if the hub loses its state or is killed at any write.
func TestBakeTimeOutlivesTheHub(t *testing.T) {
	for write := range 8 {
		s := checkedStory(t)
		s.Place("p1", []string{"c1"}, []string{"c2"})
		s.Create("v1", listing(progressive("p1", 2, "30s", 0, true), group("g1", 10*time.Minute)))
		s.quiet()
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.settle(2 * time.Minute)
		s.Fault = nil
		require.Equal(t, "v2", s.held("c2"))
		for range 4 {
			s.restarts()
			s.settle(90 * time.Second)
			require.Equal(t, "v1", s.held("c1"), s.story())
		}
		s.settle(5 * time.Minute) // At most 13 minutes after the template.
		require.Equal(t, "v2", s.held("c1"), s.story())
		s.quiet()
	}
}

// TestBakeTimeAndClocks: if a hub's clock is set back, the wait gets longer by at most the bakeTime, and never shorter.
func TestBakeTimeAndClocks(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1"}, []string{"c2"})
	s.Create("v1", listing(progressive("p1", 2, "30s", 0, true), group("g1", 10*time.Minute)))
	s.quiet()
	s.Update("v2")
	s.settle(2 * time.Minute)
	s.SetBack(time.Hour)
	s.settle(10 * time.Minute)
	require.Equal(t, "v1", s.held("c1"), s.story())
	s.settle(10 * time.Minute)
	require.Equal(t, "v2", s.held("c1"), s.story())
}

// TestGroupsThatOCMMoves: when the canary group disappears, OCM writes the clusters of the next group into the decision that still has the
// canary's label. No cluster of that group starts before its turn.
func TestGroupsThatOCMMoves(t *testing.T) {
	canary := workv1alpha1.RolloutGroup{GroupName: "canary", MaxFailures: ptr.To(intstr.FromInt32(0)), BakeTime: &metav1.Duration{Duration: time.Hour}}
	mid := workv1alpha1.RolloutGroup{GroupName: "mid", Approval: workv1alpha1.ApprovalRequired, MaxFailures: ptr.To(intstr.FromInt32(1))}
	first := clusterv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}}
	perGroup := progressive("p1", 3, "30m", 0, true)
	perGroup.RolloutStrategy.Type = clusterv1alpha1.ProgressivePerGroup
	perGroup.RolloutStrategy.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: perGroup.RolloutStrategy.Progressive.RolloutConfig}
	mandatory := progressive("p1", 3, "30m", 0, true)
	mandatory.RolloutStrategy.Progressive.MandatoryDecisionGroups = first
	for name, ref := range map[string]workv1alpha1.LocalPlacementReference{
		"an approval":             listing(progressive("p1", 3, "30m", 0, true), canary, mid),
		"a mandatory group":       mandatory,
		"one group after another": perGroup,
	} {
		t.Run(name, func(t *testing.T) {
			s, listed := checkedStory(t), len(ref.RolloutStrategy.Groups) > 0
			for _, cluster := range []string{"c1", "c2", "c3", "c4"} {
				s.haveAgent(cluster)
			}
			old := []DecisionGroup{{"canary", []string{"c1"}}, {"mid", []string{"c2", "c3"}}, {"", []string{"c4"}}}
			s.PlaceGroups("p1", func(bool) {}, old...)
			s.Create("v1", ref)
			s.settle(time.Minute)
			s.Approve("mid", s.hashOf("v1"))
			s.settle(2 * time.Hour)
			s.has("v1", "c1", "c2", "c3", "c4")
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.settle(10 * time.Second)
			require.Equal(t, "v2", s.held("c1"), s.story())
			s.PlaceGroups("p1", func(shown bool) {
				s.settle(time.Second)
				if !shown || listed { // Without rolloutStrategy.groups, mid is now the first group.
					s.has("v1", "c2", "c3", "c4")
				}
			}, DecisionGroup{"mid", []string{"c2", "c3"}}, DecisionGroup{"", []string{"c1", "c4"}})
			s.settle(5 * time.Minute)
			require.Equal(t, listed, s.held("c2") == "v1", s.story())
			require.Nil(t, s.Object().Status.AbortedTime)
		})
	}
}
