package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// reports makes the agent of a cluster report a work as applied and stuck, or as degraded, since a time of its choice.
func (s *teller) reports(cluster, name string, degraded metav1.ConditionStatus) {
	object, err := s.API.Get(Works, cluster, name)
	require.NoError(s.t, err)
	var conditions []metav1.Condition
	for conditionType, status := range map[string]metav1.ConditionStatus{
		workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: metav1.ConditionFalse, workv1.WorkProgressing: metav1.ConditionTrue, workv1.WorkDegraded: degraded,
	} {
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: conditionType, Status: status, Reason: "Forged", ObservedGeneration: object.GetGeneration(),
			LastTransitionTime: metav1.NewTime(s.Clock.Now().Add(-time.Hour))})
	}
	s.patch(Works, cluster, name, map[string]any{"status": map[string]any{"conditions": conditions}}, true)
}

// passes runs the world for a time, while an agent writes again and again.
func (s *teller) passes(during time.Duration) {
	s.t.Helper()
	for until := s.Clock.Now().Add(during); s.Clock.Now().Before(until); {
		s.settle(time.Second)
	}
}

// stableFleet is a fleet of three clusters with v1 as the stable revision. Every failure above the tolerance leads to an abort.
func stableFleet(t *testing.T, maxFailures int32) *teller {
	t.Helper()
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", maxFailures, true), "c1", "c2", "c3")
	return s
}

// The agent of an unselected cluster marks a work of another owner as part of the rollout, and reports it as failed. The failure does not
// count.
func TestAgentOfAnUnselectedClusterAbortsNothing(t *testing.T) {
	s := stableFleet(t, 0)
	s.Corrupt("c9")
	s.Update("v2")
	s.settle(2 * time.Second)
	hash := s.hashOf("v2")
	for _, name := range []string{"other", Name + "-other"} {
		template := Template("v2")
		s.patch(Works, "c9", name, map[string]any{
			"metadata": map[string]any{
				"labels":      map[string]any{workv1alpha1.LabelReplicaSet: "default.web", workv1alpha1.LabelPlacement: "p1", workv1alpha1.LabelControllerHash: hash},
				"annotations": map[string]any{workv1alpha1.AnnotationAppliedAt: s.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)},
				"finalizers":  []string{finalizer},
			},
			"spec": from(&template).Object,
		}, false)
		s.reports("c9", name, metav1.ConditionTrue)
	}
	s.adversaries.hold.Insert("c9")
	s.Tell("agent of c9: gives two works of others the marks of the rollout")
	s.settle(Forever)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.has("v2", "c1", "c2", "c3")
	require.Equal(t, hash, s.Object().Status.CurrentRevision)
}

// An agent writes its status again and again, so that the cache never shows the state of the API server. The failures of other clusters
// still lead to an abort.
func TestAgentThatNeverRestsHoldsNoAbortUp(t *testing.T) {
	s := stableFleet(t, 1)
	s.Edit("all at once", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 3, "30s", 1, true)}
	})
	s.hangs("v2", "")
	s.settle(10 * time.Second)
	s.Corrupt("c1")
	degraded := metav1.ConditionTrue
	s.adversaries.strike = func() {
		if degraded == metav1.ConditionTrue {
			degraded = metav1.ConditionFalse
		} else {
			degraded = metav1.ConditionTrue
		}
		s.reports("c1", Name, degraded)
		s.Clock.Step(500 * time.Millisecond)
	}
	s.passes(2 * time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.adversaries.strike = nil
	s.settle(Forever)
	s.has("v1", "c2", "c3")
}

// An agent that undoes each write of an abort, or writes before each of them, does not delay the rollout of a newer template to the other
// clusters.
func TestAgentThatUndoesAnAbortHoldsNoRolloutUp(t *testing.T) {
	for name, before := range map[string]bool{"after each write": false, "before each write": true} {
		t.Run(name, func(t *testing.T) {
			s := stableFleet(t, 0)
			s.hangs("v2", "c2")
			s.settle(20 * time.Second)
			s.Corrupt("c1")
			version := 0
			undo := func() {
				if s.held("c1") == "v1" || before {
					version++
					s.forge("c1", fmt.Sprintf("%s%d", forgedPrefix, version))
					s.Clock.Step(500 * time.Millisecond)
				}
			}
			if before {
				s.Fault = func(write string) Fault {
					if write == "patch work c1/web" {
						undo()
					}
					return NoFault
				}
			} else {
				s.adversaries.strike = undo
			}
			s.passes(3 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.Report("c2", "v3", Succeeds)
			s.Edit("tolerates one", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 3, "30s", 1, true)}
			})
			s.Update("v3")
			s.passes(3 * time.Minute)
			s.has("v3", "c2", "c3")
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
		})
	}
}

// The agent of the only selected cluster can't present its content as that of another hub, so the content does not become the stable
// revision for clusters that are selected later. The agent can only leave the object without a stable revision until a rollout is complete,
// as a rollout of another hub does there.
func TestAgentOfTheOnlyClusterMakesNoHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 3, "30s", 0, true), "c1")
	s.Corrupt("c1")
	s.forge("c1", forgedPrefix+"c1")
	s.World.strip(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: Name}}, func(string, int) int { return 2 })
	s.Tell("agent of c1: takes the marks off its work")
	s.hangs("v2", "c2")
	s.settle(2 * time.Second)
	require.Empty(t, s.hashOf(forgedPrefix+"c1"), s.story())
	require.NotEmpty(t, s.hashOf("v1"))
	require.Empty(t, s.Object().Status.CurrentRevision)
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.quiet()
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.says(workv1alpha1.ConditionProgressing, "another hub rolled out a template after revision web-"+s.hashOf("v1"))
	s.Report("c2", "v2", Succeeds)
	s.quiet()
	require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision)
	s.has("v2", "c1", "c2", "c3")
}

// A revision that was found on only one cluster at first sight is restored on no other cluster.
func TestFirstSightOfOneClusterIsForThatClusterOnly(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	s.Place("p1", []string{"c1"})
	s.Create("v1", all("p1", "30s", true))
	s.Upstream("p1", "v1", "c1")
	s.Corrupt("c1")
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.forge("c1", forgedPrefix+"c1")
	s.settle(time.Minute)
	s.Report("c2", "v1", Hangs)
	s.Upgrade()
	s.settle(time.Second)
	require.Equal(t, s.hashOf(forgedPrefix+"c1"), s.Object().Status.CurrentRevision, s.story())
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.quiet()
	s.has("v1", "c2", "c3")
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.says(workv1alpha1.ConditionProgressing, "was found only on cluster c1")
}
