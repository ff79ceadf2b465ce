package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// stalledOn runs a rollout of v2 that stalls, because the first two clusters hang and no failure is tolerated.
func stalledOn(t *testing.T, begin func(*teller), clusters ...string) *teller {
	t.Helper()
	s := checkedStory(t)
	begin(s)
	s.stable(progressive("p1", 2, "30s", 0, false), clusters...)
	s.hangs("v2", clusters[0], clusters[1])
	s.quiet()
	s.stays(map[string]string{clusters[0]: "v2", clusters[1]: "v2", clusters[2]: "v1"})
	return s
}

// stays checks which version clusters have, and that the rollout has not resumed.
func (s *teller) stays(versions map[string]string) {
	s.t.Helper()
	for cluster, version := range versions {
		require.Equal(s.t, version, s.held(cluster), s.story())
	}
	require.NotContains(s.t, s.events, "RolloutResumed", s.story())
}

// failed returns the clusters in status.failures.
func (s *teller) failed() (clusters []string) {
	for _, failure := range s.Object().Status.Failures {
		clusters = append(clusters, failure.Cluster)
	}
	return clusters
}

// TestFailureIsAFact: none of these events revokes a failure.
func TestFailureIsAFact(t *testing.T) {
	for name, happens := range map[string]func(*teller){
		"the hub restarts":               func(s *teller) { s.Restart() },
		"the hub's heartbeat is late":    func(s *teller) { s.Suspend(2 * time.Second) },
		"the API server was away":        func(s *teller) { s.Hub.connection.Restart() },
		"somebody edits the failed work": func(s *teller) { s.overwrite("c1") },
		"somebody deletes it":            func(s *teller) { s.must(s.API.Delete(Works, "c1", Name, nil)) },
		"somebody deletes the revision":  func(s *teller) { s.deleteRevisionOf("v2") },
		"somebody deletes the revision, and the hub restarts": func(s *teller) {
			s.deleteRevisionOf("v2")
			s.quiet()
			s.Restart()
		},
		"the revision is deleted while the hub restarts": func(s *teller) {
			s.deleteRevisionOf("v2")
			s.Restart()
		},
		"somebody deletes it, and the hub restarts": func(s *teller) {
			s.must(s.API.Delete(Works, "c1", Name, nil))
			s.settle(time.Second)
			s.Restart()
		},
		"another field of the spec is edited": func(s *teller) {
			s.keepsOlder(3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
			require.Equal(t, []string{"c1", "c2"}, s.failed())
			since := s.Object().Status.Failures[0].Since
			happens(s)
			s.settle(5 * time.Minute)
			s.stays(map[string]string{"c1": "v2", "c2": "v2", "c3": "v1", "c4": "v1"})
			require.Equal(t, []string{"c1", "c2"}, s.failed())
			require.True(t, since.Equal(&s.Object().Status.Failures[0].Since))
			s.Report("c1", "v2", Succeeds)
			s.Report("c2", "v2", Succeeds)
			s.quiet()
			require.Empty(t, s.failed())
			s.everywhere("v2")
		})
	}
}

// overwrite edits the work of a cluster, as a user would.
func (s *teller) overwrite(cluster string) {
	template := Template(edited)
	s.patch(Works, cluster, Name, map[string]any{"spec": from(&template).Object}, false)
}

// TestDeselectedClusterAbortsNothing: a cluster that had succeeded, and whose deletion takes a long time, does not fail the rollout.
func TestDeselectedClusterAbortsNothing(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
	s.Update("v2")
	s.settle(6 * time.Second)
	s.adversaries.hold.Insert("c1")
	s.Place("p1", []string{"c2", "c3"})
	s.settle(10 * time.Second)
	work := s.workOf("c1")
	require.NotNil(t, work.DeletionTimestamp, s.story())
	s.turns("c1", workv1.WorkAvailable)
	s.Restart()
	s.settle(10 * time.Minute)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.stays(map[string]string{"c2": "v2", "c3": "v2"})
	require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
}

// turns makes an agent report one condition of its work as False.
func (s *teller) turns(cluster, conditionType string) {
	work := s.workOf(cluster)
	condition := meta.FindStatusCondition(work.Status.Conditions, conditionType)
	condition.Status, condition.LastTransitionTime.Time, condition.ObservedGeneration = metav1.ConditionFalse, s.Clock.Now(), work.Generation
	s.patch(Works, cluster, Name, map[string]any{"status": from(work).Object["status"]}, true)
	s.Tell("agents: %s reports %s=False", cluster, conditionType)
}

// TestRevertInMidRollout: a template that returns to the current revision reaches every cluster that left it at once.
func TestRevertInMidRollout(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3", "c4"})
	ref := soaking(progressive("p1", 1, "30s", 0, false), 20*time.Second)
	s.Create("v1", ref)
	s.quiet()
	s.hangs("v2", "c1")
	s.settle(time.Minute)
	s.stays(map[string]string{"c1": "v2", "c2": "v1"})
	s.Report("c2", "v1", Degrades)
	s.settle(10 * time.Second)
	s.Update("v1")
	s.settle(time.Second)
	s.everywhere("v1")
	s.Report("c2", "v1", Succeeds)
	began := s.Clock.Now()
	s.quiet()
	require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
	require.Empty(t, s.failed())
	require.Less(t, s.Clock.Since(began), 2*time.Hour)
	for _, work := range s.Works()[2:] {
		at, _ := time.Parse(time.RFC3339Nano, work.Annotations[workv1alpha1.AnnotationAppliedAt])
		require.True(t, at.Before(began.Add(-time.Minute)), "%s never left, and is written again", work.Namespace)
	}
}

// TestToleratedFailureCompletes: an offline cluster does not prevent a revision from becoming the stable one.
func TestToleratedFailureCompletes(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 2, "30s", 1, true), "c1", "c2", "c3", "c4")
	s.Report("c4", "", Silent)
	s.Update("v2")
	s.quiet()
	v2 := s.Object().Status
	require.Equal(t, v2.UpdateRevision, v2.CurrentRevision, s.story())
	require.Equal(t, []string{"c4"}, s.failed())
	require.Contains(t, s.says(workv1alpha1.ConditionPlacementRolledOut, "c4").Reason, workv1alpha1.ReasonComplete)
	s.says(workv1alpha1.ConditionManifestworkApplied, "c4")
	require.Nil(t, meta.FindStatusCondition(v2.Conditions, workv1alpha1.ConditionStalled))
	require.Contains(t, s.story(), "event: RolloutComplete: 3 of 4 clusters are at revision")
	s.settle(24 * time.Hour)
	s.Restart()
	s.hangs("v3", "")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	for _, cluster := range []string{"c1", "c2", "c3"} {
		require.Equal(t, "v2", s.held(cluster), s.story())
	}
	require.True(t, sets.New(s.failed()...).HasAll("c1", "c2"), s.failed())
	s.Report("c4", "", Succeeds)
	s.Report("c4", "v2", Succeeds)
	s.quiet()
	s.everywhere("v2")
}

// TestRetryOfSingleClusters: removing a cluster from status.failures gives it a new deadline, and the others stay failed.
func TestRetryOfSingleClusters(t *testing.T) {
	s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
	s.settle(time.Hour)
	appliedAt := func(cluster string) string { return s.workOf(cluster).Annotations[workv1alpha1.AnnotationAppliedAt] }
	before, generation := appliedAt("c1"), s.workOf("c1").Generation
	s.forgive("c1")
	s.settle(10 * time.Second)
	require.Equal(t, []string{"c2"}, s.failed(), s.story())
	require.NotEqual(t, before, appliedAt("c1"), "it has a new deadline")
	require.Equal(t, generation, s.workOf("c1").Generation, "nothing restarts there")
	s.settle(time.Minute)
	require.Equal(t, []string{"c1", "c2"}, s.failed(), "it failed again")
	require.Equal(t, []string{"v1", "v1"}, []string{s.held("c3"), s.held("c4")}, "nothing new is started")
}

// TestRetryOfARejectedCluster: the work of a retried cluster is written at once.
func TestRetryOfARejectedCluster(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2")
	s.Refuse("c1", Denied)
	s.Update("v2")
	s.settle(time.Minute)
	require.Equal(t, []string{"c1"}, s.failed())
	s.settle(10*time.Minute + 5*time.Second)
	s.Refuse("c1", NoFault)
	s.forgive("c1")
	s.settle(time.Second)
	require.Equal(t, "v2", s.held("c1"), s.story())
	s.quiet()
	s.everywhere("v2")
}

// forgive removes a cluster from status.failures, as a user would.
func (s *teller) forgive(cluster string) {
	status := s.Object().Status
	kept := []any{}
	for i := range status.Failures {
		if status.Failures[i].Cluster != cluster {
			kept = append(kept, from(&status.Failures[i]).Object)
		}
	}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"failures": kept}}, true)
	s.Tell("user: takes %s out of status.failures", cluster)
}

// TestRollbackWindow: an undo within the window reaches every cluster at once, and an undo to an aborted revision does not.
func TestRollbackWindow(t *testing.T) {
	for window, atOnce := range map[int32]bool{0: false, 1: false, 2: true} {
		s := &teller{World: NewWorld(), t: t}
		s.Place("p1", []string{"c1", "c2", "c3", "c4"})
		s.Create("v1", progressive("p1", 1, "30s", 0, false))
		s.window(window)
		s.quiet()
		for _, version := range []string{"v2", "v3"} {
			s.Update(version)
			s.quiet()
		}
		s.Update("v1")
		s.settle(time.Second)
		if atOnce {
			s.everywhere("v1")
		} else {
			require.Equal(t, "v3", s.held("c4"), "window %d\n%s", window, s.story())
		}
		s.quiet()
		s.everywhere("v1")
		require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
	}
}
