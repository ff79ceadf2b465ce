package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfTrouble plays named stories in which a process dies, a write fails, the CRD is older, or a permission is missing.
func TestStoriesOfTrouble(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"the placement controller dies between two slices": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.quiet()
			s.Tell("the placement controller takes c2 out of the first slice, and dies")
			s.decide("p1", 0, []string{"c1"})
			s.settle(150 * time.Second)
			require.Len(s.t, s.Works(), 3)
			s.Tell("its successor puts c2 into the second slice")
			s.decide("p1", 1, []string{"c2", "c3"})
			s.quiet()
			require.Len(s.t, s.Works(), 3)
			s.Place("p1", []string{"c1"}, []string{"c3"})
			s.quiet()
		},
		"the hub's machine is suspended for longer than the deadline": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.settle(10 * time.Second)
			s.Suspend(time.Hour)
			s.settle(10 * time.Second)
			s.Tell("agents: c1 is back")
			s.Report("c1", "v2", Succeeds)
			s.quiet()
			require.Nil(s.t, s.Object().Status.AbortedTime)
		},
		"the hub dies in the middle of an abort": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2", "c3")
			s.hangs("v2", "c2")
			s.Fault = failing(s.World, "patch work c3/web", KilledBefore)
			s.quiet()
		},
		"an older CRD drops the status fields": func(s *teller) {
			s.API.OlderCRD = true
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 1, "30s", 0, false))
			s.settle(12 * time.Minute)
			s.Update("v2")
			s.settle(12 * time.Minute)
			s.must(s.checkWorks())
			s.Tell("admin: applies the newer CRD")
			s.API.OlderCRD = false
			s.quiet()
		},
		"an older CRD comes back in the middle of a rollout that fails": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.hangs("v2", "c1")
			s.settle(20 * time.Second)
			s.Tell("admin: applies an older CRD")
			s.API.OlderCRD = true
			s.settle(12 * time.Minute)
			s.must(s.checkWorks())
			s.Tell("admin: applies the newer CRD")
			s.API.OlderCRD = false
			s.quiet()
		},
		"no permission on ControllerRevisions at first": func(s *teller) {
			s.API.NoHistory = true
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.settle(time.Minute)
			s.restarts()
			s.settle(time.Minute)
			s.hangs("v2", "c1")
			s.settle(5 * time.Minute)
			s.conditions()
			s.Tell("admin: grants the permission")
			s.API.NoHistory = false
			s.settle(time.Minute)
			s.conditions()
			s.Update("v3")
			s.quiet()
		},
		"no permission, and an undo in the middle of a rollout": func(s *teller) {
			s.API.NoHistory = true
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.settle(time.Minute)
			s.hangs("v2", "c2")
			s.settle(10 * time.Second)
			s.Update("v1")
			s.settle(time.Second)
			s.conditions()
			s.settle(time.Minute)
			s.conditions()
			s.Tell("admin: grants the permission")
			s.API.NoHistory = false
			s.quiet()
		},
		"no permission and an older CRD, then both are mended": func(s *teller) {
			s.API.NoHistory, s.API.OlderCRD = true, true
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.settle(12 * time.Minute)
			s.conditions()
			s.restarts()
			s.Update("v2")
			s.settle(12 * time.Minute)
			s.Tell("admin: applies the newer CRD and grants the permission")
			s.API.NoHistory, s.API.OlderCRD = false, false
			s.quiet()
			s.hangs("v3", "c1")
			s.quiet()
		},
		"the permission is taken away in the middle of an abort": func(s *teller) {
			s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Hangs)
			s.Fault = failing(s.World, "patch work c2/web", KilledBefore)
			s.Wrote("patch work c1/web (v1)", func() {
				s.Tell("admin: takes the permission away")
				s.API.NoHistory = true
			})
			s.Update("v2")
			s.settle(5 * time.Minute)
			s.conditions()
			s.Tell("admin: grants the permission")
			s.API.NoHistory = false
			s.quiet()
		},
		"a field that can't be read comes in the middle of an abort": func(s *teller) {
			s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Hangs)
			s.Fault = failing(s.World, "patch work c2/web", KilledBefore)
			s.Wrote("patch work c1/web (v1)", s.Spoil)
			s.Update("v2")
			s.settle(time.Minute)
			s.conditions()
			s.must(s.checkWorks())
			s.Place("p1", []string{"c1", "c2", "c4"})
			s.settle(time.Minute)
			s.must(s.checkWorks())
			s.Edit("mends the field", func(*workv1alpha1.ManifestWorkReplicaSetSpec) {})
			s.quiet()
		},
		"a field that can't be read, and a deletion that waits for the agents": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.Edit("deletes in the foreground", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.CascadeDeletionPolicy = upstream.Foreground })
			s.quiet()
			s.Spoil()
			s.settle(time.Minute)
			s.conditions()
			s.Report("c1", "", Silent)
			s.must(s.API.Delete(ReplicaSets, Namespace, Name, nil))
			s.Tell("user: deletes it")
			s.settle(time.Minute)
			require.NotNil(s.t, s.Object(), "c1 still has its work")
			s.Tell("agents: c1 is back")
			s.Report("c1", "", Succeeds)
			s.settle(Forever)
			require.Nil(s.t, s.Object())
		},
		"a webhook is down for one cluster in an abort": func(s *teller) {
			s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Hangs)
			down := true
			s.Fault = func(what string) Fault {
				if down && what == "patch work c2/web" && s.Object().Status.AbortedTime != nil {
					return Refused
				}
				return NoFault
			}
			s.Update("v2")
			s.settle(3 * time.Minute)
			s.conditions()
			require.Contains(s.t, meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionManifestworkApplied).Message, "cluster c2")
			written := s.Object().ResourceVersion
			s.settle(time.Minute)
			require.Equal(s.t, written, s.Object().ResourceVersion, "what is said already is not said again")
			s.Tell("admin: mends the webhook")
			down = false
			s.quiet()
		},
		"a write fails once": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			n := 0
			s.Fault = func(what string) Fault {
				if what == "patch work c1/web" {
					n++
				}
				if n == 1 {
					return Refused
				}
				return NoFault
			}
			s.Update("v2")
			s.settle(time.Second)
			s.conditions()
			s.quiet()
		},
		"other works have the names": func(s *teller) {
			for _, taken := range []string{"c1/web", "c2/web", "c2/web-55489cf447", "c3/web", "c3/web-55489cf447", "c3/web-uid-9"} {
				namespace, name, _ := strings.Cut(taken, "/")
				_, err := s.API.Create(Works, from(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
				s.must(err)
			}
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 3, "30s", 0, true))
			s.settle(10 * time.Second)
			s.conditions()
			s.must(s.API.Delete(Works, "c3", "web", nil))
			s.Tell("user: deletes the other work web of c3")
			s.settle(2 * time.Minute)
			s.conditions()
		},
		"Jobs that the API server stores differently, and the hub restarts": func(s *teller) {
			s.API.Mutate = func(spec map[string]any) { spec["deleteOption"] = map[string]any{"propagationPolicy": "Orphan"} }
			s.Report("", "v1", Completes)
			s.Report("", "v2", Completes)
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.restarts()
			s.quiet()
			s.Update("v2")
			s.quiet()
			s.Update("v1")
			s.quiet()
		},
		"someone wipes the status of an aborted one": func(s *teller) {
			s.aborts()
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
			s.Tell("user: wipes the status")
			s.quiet()
		},
	})
}
