package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfGates plays named stories of success gates.
func TestStoriesOfGates(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"a success gate opens cluster by cluster, and is False on one": func(s *teller) {
			s.Gate("", "v1", "True")
			s.stable(gated(progressive("p1", 1, "30s", 0, true)), "c1", "c2", "c3")
			s.Gate("", "v2", "Unknown")
			s.Update("v2")
			s.settle(10 * time.Second)
			s.Gate("c1", "v2", "True")
			s.settle(10 * time.Second)
			s.Gate("c2", "v2", "False")
			s.quiet()
			s.Gate("", "v3", "True")
			s.Update("v3")
			s.quiet()
		},
	})
}

// TestSuccessGate: the rollout waits for the gate of each cluster, even if the hub stops after each of its writes in turn. A cluster whose
// gate never becomes True fails at its deadline. Restores and repairs do not wait for gates.
func TestSuccessGate(t *testing.T) {
	for write := range 8 {
		s := checkedStory(t)
		s.Gate("", "v1", "True")
		s.stable(gated(progressive("p1", 1, "1m", 0, true)), "c1", "c2")
		s.Update("v2")
		s.Fault = nth(write, KilledAfter)
		s.settle(30 * time.Second)
		s.Fault = nil
		require.Equal(t, "v2", s.held("c1"), s.story())
		require.Equal(t, "v1", s.held("c2"))
		s.says(workv1alpha1.ConditionManifestworkApplied, "success gate Tested of placement p1 is not True yet on 1 cluster (c1)")
		s.Gate("c1", "v2", "True")
		s.settle(30 * time.Second)
		require.Equal(t, "v2", s.held("c2"), s.story())
		require.Equal(t, workv1alpha1.StateRollingOut, s.Object().Status.State)
		s.Gate("", "v1", GateSilent) // The restore does not wait for it.
		s.quiet()
		require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State, s.story())
		require.Equal(t, []string{"c2"}, s.failed())
		require.Equal(t, workv1alpha1.FailureGate, s.Object().Status.Failures[0].Reason)
		require.Equal(t, "the ManifestWork has no condition Tested for its generation 2", s.Object().Status.Failures[0].Message)
		s.everywhere("v1")
	}
}

// TestGateAfterCompletion: after the rollout is complete, a cluster that joins, and one whose work is written again, do not wait for the
// gate.
func TestGateAfterCompletion(t *testing.T) {
	s := checkedStory(t)
	s.Gate("", "v1", "True")
	s.stable(gated(progressive("p1", 1, "30s", 0, true)), "c1", "c2")
	s.Gate("", "v1", "False")
	s.quiet()
	require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State)
	s.Place("p1", []string{"c1", "c2", "c3", "c4"})
	require.NoError(t, s.API.Delete(Works, "c1", "web", nil))
	s.quiet()
	require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State, s.story())
	s.everywhere("v1")
	require.Empty(t, s.failed())
}

// firstGatePassed returns a story in which v2 has succeeded on c1, and waits for its success gate on c2. joined are the clusters that have a
// ManagedCluster.
func firstGatePassed(t *testing.T, joined ...string) *teller {
	s := checkedStory(t)
	s.Join(joined...)
	s.Gate("", "v1", "True")
	s.stable(gated(progressive("p1", 1, "1m", 0, true)), "c1", "c2")
	s.Gate("c1", "v2", "True")
	s.Update("v2")
	s.settle(20 * time.Second)
	require.Equal(t, "v2", s.held("c2"), s.story())
	return s
}

// TestGateFlips: until the rollout is complete, the gate of each successful cluster can become False again.
func TestGateFlips(t *testing.T) {
	for says, state := range map[GateSays]workv1alpha1.State{
		"False": workv1alpha1.StateAborted, "Unknown": workv1alpha1.StateAborted, GateSilent: workv1alpha1.StateAborted,
		GateOlder: workv1alpha1.StateAborted, "True": workv1alpha1.StateComplete,
	} {
		t.Run(string(says), func(t *testing.T) {
			s := firstGatePassed(t)
			s.Gate("c1", "v2", says)
			s.settle(10 * time.Second)
			if says == "False" {
				require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State, s.story())
			}
			s.Gate("c2", "v2", "True")
			s.quiet()
			require.Equal(t, state, s.Object().Status.State, s.story())
		})
	}
}

// TestGateOfASuccessThatIsAway: a gate does not change a success that settled before its cluster became unavailable, even if the hub
// restarts. The rollout completes, and the hub becomes idle.
func TestGateOfASuccessThatIsAway(t *testing.T) {
	for _, says := range []GateSays{"Unknown", "False", GateSilent} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(says, restarts), func(t *testing.T) {
				s := firstGatePassed(t, "c1", "c2")
				s.Lose("c1")
				s.Place("p1", []string{"c2"})
				s.settle(10 * time.Second)
				s.Gate("c1", "v2", says)
				s.settle(10 * time.Second)
				if restarts {
					s.restarts()
					s.settle(10 * time.Second)
				}
				s.Gate("c2", "v2", "True")
				s.quiet()
				require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State, s.story())
				s.everywhere("v2")
			})
		}
	}
}

// TestGateRetry: a user retries a cluster that a gate failed, and the gate becomes True. Before that, the cluster waits for it.
func TestGateRetry(t *testing.T) {
	s := checkedStory(t)
	s.Gate("", "v1", "True")
	s.stable(gated(progressive("p1", 1, "1m", 0, false)), "c1", "c2")
	s.Gate("c1", "v2", "False")
	s.Gate("c2", "v2", "True")
	s.Update("v2")
	s.quiet()
	require.Equal(t, []string{"c1"}, s.failed())
	require.Equal(t, "Tested=False: Simulated", s.Object().Status.Failures[0].Message)
	s.forgive("c1")
	s.settle(10 * time.Second)
	require.Empty(t, s.failed(), s.story())
	s.Gate("c1", "v2", "True")
	s.quiet()
	require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State, s.story())
}

// TestGateOverABroker: a gate that nothing can set is reported as an error of the strategy, and no cluster is started.
func TestGateOverABroker(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.OverBroker()
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.Edit("adds a gate", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs[0] = gated(spec.PlacementRefs[0])
	})
	s.quiet()
	require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State)
	s.Update("v2")
	s.settle(5 * time.Minute)
	s.everywhere("v1")
	s.says(workv1alpha1.ConditionPlacementVerified, "no condition rule in the template sets Tested")
}

// TestGateOfADeletedWork: the gates of a placementRef do not apply to a work of another placementRef that the agent has yet to delete. The
// hub waits for the agent without repeated passes.
func TestGateOfADeletedWork(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2"})
	s.Place("p2", []string{"c3"})
	s.Report("c1", "v1", Hangs)
	s.Create("v1", all("p1", "None", false), gated(all("p2", "None", false)))
	s.settle(10 * time.Second)
	s.Report("c2", "", Silent)
	s.loses("c2")
	s.Place("p1", []string{"c1"})
	s.Place("p2", []string{"c2", "c3"})
	s.restarts()
	s.settle(Forever)
}

// A cluster that another placementRef takes over keeps its deadline, even while a gate of both placementRefs holds its success back.
func TestTakeoverKeepsTheDeadlineOfAGate(t *testing.T) {
	s := checkedStory(t)
	s.Gate("", "v1", "True")
	s.Place("p1", []string{"c1", "c2"})
	s.Place("p2", []string{"c3"})
	s.Create("v1", gated(all("p1", "10m", false)), gated(all("p2", "10m", false)))
	s.quiet()
	s.Gate("", "v2", "True")
	s.Gate("c2", "v2", "Unknown")
	s.Update("v2")
	s.settle(9 * time.Minute)
	s.Place("p1", []string{"c1"})
	s.Place("p2", []string{"c2", "c3"})
	s.settle(3 * time.Minute)
	require.Equal(t, []string{"c2"}, s.failed(), s.story())
}
