package simulation

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfPreserving plays deletions that leave the workloads on the clusters.
func TestStoriesOfPreserving(t *testing.T) {
	for name, play := range map[string]func(*teller){
		"workloads stay and an agent is offline": func(s *teller) {
			before := s.objects.uids()
			s.waitsFor("c3", Silent, "agents: c3 is back")

			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.quiet()
			require.Equal(s.t, before, s.objects.uids(), "taken over as they are")
			require.Equal(s.t, []string{"configmaps demo"}, s.objects.owned("c1", Name))
		},
		"workloads stay until a person gives up": func(s *teller) {
			s.Report("c3", "", Silent)
			s.Delete()
			s.waits()
			s.Preserve(false)
			s.settle(Forever)
			s.Report("c3", "", Succeeds)
			s.gone()
			require.Len(s.t, s.objects.uids(), 2, "that of c3 is gone")
		},
		"workloads stay but for a ManifestWork that was being deleted": func(s *teller) {
			s.Report("c2", "", Silent)
			s.Report("c3", "", Silent)
			require.NoError(s.t, s.API.Delete(Works, "c2", Name, nil))
			s.Tell("user: deletes the work of c2")
			s.Delete()
			s.waits()
			s.Report("c2", "", Succeeds)
			s.Report("c3", "", Succeeds)
			s.gone()
			require.Len(s.t, s.objects.uids(), 2, "that of c2 is gone")
		},
		"an agent can't give a workload up": func(s *teller) {
			s.waitsFor("c2", Clings, "admin: changes the policy of c2")
		},
		"workloads that ran to completion stay": func(s *teller) {
			s.Report("", "v2", Completes)
			s.Update("v2")
			s.quiet()
			before := s.objects.uids()
			s.Delete()
			s.gone()
			require.Equal(s.t, before, s.objects.uids())
		},
		"workloads stay in the middle of an abort": func(s *teller) {
			s.hangs("v2", "c1")
			s.settle(time.Second)
			before := s.objects.uids()
			s.Wrote("patch work c1/web (v1)", s.Delete)
			s.gone()
			require.Equal(s.t, before, s.objects.uids())
		},
		"workloads stay and the deletion waits for the works": func(s *teller) {
			before := s.objects.uids()
			s.Edit("sets cascadeDeletionPolicy to Foreground", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.CascadeDeletionPolicy = upstream.Foreground
			})
			s.Check = func(write string) {
				if write == "delete work c3/web" {
					s.Report("c3", "", Silent)
				}
			}
			s.Delete()
			s.waits()
			s.Report("c3", "", Succeeds)
			s.gone()
			require.Equal(s.t, before, s.objects.uids())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Preserve(true)
			s.quiet()
			play(s)
			goldentest.Equal(t, fileOf(name), s.story()+"\n")
		})
	}
}

// waitsFor deletes the object, waits for one agent, and finally lets that agent succeed. All workloads stay.
func (s *teller) waitsFor(cluster string, outcome Outcome, until string) {
	s.t.Helper()
	before := s.objects.uids()
	s.Report(cluster, "", outcome)
	s.Delete()
	s.waits()
	s.Tell("%s", until)
	s.Report(cluster, "", Succeeds)
	s.gone()
	require.Equal(s.t, before, s.objects.uids())
}

// waits runs the world until nothing more happens while the object is being deleted, and notes the clusters that it waits for.
func (s *teller) waits() {
	s.t.Helper()
	s.settle(Forever)
	s.must(s.checkKept())
	s.must(s.checkSilence())
	require.NotNil(s.t, s.Object(), s.story())
	told := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionDeleting)
	require.NotNil(s.t, told, s.story())
	s.Tell("  %s %s %s: %s", told.Type, told.Status, told.Reason, told.Message)
}

// gone waits until the object and its works are gone, and deletes the revisions, as garbage collection does.
func (s *teller) gone() {
	s.t.Helper()
	s.settle(Forever)
	require.Nil(s.t, s.Object(), s.story())
	s.must(s.CheckQuiet())
	for _, rev := range s.Revisions() {
		require.NoError(s.t, s.API.Delete(Revisions, Namespace, rev.Name, nil))
	}
}

// Over a broker, nothing is deleted while the workloads must stay. The condition describes how to keep them.
func TestPreservingOverBroker(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.OverBroker()
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.Preserve(true)
	s.quiet()
	s.Delete()
	for range 2 {
		s.settle(time.Hour)
		s.has("v1", "c1", "c2")
		require.NotContains(t, s.story(), "patch work")
		told := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionDeleting)
		require.NotNil(t, told)
		require.Equal(t, workv1alpha1.ReasonPreservingNotSupported, told.Reason)
		require.Contains(t, told.Message, "set spec.preserveResourcesOnDeletion to false")
		s.Restart()
	}
	s.Preserve(false)
	s.settle(Forever)
	require.Nil(t, s.Object(), s.story())
	require.Empty(t, s.objects.uids())
}

// preservedLife is a deletion that leaves the workloads on three clusters: one of them ran to completion, and one cluster is offline for a
// while. Then the object is created again.
func preservedLife(w *World, before func(uids map[string]int)) error {
	w.Report("c2", "", Completes)
	w.Place("p1", []string{"c1", "c2", "c3"})
	w.Create("v1", all("p1", "None", false))
	w.Preserve(true)
	if err := w.Settle(Forever); err != nil {
		return err
	}
	before(w.objects.uids())
	w.Report("c3", "", Silent)
	w.Delete()
	if err := w.Settle(Forever); err != nil {
		return err
	}
	w.Report("c3", "", Succeeds)
	return w.Settle(Forever)
}

// Each write of a preserving deletion fails in each way, one at a time. No work is deleted while its agent owns an object, and the end is
// always the same (P5, P11).
func TestPreservingWhereEveryWriteMayFail(t *testing.T) {
	t.Parallel()
	calm, writes := NewWorld(), 0
	calm.Fault = func(string) Fault { writes++; return NoFault }
	var before map[string]int
	note := func(uids map[string]int) { before = uids }
	require.NoError(t, preservedLife(calm, note))
	require.Equal(t, before, calm.objects.uids(), strings.Join(calm.Story, "\n"))
	require.Greater(t, writes, 15)
	faults := []Fault{KilledBefore, KilledAfter, Refused, Throttled, Conflicted, Lost, Denied}
	for way, fault := range faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			for k := 1; k <= writes; k++ {
				if failsIn(k, way, len(faults)) {
					preservedWithFault(t, k, fault)
				}
			}
		})
	}
}

// preservedWithFault plays such a story in which the k-th write fails.
func preservedWithFault(t *testing.T, k int, fault Fault) {
	t.Helper()
	w, n := NewWorld(), 0
	w.Fault = func(string) Fault {
		if n++; n == k {
			return fault
		}
		return NoFault
	}
	w.Check = func(write string) {
		require.NoError(t, w.CheckWrite(write), "write %d, %s\n%s", k, fault, strings.Join(w.Story, "\n"))
	}
	var before map[string]int
	require.NoError(t, preservedLife(w, func(uids map[string]int) { before = uids }))
	require.Nil(t, w.Object(), "write %d, %s\n%s", k, fault, strings.Join(w.Story, "\n"))
	require.Empty(t, w.Works())
	require.Len(t, before, 3)
	require.Equal(t, before, w.objects.uids(), "write %d, %s\n%s", k, fault, strings.Join(w.Story, "\n"))
	for cluster := range w.objects.there {
		require.Empty(t, w.objects.owned(cluster, Name))
	}
}

// R20: releasing a work does not change its manifests. So a cluster whose agent has been offline since before the last rollout gets the
// objects of the revision in its work, and keeps all of them.
func TestPreservingCreatesWhatAnAgentHasNotAppliedYet(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Drops = true
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.stable(all("p1", "None", false), "c1", "c2")
	s.Preserve(true)
	s.Report("c2", "", Silent)
	s.Update("v2")
	s.settle(time.Minute)
	s.hasObjects("app-v1 demo", "c2")
	s.Delete()
	s.waits()
	s.Report("c2", "", Succeeds)
	s.gone()
	require.Equal(t, []string{
		"c1 configmaps app-v2", "c1 configmaps demo", "c2 configmaps app-v1", "c2 configmaps app-v2", "c2 configmaps demo",
	}, slices.Sorted(maps.Keys(s.objects.uids())))
}
