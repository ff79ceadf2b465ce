package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// complete begins a story over a broker. The clusters have v1, and get v2 next.
func complete(t *testing.T) *teller {
	t.Helper()
	s := overBroker(t)
	s.stable(all("p1", "30s", true), "c1", "c2")
	return s
}

// reaches checks that a version becomes the current one everywhere, without an abort.
func (s *teller) reaches(version string) {
	s.t.Helper()
	story := s.story()
	require.Nil(s.t, s.Object().Status.AbortedTime, story)
	require.Equal(s.t, s.hashOf(version), s.Object().Status.CurrentRevision, story)
	s.has(version, "c1", "c2")
}

// loseOnce loses the nth message of a kind, and no other message.
func loseOnce(kinds map[string]int) func(string) []time.Duration {
	seen := map[string]int{}
	return func(message string) []time.Duration {
		if seen[message]++; seen[message] == kinds[message] {
			return nil
		}
		return []time.Duration{0}
	}
}

// A success whose report is lost is not a failure, even if the request that follows is lost too.
func TestLostReportLeadsToNoAbort(t *testing.T) {
	s := complete(t)
	s.Network.Fate = loseOnce(map[string]int{"from c2: status update_request": 2, "to c2: status resync_request": 1})
	s.Update("v2")
	s.settle(time.Minute)
	s.reaches("v2")
	s.quiet()
}

// A success whose report has arrived, but which the hub has not read yet, is not a failure.
func TestUnreadReportLeadsToNoAbort(t *testing.T) {
	s := complete(t)
	s.hangs("v2", "c2")
	s.settle(27500 * time.Millisecond)
	s.Report("c2", "v2", Succeeds)
	s.settle(1500 * time.Millisecond)
	s.Network.Deafen(4500 * time.Millisecond)
	s.settle(time.Minute)
	s.reaches("v2")
	s.quiet()
}

// A report that crosses the deletion of its work does not restore the work: its owner is gone, and no controller would delete the work
// again.
func TestReportThatCrossesADeletion(t *testing.T) {
	s := overBroker(t)
	s.Place("p1", []string{"c1", "c2"})
	s.Report("", "v1", Silent)
	s.Create("v1", all("p1", "None", false))
	s.settle(time.Minute)
	s.Delete()
	clear(s.outcomes)
	s.Network.reconsider("") // Each agent requests its works, and the hub requests its reports.
	s.settle(Forever)
	require.NoError(t, s.CheckQuiet(), s.story())
}

// While nothing can be started, no event leads to a pass when an agent is first heard. The hub checks without an event, and names the
// agent's cluster.
func TestAgentThatIsHeardLate(t *testing.T) {
	s := overBroker(t)
	s.stable(progressive("p1", 1, "None", 0, false), "c1", "c2")
	s.Network.Fate = loseOnce(map[string]int{"to c2: status resync_request": 1})
	s.restarts()
	s.settle(3 * time.Second)
	s.Edit("lists a group that does not exist", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs[0].RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{{GroupName: "none"}}
	})
	s.Update("v2")
	s.DeleteRevision("web-" + s.Object().Status.UpdateRevision)
	s.settle(35 * time.Minute)
	s.says(workv1alpha1.ConditionManifestworkApplied, "1 cluster (c2) without a ManifestWork")
}
