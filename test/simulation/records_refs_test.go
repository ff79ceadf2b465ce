package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestFailedClusterChangesItsPlacement: a failed cluster that another placementRef selects halts both until its work is deleted.
func TestFailedClusterChangesItsPlacement(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Place("p2", []string{"d1", "d2", "d3"})
	s.Create("v1", progressive("p1", 1, "30s", 0, false), progressive("p2", 1, "30s", 0, false))
	s.quiet()
	s.hangs("v2", "c1", "d1")
	s.settle(40 * time.Second)
	require.Equal(t, []string{"c1", "d1"}, s.failed())
	s.adversaries.hold.Insert("c1")
	s.Place("p1", []string{"c2", "c3"})
	s.settle(10 * time.Second)
	s.Restart()
	s.settle(5 * time.Minute)
	require.Equal(t, "v1", s.held("c2"), s.story())
	s.Place("p2", []string{"c1", "d1", "d2", "d3"})
	s.settle(time.Minute)
	s.Restart()
	s.settle(5 * time.Minute)
	require.Equal(t, "v1", s.held("c2"), s.story())
	require.Equal(t, "v1", s.held("d2"), s.story())
	s.adversaries.hold.Delete("c1")
	s.Report("d1", "v2", Succeeds)
	s.agentsSaw = 0
	s.settle(5 * time.Minute)
	require.Equal(t, "v1", s.held("d2"), s.story())
}

// TestHaltWhileAPlacementIsMadeAgain: while the Placement of a halted placementRef is being recreated, no later placementRef starts the bad
// revision on the clusters that the halted one has not reached.
func TestHaltWhileAPlacementIsMadeAgain(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a2", "a3", "a4"})
	s.Place("p2", []string{"a1", "a2", "a3", "a4", "b1"})
	s.Report("a1", "v1", Hangs)
	s.Create("v1", progressive("p1", 1, "30s", 0, false), progressive("p2", 5, "30s", 1, false))
	s.settle(2 * time.Minute)
	require.Equal(t, []string{"a1"}, s.failed(), s.story())
	require.Empty(t, s.held("a2"), s.story())
	s.Recreate("p1")
	s.settle(2 * time.Second)
	s.Place("p1", []string{"a1", "a2", "a3", "a4"})
	s.settle(2 * time.Second)
	require.Empty(t, s.held("a2")+s.held("a3")+s.held("a4"), s.story())
}

// TestWorkCreatedAgainFromACopy: a work that a user recreates from a copy gets the full deadline.
func TestWorkCreatedAgainFromACopy(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2", "c3"})
	p1 := soaking(progressive("p1", 1, "30s", 0, true), 2*time.Minute)
	s.Create("v1", p1)
	s.settle(time.Hour)
	s.Update("v2")
	s.settle(3 * time.Minute)
	require.Equal(t, "v2", s.held("c2"), s.story())
	copied, err := s.API.Get(Works, "c1", "web")
	s.must(err)
	copied = copied.DeepCopy()
	s.must(s.API.Delete(Works, "c1", "web", nil))
	s.settle(2 * time.Second)
	require.Empty(t, s.held("c1"), s.story())
	copied.SetUID("")
	copied.SetResourceVersion("")
	copied.SetDeletionTimestamp(nil)
	copied.SetCreationTimestamp(metav1.Time{})
	copied.SetFinalizers(nil)
	copied.SetGeneration(0)
	delete(copied.Object, "status")
	_, err = s.API.Create(Works, copied)
	s.must(err)
	s.settle(25 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestAcceptedWorksTakeSlots: works that the API server accepts again after they failed take slots, so that they do not all start at once
// when an outage of a policy ends.
func TestAcceptedWorksTakeSlots(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	clusters := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	s.stable(progressive("p1", 1, "30s", 5, false), clusters...)
	for _, c := range clusters[:5] {
		s.Refuse(c, Denied)
	}
	s.Report("", "v2", Hangs)
	s.Report("c6", "v2", Succeeds)
	s.Update("v2")
	s.settle(10 * time.Minute)
	for _, c := range clusters[:5] {
		s.Refuse(c, NoFault)
	}
	s.settle(70 * time.Second)
	n := 0
	for _, c := range clusters[:5] {
		if s.held(c) == "v2" {
			n++
		}
	}
	require.LessOrEqual(t, n, 3, s.story())
}

// TestRecordNamesThePlacement: the record of a failure names the placementRef that the cluster belongs to now.
func TestRecordNamesThePlacement(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c9"})
	s.Place("p2", []string{"c2", "c3", "c4"})
	p1, p2 := progressive("p1", 3, "30s", 1, false), progressive("p2", 1, "30s", 0, false)
	s.Create("v1", p1, p2)
	s.quiet()
	s.hangs("v2", "c1", "c2")
	s.settle(20 * time.Second)
	s.Report("c2", "v2", Succeeds)
	s.settle(12 * time.Second)
	s.Place("p1", []string{"c9"})
	s.Place("p2", []string{"c1", "c2", "c3", "c4"})
	s.settle(10 * time.Second)
	c4 := s.held("c4")
	require.Equal(t, "p2", s.Object().Status.Failures[0].Placement, s.story())
	s.must(s.API.Delete(Placements, Namespace, "p2", nil))
	s.settle(3 * time.Second)
	s.Place("p2", []string{"c1", "c2", "c3", "c4"})
	s.Restart()
	s.settle(10 * time.Minute)
	require.Equal(t, c4, s.held("c4"), s.story())
}

// TestRetryAfterAClockThatWasAhead: a retry takes effect even if a hub whose clock was ahead recorded a later time for the last write.
func TestRetryAfterAClockThatWasAhead(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.HubAhead = time.Hour
	s.Restart()
	s.Place("p1", []string{"c1", "c2", "c3", "c4"})
	s.Create("v1", progressive("p1", 2, "30s", 0, false))
	s.settle(time.Minute)
	s.hangs("v2", "c1", "c2")
	s.settle(10 * time.Second)
	s.HubAhead = 0
	s.Restart()
	s.settle(5 * time.Minute)
	require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
	s.forgive("c1")
	s.settle(10 * time.Second)
	require.Equal(t, []string{"c2"}, s.failed(), s.story())
}

// TestDeletedRevisionDoesNotReturnAtOnce: the record of a deleted revision is gone, so it is unknown how its last rollout ended.
func TestDeletedRevisionDoesNotReturnAtOnce(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2", "c3", "c4"})
	s.Create("v1", progressive("p1", 1, "30s", 0, false))
	s.window(2)
	s.quiet()
	s.Update("v2")
	s.quiet()
	s.DeleteRevision(s.Revisions()[0].Name)
	s.settle(time.Second)
	s.Update("v1")
	s.settle(time.Second)
	require.Equal(t, "v1", s.held("c1"), s.story())
	require.Equal(t, "v2", s.held("c4"), s.story())
}

// TestClusterInAnotherFormKeepsItsSlot: a cluster that has the revision with kept objects keeps its slot when the form changes.
func TestClusterInAnotherFormKeepsItsSlot(t *testing.T) {
	s := checkedStory(t)
	s.Drops = true
	s.stable(progressive("p1", 1, "5m", 0, false), "c5", "c6")
	s.hangs("v2", "c5", "a0")
	s.settle(10 * time.Second)
	s.Place("p1", []string{"a0", "c5", "c6"})
	s.settle(10 * time.Second)
	s.Edit("sets pruneStrategy to Immediate", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PruneStrategy = workv1alpha1.PruneImmediate })
	s.settle(20 * time.Second)
	require.Empty(t, s.held("a0"), s.story())
}
