package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
)

// cutOff makes a version cut off each cluster that gets it. OCM marks a cluster as unavailable 5 minutes after its agent fell silent. Its
// placement controller then drops the cluster.
func (s *teller) cutOff(version string, clusters ...string) {
	s.Report("", version, Silent)
	lost := map[string]time.Time{}
	for range 60 {
		selected := slices.Clone(clusters)
		for _, cluster := range clusters {
			if _, known := lost[cluster]; !known && s.held(cluster) == version {
				lost[cluster] = s.Clock.Now()
			}
			if at, known := lost[cluster]; known && s.Clock.Since(at) >= 5*time.Minute {
				s.Lose(cluster)
				selected = slices.DeleteFunc(selected, func(c string) bool { return c == cluster })
			}
		}
		s.Place("p1", selected)
		s.settle(time.Minute)
		if s.Object().Status.AbortedTime != nil {
			break
		}
	}
	require.NotNil(s.t, s.Object().Status.AbortedTime, "clusters that have %s: %v", version, lost)
	require.Len(s.t, lost, 1, "the first cluster that is cut off stops the rollout")
}

// TestRevisionThatCutsClustersOff: a revision that cuts clusters off is aborted at the deadline of the first of them.
func TestRevisionThatCutsClustersOff(t *testing.T) {
	for name, join := range map[string]func(*teller){
		"the hub reads ManagedClusters": func(s *teller) { s.Join("c1", "c2", "c3", "c4") },
		"it may not": func(s *teller) {
			s.Join("c1", "c2", "c3", "c4")
			s.API.NoClusters = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			join(s)
			s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2", "c3", "c4")
			s.Update("v2")
			s.cutOff("v2", "c1", "c2", "c3", "c4")
			require.Equal(t, "c1", s.Object().Status.Failures[0].Cluster)
			s.settle(time.Minute)
			if !s.API.NoClusters {
				require.Equal(t, "v1", s.held("c1"), "an abort writes it")
			}
		})
	}
}

// lose cuts a cluster off, and makes OCM notice this and drop the cluster.
func (s *teller) lose(cluster string, left ...string) {
	s.Tell("agents: %s is cut off", cluster)
	s.Report(cluster, "", Silent)
	s.settle(10 * time.Second)
	s.Lose(cluster)
	s.Place("p1", left)
}

// regain connects a cluster again.
func (s *teller) regain(cluster string) {
	s.Tell("agents: %s is back", cluster)
	s.Report(cluster, "", Succeeds)
	s.Regain(cluster)
}

// awayNames returns the clusters that the status lists as away.
func (s *teller) awayNames() (names []string) {
	for _, away := range s.Object().Status.Away {
		names = append(names, away.Cluster)
	}
	return names
}

// TestStoriesOfAway plays named stories of clusters that are away, as TestStories does.
func TestStoriesOfAway(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"a cluster is cut off and dropped, and comes back": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.lose("c1", "c2")
			s.settle(10 * time.Minute)
			s.conditions()
			require.Equal(s.t, []workv1alpha1.AwayCluster{{Cluster: "c1", Placement: "p1", Since: s.Object().Status.Away[0].Since}}, s.Object().Status.Away)
			s.regain("c1")
			s.settle(30 * time.Second)
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			require.Empty(s.t, s.Object().Status.Away)
		},
		"a cluster comes back, and is not selected any more": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.lose("c1", "c2")
			s.settle(10 * time.Minute)
			s.restarts()
			s.settle(10 * time.Minute)
			s.regain("c1")
			s.settle(59 * time.Second)
			require.Equal(s.t, "v1", s.held("c1"))
			s.quiet()
			require.Empty(s.t, s.held("c1"))
		},
		"a cluster is lost for good": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.lose("c1", "c2")
			s.settle(10 * time.Minute)
			s.Detach("c1")
			s.settle(time.Minute)
			s.conditions()
		},
		"a cluster that was not started is left alone": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.lose("c1", "c2")
			s.Update("v2")
			s.settle(10 * time.Minute)
			s.conditions()
			require.Equal(s.t, []string{"v1", "v2"}, []string{s.held("c1"), s.held("c2")})
			require.Equal(s.t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision, "nobody waits for it")
			s.regain("c1")
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			require.Equal(s.t, "v2", s.held("c1"))
		},
		"a cluster that is cut off by a revision aborts it": func(s *teller) {
			s.stable(progressive("p1", 1, "2m", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.lose("c1", "c2", "c3")
			s.settle(time.Minute)
			s.conditions()
			s.settle(time.Minute)
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.settle(time.Minute)
			s.conditions()
			s.regain("c1")
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.quiet()
		},
		"a cluster that another placement selects stays with the one that lost it": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Place("p2", []string{"c1", "c3"})
			s.Create("v1", progressive("p1", 1, "2m", 0, true), progressive("p2", 1, "10m", 1, true))
			s.quiet()
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.settle(10 * time.Second)
			s.Lose("c1")
			s.Place("p1", []string{"c2"})
			s.settle(time.Minute)
			require.Equal(s.t, "p1", s.placementOf("c1"))
			s.settle(time.Minute)
			require.NotNil(s.t, s.Object().Status.AbortedTime, "p1 tolerates no failure")
			s.Regain("c1")
			s.Report("c1", "v2", Succeeds)
			s.settle(50 * time.Second)
			require.Equal(s.t, "p1", s.placementOf("c1"))
			s.quiet()
			require.Equal(s.t, "p2", s.placementOf("c1"), "it has been available for a minute")
		},
	}, func(s *teller) {
		s.Join("c1", "c2", "c3")
		s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	})
}

// TestAwayWithoutTheRight: without the permission to read ManagedClusters, the hub reports this, and continues to roll out.
func TestAwayWithoutTheRight(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2")
	s.API.NoClusters = true
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.says(workv1alpha1.ConditionProgressing, "no ManagedClusters: simulated")
	s.lose("c1", "c2")
	s.settle(10 * time.Minute)
	require.NotNil(t, s.workOf("c1").DeletionTimestamp, "nothing shows that it is away")
	s.idle()
	s.API.NoClusters = false
	s.Restart()
	s.settle(time.Minute)
	require.NotContains(t, s.says(workv1alpha1.ConditionProgressing).Message, "no ManagedClusters")
}

// TestAwayWhileTheRightIsRevoked: a cluster is away when the hub loses the permission to read ManagedClusters. The cluster stays away until
// the hub has the permission again.
func TestAwayWhileTheRightIsRevoked(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2")
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.lose("c1", "c2")
	s.settle(10 * time.Minute)
	kept := s.workOf("c1").UID
	stays := func() {
		t.Helper()
		s.settle(10 * time.Minute)
		require.Nil(t, s.workOf("c1").DeletionTimestamp)
		require.Equal(t, kept, s.workOf("c1").UID)
		require.Equal(t, []string{"c1"}, s.awayNames())
	}
	s.API.NoClusters = true
	s.Edit("keeps fewer revisions", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](5) })
	stays()
	s.says(workv1alpha1.ConditionProgressing, "no ManagedClusters: simulated")
	s.says(workv1alpha1.ConditionManifestworkApplied, "1 cluster (c1 since ", "until this hub can read ManagedClusters")
	s.Restart()
	stays()

	// The hub does not see that the cluster is back. The minute begins when it does.
	s.regain("c1")
	stays()
	s.API.NoClusters = false
	s.settle(55 * time.Second)
	require.Equal(t, kept, s.workOf("c1").UID)
	s.quiet()
	require.Empty(t, s.held("c1"), "it has been available for a minute, and nothing selects it")
	require.Empty(t, s.Object().Status.Away)
}

// noted shows a changed ManagedCluster to the hub, and returns the objects that the hub queues.
func (s *teller) noted(name string, change func(*clusterv1.ManagedCluster)) []string {
	object, err := s.API.Get(Clusters, "", name)
	require.NoError(s.t, err)
	cluster := as[clusterv1.ManagedCluster](s.API, object)
	change(cluster)
	trimmed, err := availability.Trim(cluster)
	require.NoError(s.t, err)
	return s.Hub.controller.NoteCluster(trimmed)
}

// TestHeartbeatsMakeNoPass: an update of a ManagedCluster that does not change its availability leads to no pass, regardless of its works.
func TestHeartbeatsMakeNoPass(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2")
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	notes := func(change func(*clusterv1.ManagedCluster)) []string { return s.noted("c1", change) }
	require.Empty(t, notes(func(cluster *clusterv1.ManagedCluster) { cluster.ResourceVersion = "another" }))
	require.Empty(t, notes(func(cluster *clusterv1.ManagedCluster) { cluster.Status.Conditions[0].Message = "another" }))
	require.Empty(t, notes(func(cluster *clusterv1.ManagedCluster) {
		cluster.Status.Conditions[0].LastTransitionTime = metav1.NewTime(s.Clock.Now())
	}))
	require.Equal(t, []string{"default/web"}, notes(func(cluster *clusterv1.ManagedCluster) { cluster.Status.Conditions[0].Status = metav1.ConditionUnknown }))
	require.Equal(t, []string{"default/web"}, notes(func(*clusterv1.ManagedCluster) {}))
}

// TestAwayOverABroker: a restarted hub does not know the work of a cluster that is away until the agent reports it. Until then, the cluster
// stays away, and its workloads stay.
func TestAwayOverABroker(t *testing.T) {
	for name, end := range map[string]func(*teller){
		"it is selected again": func(s *teller) {
			s.regain("c1")
			s.settle(30 * time.Second)
			require.Equal(s.t, []string{"c1"}, s.awayNames())
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			require.Equal(s.t, "v1", s.held("c1"))
		},
		"it is not selected again": func(s *teller) {
			s.regain("c1")
			s.settle(50 * time.Second)
			require.Equal(s.t, "v1", s.held("c1"))
			s.quiet()
			require.Empty(s.t, s.held("c1"))
		},
		"its ManagedCluster is deleted": func(s *teller) {
			s.Detach("c1")
			s.settle(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := overBroker(t)
			s.Join("c1", "c2")
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Network.CutAgent("c1", time.Hour)
			s.lose("c1", "c2")
			s.settle(10 * time.Minute)
			for range 2 {
				s.Restart()
				s.settle(10 * time.Minute)
				require.Equal(t, []string{"c1"}, s.awayNames())
				require.Equal(t, "v1", s.held("c1"))
			}
			s.settle(time.Hour)
			require.Equal(t, "v1", s.held("c1"))
			end(s)
			require.Empty(t, s.Object().Status.Away)
		})
	}
}

// TestAwayClusterThatReturnsTakesASlot: when the template returns to the current revision, a cluster that is away gets that revision at
// once. No other cluster is started in addition.
func TestAwayClusterThatReturnsTakesASlot(t *testing.T) {
	s := checkedStory(t)
	s.Join("c1", "c2", "c3")
	s.stable(progressive("p1", 1, "2m", 0, false), "c1", "c2")
	s.Update("v2")
	s.lose("c1", "c2", "c3")
	s.settle(time.Second)
	s.Update("v1")
	s.settle(time.Second)
	require.Equal(t, "v1", s.held("c1"), s.story())
	require.Empty(t, s.held("c3"), s.story())
}

// away adds the loss and return of clusters to the actions of a story. OCM's placement controller drops and selects them in any order.
func (m *model) away(actions map[string]func(*rapid.T)) {
	actions["a cluster is cut off"] = func(t *rapid.T) {
		cluster := rapid.SampledFrom(clusterNames).Draw(t, "cluster")
		if rapid.Bool().Draw(t, "silent first") {
			m.report(cluster, "", Silent)
		}
		m.w.Lose(cluster)
	}
	actions["a cluster is back"] = func(t *rapid.T) {
		cluster := rapid.SampledFrom(clusterNames).Draw(t, "cluster")
		m.report(cluster, "", Succeeds)
		m.w.Regain(cluster)
		if rapid.Bool().Draw(t, "selected at once") {
			m.replace()
		}
	}
	actions["OCM looks at the taints"] = func(*rapid.T) { m.replace() }
	actions["an administrator sets a hold or windows"] = func(t *rapid.T) { // No story lasts from Friday to Thursday.
		cluster := rapid.SampledFrom(clusterNames).Draw(t, "cluster")
		m.w.Hold(cluster, rapid.SampledFrom([]string{"", "", "a freeze"}).Draw(t, "reason"))
		windows := []string{"", "", "UTC Fri-Wed 00:00-24:00", "Europe/Berlin Thu 10:00-11:00", "nonsense"}
		m.w.Windows(cluster, rapid.SampledFrom(windows).Draw(t, "windows"))
	}
	actions["a cluster is detached"] = func(t *rapid.T) { m.w.Detach(rapid.SampledFrom(clusterNames).Draw(t, "cluster")) }
}

// replace makes OCM's placement controller select the clusters of the Placements, without the unavailable ones.
func (m *model) replace() {
	for _, placement := range placementNames {
		groups := m.placed[placement]
		for i := range groups {
			groups[i] = slices.DeleteFunc(slices.Clone(groups[i]), func(c string) bool { return m.w.managed(c) && !m.w.available(c) })
		}
		m.write(placement, groups)
	}
}
