package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfLeaving plays named stories of works that their agents do not release, as TestStories does.
func TestStoriesOfLeaving(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"a canary whose work is being deleted is not passed over": func(s *teller) {
			s.Place("p1", []string{"c1"}, []string{"c2", "c3"})
			s.Create("v1", perGroup("p1", "30s", 0, true))
			s.quiet()
			s.Report("c1", "", Silent)
			s.loses("c1")
			s.settle(time.Second)
			s.hangs("v2", "")
			s.settle(10 * time.Second)
			s.conditions()
			s.quiet()
			require.Equal(s.t, "v1", s.held("c2"), "the canary never had it")
			s.Tell("agents: c1 is back")
			delete(s.outcomes, "c1/")
			s.Report("c1", "v1", Succeeds)
			s.quiet()
		},
		"a canary that is deselected while it is offline is not passed over": func(s *teller) {
			s.Place("p1", []string{"c1"}, []string{"c2", "c3"})
			s.Create("v1", perGroup("p1", "None", 0, false))
			s.quiet()
			s.Report("c1", "", Silent)
			s.Place("p1", nil, []string{"c2", "c3"})
			s.settle(10 * time.Second)
			s.Update("v2")
			s.settle(10 * time.Second)
			require.Equal(s.t, "v1", s.held("c2"), "the canary never had it, and its work is still there")
			s.settle(4 * time.Minute)
			s.settle(time.Minute)
			s.conditions()
			require.Equal(s.t, "v1", s.held("c2"), "the canary never had it")
			s.Edit("sets a deadline", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{perGroup("p1", "30s", 0, true)}
			})
			s.settle(time.Minute)
			s.conditions()
			require.Equal(s.t, "v1", s.held("c2"), "the canary never had it")
			s.Tell("agents: c1 is back")
			s.Report("c1", "", Succeeds)
			s.quiet()
		},
		"a deletion that hangs holds nothing open": func(s *teller) {
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.settle(time.Second)
			s.Report("c3", "", Silent)
			s.loses("c3")
			s.quiet()
			stalled := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionProgressing)
			require.Equal(s.t, workv1alpha1.ReasonProgressDeadlineExceeded, stalled.Reason)
			require.Contains(s.t, stalled.Message, "c3")
			require.Nil(s.t, s.Object().Status.AbortedTime, "it never had the new revision")
			s.Tell("agents: c3 is back")
			s.Report("c3", "", Succeeds)
			s.quiet()
			require.Equal(s.t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
		},
		"a crash loop fails": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			ref := soaking(progressive("p1", 1, "30s", 0, true), 10*time.Second)
			s.Create("v1", ref)
			s.quiet()
			s.Report("c1", "v2", Flaps)
			s.Update("v2")
			s.settle(79 * time.Second)
			require.Nil(s.t, s.Object().Status.AbortedTime)
			s.settle(10 * time.Second)
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.quiet()
		},
		"a relapse long after a success begins a new time": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "c3", "c4", "c5", "c6"})
			ref := soaking(progressive("p1", 1, "30s", 0, true), 20*time.Second)
			s.Create("v1", ref)
			s.quiet()
			s.Update("v2")
			s.settle(105 * time.Second)
			s.Report("c1", "v2", Flaps)
			s.settle(15 * time.Second)
			require.Equal(s.t, "v1", s.held("c6"), "the rollout is under way")
			require.Nil(s.t, s.Object().Status.AbortedTime)
			s.Report("c1", "v2", Succeeds)
			s.quiet()
			require.Equal(s.t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
		},
	})
}
