package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestCompletionWhoseMarkFails: a rollout is complete, but no write that records this succeeds before the template changes. An abort of the
// next revision returns to the completed one.
func TestCompletionWhoseMarkFails(t *testing.T) {
	const both = "neither it nor the status can"
	for name, fails := range map[string]func(write, revision string) bool{
		"the revision can't be written": func(write, revision string) bool { return write == "patch revision "+revision },
		both: func(write, revision string) bool {
			return write == "patch revision "+revision || strings.HasSuffix(write, "/status")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.settle(time.Second)
			update := Name + "-" + s.hashOf("v2")
			s.Fault = func(write string) Fault {
				if s.held("c3") == "v2" && fails(write, update) {
					return Refused
				}
				return NoFault
			}
			s.settle(10 * time.Minute)
			s.everywhere("v2")
			s.hangs("v3", "c1")
			s.settle(time.Second)
			s.Fault = nil
			s.settle(10 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v2")
		})
	}
}

// TestRecordedHaltHolds: one cluster has failed, which is tolerated, and another cluster is degraded. Whatever happens to the degraded
// cluster, the placementRef stays halted, and no further cluster is started.
func TestRecordedHaltHolds(t *testing.T) {
	const edit, restart = "its work is edited", "the hub restarts while it is away"
	for name, story := range map[string]struct {
		overBroker bool
		happens    func(*teller)
	}{
		edit:                  {happens: func(s *teller) { s.overwrite("c2") }},
		"its work is deleted": {happens: func(s *teller) { s.must(s.API.Delete(Works, "c2", Name, nil)) }},
		restart: {overBroker: true, happens: func(s *teller) {
			s.Network.CutAgent("c2", time.Hour)
			s.Restart()
			s.settle(5 * time.Minute)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			if story.overBroker {
				s.OverBroker()
			}
			s.halts()
			s.Report("c2", "v2", Silent)
			story.happens(s)
			s.settle(3 * time.Second)
			require.Equal(t, "v1", s.held("c4"), s.story())
		})
	}
}

// halts plays a rollout of v2 that is halted: c1 has failed, which is tolerated, c2 is degraded, and c3 soaks.
func (s *teller) halts() {
	s.t.Helper()
	ref := soaking(progressive("p1", 3, "30s", 1, false), 10*time.Minute)
	s.Place("p1", []string{"c1", "c2", "c3", "c4", "c5"})
	s.Create("v1", ref)
	s.settle(time.Hour)
	s.hangs("v2", "c1")
	s.settle(20 * time.Second)
	s.Report("c2", "v2", Degrades)
	s.settle(12 * time.Second)
	require.Equal(s.t, []string{"c1"}, s.failed(), s.story())
	require.Equal(s.t, "v1", s.held("c4"), s.story())
	require.NotNil(s.t, s.Object().Status.PlacementsSummary[0].HaltedTime, s.story())
}

// TestRetriesOfSingleClusters: an entry that an older CRD drops is not a retry. An entry that a user removes is a retry, regardless of
// which process leads.
func TestRetriesOfSingleClusters(t *testing.T) {
	stalled := func(t *testing.T) *teller {
		s := &teller{World: NewWorld(), t: t}
		s.stable(progressive("p1", 2, "30s", 0, false), "c1", "c2", "c3")
		s.hangs("v2", "c1", "c2")
		s.settle(5 * time.Minute)
		require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
		return s
	}
	t.Run("an older CRD drops the failures", func(t *testing.T) {
		s := stalled(t)
		s.API.Lacks = []string{"failures"}
		object, err := s.API.Get(ReplicaSets, Namespace, Name)
		s.must(err)
		served := object.DeepCopy()
		unstructured.RemoveNestedField(served.Object, "status", "failures")
		s.API.store(ReplicaSets, served)
		s.settle(10 * time.Second)
		require.Equal(t, workv1alpha1.ReasonProgressDeadlineExceeded, s.says(workv1alpha1.ConditionProgressing).Reason, s.story())
	})
	t.Run("a retry while no hub leads", func(t *testing.T) {
		s := stalled(t)
		s.forgive("c1")
		s.Restart()
		s.settle(20 * time.Second)
		require.Equal(t, []string{"c2"}, s.failed(), s.story())
		s.settle(5 * time.Minute)
		require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
	})
	t.Run("a retry of a cluster whose work is stuck deleting", func(t *testing.T) {
		s := &teller{World: NewWorld(), t: t}
		s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2", "c3")
		s.adversaries.hold.Insert("c1")
		s.Update("v2")
		s.must(s.API.Delete(Works, "c1", Name, nil))
		s.settle(5 * time.Minute)
		require.Equal(t, []string{"c1"}, s.failed(), s.story())
		s.forgive("c1")
		s.settle(20 * time.Second)
		require.Empty(t, s.failed(), s.story())
		s.settle(time.Minute)
		require.Equal(t, []string{"c1"}, s.failed(), s.story())
	})
	t.Run("a retry of a rejected work while another failure halts", func(t *testing.T) {
		s := &teller{World: NewWorld(), t: t}
		s.stable(progressive("p1", 2, "30s", 0, false), "c1", "c2", "c3")
		s.Refuse("c1", Denied)
		s.hangs("v2", "c2")
		s.settle(5 * time.Minute)
		require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
		s.Refuse("c1", NoFault)
		s.forgive("c1")
		s.settle(2 * time.Second)
		require.Equal(t, "v2", s.held("c1"), s.story())
	})
}
