package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const c1Refused = "the API server rejects the ManifestWork of cluster c1: forbidden: simulated, request 1; fix the cause: the hub retries the write at least once a minute"

// TestStoriesOfRefusedWorks plays the effects of rejected writes on a rollout, on an abort, and on the status (P7).
func TestStoriesOfRefusedWorks(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"a refused cluster holds a slot until its deadline": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 1, true), "c1", "c2", "c3")
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(5 * time.Minute)
			s.conditions()
			s.hold("c1 v1", "c2 v2", "c3 v2")
			s.says(workv1alpha1.ConditionProgressing, c1Refused)
			s.says(workv1alpha1.ConditionPlacementRolledOut, c1Refused)
			s.idle()
			permit()
			s.quiet()
			s.everywhere("v2")
		},
		"a refused cluster halts a placement that tolerates no failure at its deadline": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2")
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(5 * time.Second)
			s.conditions()
			s.hold("c1 v1", "c2 v1")
			s.settle(time.Minute)
			s.idle()
			permit()
			s.quiet()
			s.everywhere("v2")
		},
		"a refused cluster leads to an abort when its deadline comes": func(s *teller) {
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2", "c3")
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(29 * time.Second)
			s.hold("c1 v1", "c2 v2", "c3 v2")
			s.quiet()
			s.hold("c1 v1", "c2 v1", "c3 v1")
			permit()
			s.quiet()
		},
		"a cluster of an earlier group loses its work while a later one is refused": func(s *teller) {
			s.Place("p1", []string{"c2"}, []string{"c1"})
			s.Create("v1", perGroup("p1", "None", 0, false))
			s.quiet()
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(time.Minute)
			s.hold("c1 v1", "c2 v2")
			s.loses("c2")
			s.settle(5 * time.Minute)
			s.hold("c1 v1", "c2 v2")
			s.says(workv1alpha1.ConditionProgressing, "the hub retries the write at least once a minute")
			s.idle()
			permit()
			s.quiet()
			s.everywhere("v2")
		},
		"a refused work that lost its hash and changes its placement": func(s *teller) {
			s.Place("p1", []string{"c2"})
			s.Place("p2", []string{"c1"})
			s.Create("v1", all("p1", "30s", true), all("p2", "30s", true))
			s.quiet()
			permit := s.refusing("patch work c1/", Denied)
			s.patch(Works, "c1", Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{workv1alpha1.LabelControllerHash: nil}}}, false)
			s.Place("p1", []string{"c1", "c2"})
			s.settle(3 * time.Minute)
			s.idle()
			permit()
			s.quiet()
			s.everywhere("v1")
		},
		"a new cluster whose namespace is missing": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			permit := s.refusing("create work c3/", Denied)
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.settle(time.Minute)
			s.conditions()
			s.idle()
			permit()
			s.quiet()
		},
		"a canary group whose cluster is refused keeps its turn until it has failed": func(s *teller) {
			s.Place("p1", []string{"c1"}, []string{"c2", "c3"})
			s.Create("v1", perGroup("p1", "30s", 1, true))
			s.quiet()
			s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(29 * time.Second)
			s.hold("c1 v1", "c2 v1", "c3 v1")
			s.settle(time.Minute)
			s.hold("c1 v1", "c2 v2", "c3 v2")
			s.conditions()
			s.idle()
		},
		"a mandatory group whose cluster is refused is never overtaken": func(s *teller) {
			ref := perGroup("p1", "30s", 1, false)
			ref.RolloutStrategy.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "g0"}}
			s.Place("p1", []string{"c1"}, []string{"c2", "c3"})
			s.Create("v1", ref)
			s.quiet()
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(5 * time.Minute)
			s.hold("c1 v1", "c2 v1", "c3 v1")
			s.idle()
			permit()
			s.quiet()
			s.everywhere("v2")
		},
		"without a deadline a refused cluster holds its group up": func(s *teller) {
			s.Place("p1", []string{"c1"}, []string{"c2", "c3"})
			s.Create("v1", perGroup("p1", "None", 1, true))
			s.quiet()
			s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(time.Minute)
			s.hold("c1 v1", "c2 v1", "c3 v1")
			s.conditions()
			s.idle()
		},
		"the fix does not wait for a cluster that answers 500 in an abort": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			permit := s.refusing("patch work c2/", Refused)
			s.settle(time.Minute)
			s.Update("v3")
			s.settle(50 * time.Second)
			s.hold("c1 v1", "c2 v2", "c3 v1")
			s.conditions()
			s.settle(time.Minute)
			s.hold("c1 v3", "c2 v2", "c3 v3")
			s.conditions()
			permit()
			s.quiet()
			s.everywhere("v3")
		},
		"an abort is carried out but for the works that can't be written back": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			permit := s.faulty(map[string]Fault{"patch work c2/": Refused, "patch work c3/": Denied})
			s.settle(5 * time.Minute)
			s.conditions()
			s.hold("c1 v1", "c2 v2", "c3 v2")
			s.says(workv1alpha1.ConditionProgressing, "was aborted", "cluster c2", "cluster c3", "1 of 3")
			rejections := s.Object().Status.Rejections
			require.Len(s.t, rejections, 1, "a server error is not a rejection")
			require.Equal(s.t, "c3", rejections[0].Cluster)
			require.Contains(s.t, rejections[0].Message, "forbidden: simulated")
			written := s.Object().ResourceVersion
			s.settle(70 * time.Second)
			require.Equal(s.t, written, s.Object().ResourceVersion, "what is said already is not said again")
			permit()
			s.quiet()
			s.everywhere("v1")
			require.Empty(s.t, s.Object().Status.Rejections)
		},
		"the hub starts again while a refused cluster stops the rollout": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2")
			s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(5 * time.Minute)
			version, told := s.API.version, len(s.events)
			s.restarts()
			s.settle(10 * time.Minute)
			require.Equal(s.t, version, s.API.version, s.story())
			require.Len(s.t, s.events, told)
		},
		"another template is tried at once where one was refused": func(s *teller) {
			s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2")
			permit := s.refusing("patch work c1/", Denied)
			s.Update("v2")
			s.settle(30 * time.Second)
			permit()
			s.Update("v3")
			s.settle(time.Second)
			s.hold("c1 v3", "c2 v1")
			s.quiet()
		},
	}, func(s *teller) { s.Check = func(write string) { s.must(s.CheckWrite(write)) } })
}

// R12, P7: status.rejections lists a cluster that an abort can't restore until its work is written. A restart does not change
// the entry.
func TestRejectionInAnAbort(t *testing.T) {
	s := checkedStory(t)
	s.stable(all("p1", "30s", true), "c1", "c2", "c3")
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	permit := s.refusing("patch work c3/", Denied)
	s.settle(5 * time.Minute)
	s.hold("c1 v1", "c2 v1", "c3 v2")
	rejections := s.Object().Status.Rejections
	require.Len(t, rejections, 1, s.story())
	require.Equal(t, "c3", rejections[0].Cluster)
	s.restarts()
	check := s.Check
	s.Check = func(write string) {
		check(write)
		require.Equal(t, rejections, s.Object().Status.Rejections, s.story())
	}
	s.settle(5 * time.Minute)
	s.idle()
	s.Check = check
	permit()
	s.quiet()
	s.everywhere("v1")
	require.Empty(t, s.Object().Status.Rejections)
	require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State)
}

// faulty makes the writes with some prefixes fail, until the returned function is called.
func (s *teller) faulty(faults map[string]Fault) (permit func()) {
	s.Tell("admin: lets %v fail", faults)
	s.Fault = func(what string) Fault {
		for write, fault := range faults {
			if strings.HasPrefix(what, write) {
				return fault
			}
		}
		return NoFault
	}
	return func() {
		s.Tell("admin: lets all writes through")
		s.Fault = nil
	}
}

// hold checks the version in the work of each cluster.
func (s *teller) hold(wanted ...string) {
	s.t.Helper()
	var found []string
	for _, work := range s.Works() {
		found = append(found, work.Namespace+" "+Version(work))
	}
	require.Equal(s.t, wanted, found, s.story())
}
