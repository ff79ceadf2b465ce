package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfFleets plays named stories of groups, tolerated failures, and clusters that join and leave.
func TestStoriesOfFleets(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"each group tolerates a failure of its own": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3", "c4"})
			s.Create("v1", perGroup("p1", "30s", 1, true))
			s.quiet()
			s.hangs("v2", "c1", "c3")
			s.quiet()
			s.complete("c1", "c3")
			s.hangs("v3", "c1", "c3", "c4")
			s.quiet()
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.everywhere("v2")
		},
		"a mandatory group comes first and tolerates no failure": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3", "c4"})
			ref := progressive("p1", 4, "30s", 2, true)
			ref.RolloutStrategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "g1"}}
			s.Create("v1", ref)
			s.quiet()
			s.hangs("v2", "c3")
			s.settle(10 * time.Second)
			s.versions("v1", "v1", "v2", "v2")
			s.quiet()
			s.everywhere("v1")
			s.Update("v3")
			s.quiet()
		},
		"a soak between two batches, under a percentage": func(s *teller) {
			ref := progressive("p1", 0, "30s", 0, true)
			ref.RolloutStrategy.Progressive.MaxConcurrency = intstr.FromString("40%") // of 5
			ref.RolloutStrategy.Progressive.MinSuccessTime = metav1.Duration{Duration: time.Minute}
			s.stable(ref, "c1", "c2", "c3", "c4", "c5")
			s.Update("v2")
			s.settle(50 * time.Second)
			s.versions("v2", "v2", "v1", "v1")
			s.quiet()
		},
		"a late success heals a tolerated failure": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 1, true), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.quiet()
			s.complete("c1")
			s.Report("c1", "v2", Succeeds)
			s.quiet()
			s.complete()
		},
		"degraded without a deadline stalls": func(s *teller) {
			s.stable(progressive("p1", 1, "None", 0, true), "c1", "c2")
			s.Report("c1", "v2", Degrades)
			s.Update("v2")
			s.quiet()
			s.versions("v2", "v1")
		},
		"a failed placement without AbortAll stops no other": func(s *teller) {
			s.Place("p1", []string{"c1"})
			s.Place("p2", []string{"c2"})
			s.Create("v1", all("p1", "30s", false), all("p2", "30s", true))
			s.quiet()
			s.hangs("v2", "c1")
			s.quiet()
			s.everywhere("v2")
		},
		"an undo after an abort writes no work": func(s *teller) {
			s.aborts()
			from := len(s.Story)
			s.Update("v1")
			s.quiet()
			s.complete()
			require.Zero(s.t, s.wrote(from, "patch work"))
		},
		"clusters join after completion, and one of them fails": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1")
			s.Report("c2", "v1", Hangs)
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			require.Nil(s.t, s.Object().Status.AbortedTime)
			s.Report("c2", "v1", Succeeds)
			s.quiet()
		},
		"clusters join and leave after an abort": func(s *teller) {
			s.aborts()
			s.Place("p1", []string{"c2", "c3"})
			s.quiet()
			s.everywhere("v1")
		},
		"a cluster joins while it is stalled, and the failed one leaves": func(s *teller) {
			s.stable(all("p1", "30s", false), "c1", "c2")
			s.hangs("v2", "c1")
			s.quiet()
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.settle(time.Minute)
			s.Place("p1", []string{"c2", "c3"})
			s.quiet()
			s.everywhere("v2")
		},
		"a cluster that succeeded leaves while its agent is offline": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.settle(4 * time.Second)
			s.Report("c1", "", Silent)
			s.Place("p1", []string{"c2", "c3"})
			s.settle(10 * time.Minute)
			require.Nil(s.t, s.Object().Status.AbortedTime, "its deletion is no failure")
			s.complete()
			s.conditions()
		},
		"a cluster returns while its work is being deleted": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			old := s.uids()["c1"]
			s.Report("c1", "", Silent)
			s.Place("p1", []string{"c2"})
			s.settle(time.Minute)
			s.Place("p1", []string{"c1", "c2"})
			s.settle(time.Minute)
			require.Equal(s.t, old, s.uids()["c1"])
			s.Report("c1", "", Succeeds)
			s.quiet()
			require.NotEqual(s.t, old, s.uids()["c1"])
		},
		"two placements select a cluster, and change places": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Place("p2", []string{"c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true), progressive("p2", 1, "30s", 0, true))
			s.quiet()
			before := s.uids()
			require.Equal(s.t, "p1", s.placementOf("c2"))
			s.Edit("swaps the placementRefs", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0], spec.PlacementRefs[1] = spec.PlacementRefs[1], spec.PlacementRefs[0]
			})
			s.quiet()
			require.Equal(s.t, "p2", s.placementOf("c2"))
			s.Edit("takes p1 out", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs = spec.PlacementRefs[:1] })
			s.quiet()
			require.Equal(s.t, before["c2"], s.uids()["c2"])
			require.Len(s.t, s.Works(), 2)
			for _, work := range s.Works() {
				require.EqualValues(s.t, 1, work.Generation)
			}
		},
		"decisions that stay fewer than the placement's count": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2")
			s.decide("p1", 0, []string{"c1"})
			s.settle(10 * time.Second)
			require.Len(s.t, s.Works(), 2)
			s.settle(time.Minute)
			require.Len(s.t, s.Works(), 1, "they are believed")
			s.Update("v2")
			s.settle(2 * time.Minute)
			s.says(workv1alpha1.ConditionPlacementVerified, `"p1"`)
			require.Equal(s.t, "v1", s.held("c1"), "decisions are missing (R8)")
			s.count("p1", 1, true, nil)
			s.quiet()
		},
		"a placement is missing, and another one shrinks": func(s *teller) {
			s.Place("p1", []string{"c1"})
			s.Place("p2", []string{"c2", "c3"})
			s.Create("v1", all("p1", "30s", true), all("p2", "30s", true))
			s.quiet()
			before := s.uids()
			s.must(s.API.Delete(Placements, Namespace, "p1", nil))
			s.must(s.API.Delete(Decisions, Namespace, "p1-decision-1", nil))
			s.Place("p2", []string{"c2"})
			s.settle(time.Hour)
			s.says(workv1alpha1.ConditionPlacementVerified, `"p1"`)
			require.Equal(s.t, before, s.uids(), "nothing is deleted")
			s.Place("p1", []string{"c1"})
			s.quiet()
			require.Equal(s.t, before["c1"], s.uids()["c1"])
		},
	})
}

// TestStoriesOfEdits plays named stories of edited works, templates and strategies.
func TestStoriesOfEdits(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"edited works go back under the strategy": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Report("c1", "v1", Hangs)
			s.overwrite("c1")
			s.settle(10 * time.Second)
			s.overwrite("c2")
			s.settle(10 * time.Second)
			require.NotEqual(s.t, "v1", s.held("c2"), "c1 has the only slot")
			s.Report("c1", "v1", Succeeds)
			s.quiet()
			s.complete()
			require.Len(s.t, s.Revisions(), 1)
		},
		"edited works go back at once after an abort": func(s *teller) {
			s.aborts()
			s.overwrite("c1")
			s.overwrite("c2")
			s.settle(time.Second)
			s.everywhere("v1")
			s.quiet()
		},
		"a work is deleted by hand, and others lose their hash": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			before := s.uids()
			s.must(s.API.Delete(Works, "c1", Name, nil))
			for cluster, hash := range map[string]any{"c2": "other", "c3": nil} {
				s.patch(Works, cluster, Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{workv1alpha1.LabelControllerHash: hash}}}, false)
			}
			s.Tell("user: deletes the work of c1, changes the hash of c2, and takes that of c3")
			s.settle(time.Minute)
			for _, work := range s.Works() {
				require.Equal(s.t, s.Object().Status.CurrentRevision, work.Labels[workv1alpha1.LabelControllerHash])
				require.Equal(s.t, work.Namespace == "c1", work.UID != before[work.Namespace])
				require.EqualValues(s.t, 1, work.Generation)
			}
		},
		"a new version in the middle of a rollout": func(s *teller) {
			s.stable(progressive("p1", 1, "None", 0, true), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			from := len(s.Story)
			s.Update("v3")
			s.quiet()
			require.Zero(s.t, s.wrote(from, "patch work c2/web (v2)"))
			s.everywhere("v3")
		},
		"a strategy of one placement can't be read": func(s *teller) {
			s.Place("p1", []string{"c1"})
			s.Place("p2", []string{"c2"})
			s.Create("v1", all("p1", "30s", true), all("p2", "30s", true))
			s.quiet()
			s.Update("v2")
			s.Edit("sets a deadline of 5s5", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[1].RolloutStrategy.All.ProgressDeadline = "5s5"
			})
			s.settle(time.Minute)
			s.says(workv1alpha1.ConditionPlacementVerified, "spec.placementRefs[1].rolloutStrategy.all.progressDeadline")
			s.versions("v2", "v1")
			s.idle()
			s.Edit("mends it", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs[1] = all("p2", "30s", true) })
			s.quiet()
		},
		"a status is lost in each state": func(s *teller) {
			lose := func() {
				before := s.Object().Status
				s.wipeStatus()
				s.settle(10 * time.Second)
				require.Equal(s.t, before.CurrentRevision, s.Object().Status.CurrentRevision)
				require.Equal(s.t, before.UpdateRevision, s.Object().Status.UpdateRevision)
				require.True(s.t, before.AbortedTime.Equal(s.Object().Status.AbortedTime))
			}
			s.stable(progressive("p1", 1, "None", 0, false), "c1", "c2", "c3")
			s.Update("v2")
			s.quiet()
			lose()
			s.hangs("v1", "c1")
			s.settle(10 * time.Second)
			lose()
			s.versions("v1", "v2", "v2")
			s.AbortByHand()
			s.quiet()
			lose()
			s.everywhere("v2")
			s.quiet()
		},
		"only the template makes a revision": func(s *teller) {
			s.stable(all("p1", "None", false), "c1")
			from := len(s.Story)
			s.Edit("changes the strategy and the history limit", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0], spec.RevisionHistoryLimit = progressive("p1", 1, "30s", 0, true), new(int32)
			})
			s.quiet()
			require.Zero(s.t, s.wrote(from, "work c1"), s.story())
			require.Len(s.t, s.Revisions(), 1)
		},
	})
}

// complete checks that the rollout is complete, with these failures.
func (s *teller) complete(failed ...string) {
	s.t.Helper()
	status := s.Object().Status
	require.Equal(s.t, status.UpdateRevision, status.CurrentRevision)
	require.Nil(s.t, status.AbortedTime)
	require.Equal(s.t, failed, s.failed())
	require.True(s.t, meta.IsStatusConditionTrue(status.Conditions, workv1alpha1.ConditionPlacementRolledOut))
}
