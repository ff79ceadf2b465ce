package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// fleet returns a rollout to 20 clusters at 5m, half of them at a time. Of the clusters with v2, 7 are degraded and 2 are offline. The API
// server rejects the work of c10.
func fleet(t *testing.T, failures, deadline string) *view.Objects {
	t.Helper()
	o := objects(t)
	o.Now = now.Add(5 * time.Minute)
	o.ReplicaSet.Status.State = workv1alpha1.StateRollingOut
	strategy := canary(clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{MaxFailures: intstr.Parse(failures)},
		MaxConcurrency: intstr.FromString("50%"),
	})
	strategy.Progressive.ProgressDeadline = deadline
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = strategy
	o.Decisions["p"][0].Status.Decisions = nil
	for i := range 20 {
		name := fmt.Sprintf("c%02d", i+1)
		o.Decisions["p"][0].Status.Decisions = append(o.Decisions["p"][0].Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		switch {
		case i < 7:
			o.Works = append(o.Works, sick(at(t, name, 0), time.Duration(i)*time.Second))
		case i < 9:
			o.Works = append(o.Works, silent(at(t, name, 0)))
		default:
			o.Works = append(o.Works, succeeding(t, name, "v1"))
		}
	}
	o.Placements["p"].Status.NumberOfSelectedClusters = 20
	o.ReplicaSet.Status.PlacementsSummary = []workv1alpha1.PlacementSummary{{Name: "p", Counted: 20}}
	o.ReplicaSet.Status.Rejections = []workv1alpha1.ClusterFailure{{
		Cluster: "c10", Placement: "p", Since: metav1.NewTime(now.Add(3 * time.Second)), Reason: workv1alpha1.FailureRejected,
		Message: `admission webhook "images" denied the request: v2 is not signed`,
	}}
	return o
}

// oneWave moves the deadlines of the fleet's clusters to at most 5 s apart.
func oneWave(o *view.Objects) { sick(o.Works[6], 5*time.Second) }

func textsOf(o *view.Objects, facts []view.Fact) (texts []string) {
	for i := range facts {
		when := "now"
		if !facts[i].At.IsZero() {
			when = facts[i].At.Sub(o.Now).String()
		}
		texts = append(texts, when+": "+facts[i].Text)
	}
	return texts
}

// TestThen: all failing clusters count together, and one forecast describes the hub's next actions and their times.
func TestThen(t *testing.T) {
	for name, c := range map[string]struct {
		failures, deadline string
		change             func(*view.Objects)
		want               []string
	}{
		"the seventh failure aborts": {"6", "10m", nil, []string{
			"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
			"5m3s: 7th failure, maxFailures 6: AbortAll returns 9 clusters to revision 1",
		}},
		"a percentage": {"25%", "10m", nil, []string{
			"now: halted: 7 degraded, maxFailures 25% (5): nothing starts until 2 recover",
			"5m3s: 6th failure, maxFailures 25% (5): AbortAll returns 9 clusters to revision 1",
		}},
		"a percentage of the clusters before the Placement shrank": {"25%", "10m", func(o *view.Objects) {
			o.ReplicaSet.Status.PlacementsSummary[0].Counted = 30
		}, []string{
			"now: halted: 7 degraded, maxFailures 25% (5): nothing starts until 2 recover",
			"5m5s: 9th failure, maxFailures 25% (8): AbortAll returns 9 clusters to revision 1",
		}},
		"none of them is too many": {"50%", "10m", nil, []string{
			"5m0s: the first of 10 clusters (c01, c02, c03, c04, c05 and 5 more) fails; maxFailures 50% (10): the rollout continues",
		}},
		"none of them is too many, in one wave": {"50%", "10m", oneWave, []string{
			"5m0s: 10 clusters (c01, c02, c03, c04, c05 and 5 more) fail; maxFailures 50% (10): the rollout continues",
		}},
		"without a deadline": {"6", "None", nil, []string{
			"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
			"now: no deadline: the rollout does not change until a user acts, because progressDeadline is None",
		}},
		"without a deadline, and not halted": {"10", "None", nil, []string{
			"now: no deadline: the hub waits for 10 clusters indefinitely, because progressDeadline is None",
		}},
		"without AbortAll": {"6", "10m", func(o *view.Objects) {
			o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
		}, []string{
			"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
			"5m6s: the last of 10 clusters (c01, c02, c03, c04, c05 and 5 more) fails: then the rollout does not change until a user acts",
		}},
		"without AbortAll, in one wave": {"6", "10m", func(o *view.Objects) {
			oneWave(o)
			o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
		}, []string{
			"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
			"5m5s: 10 clusters (c01, c02, c03, c04, c05 and 5 more) fail: then the rollout does not change until a user acts",
		}},
		"the Placement is missing": {"6", "10m", func(o *view.Objects) {
			o.Placements, o.Decisions = nil, nil
			o.ReplicaSet.Status.Conditions = []metav1.Condition{{
				Type: workv1alpha1.ConditionPlacementVerified, Status: metav1.ConditionFalse, Message: "missing",
			}}
		}, []string{
			"now: the clusters of a Placement are unknown: until they are known, the hub starts no cluster, no cluster fails, and nothing is aborted; " +
				"deadlines keep running",
			"now: halted: earlier failures, maxFailures 6: the rollout does not complete until 1 recovers",
		}},
		"paused": {"6", "10m", func(o *view.Objects) { o.ReplicaSet.Spec.Paused = true }, []string{
			"now: paused: the hub writes to no cluster, and aborts nothing, until a user resumes the rollout",
			"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
			"5m4s: 7th failure, maxFailures 6: the abort is due, and waits for the end of the pause: " +
				"then AbortAll returns 9 clusters to revision 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := fleet(t, c.failures, c.deadline)
			if c.change != nil {
				c.change(o)
			}
			f := view.FleetOf(o)
			require.Equal(t, c.want, textsOf(o, f.Then))
			require.Nil(t, f.Estimate, "no end is expected")
			ahead, err := view.AheadOf(o)
			require.NoError(t, err)
			require.Equal(t, f.Then, ahead.Then)
			story, err := view.Why(o, "c03")
			require.NoError(t, err)
			for _, fact := range f.Then {
				require.Contains(t, story.Future, fact)
			}
			require.NotContains(t, f.Next, "wait until the rollout ends")
			for _, command := range f.Next {
				require.NotContains(t, command.Purpose, "until the rollout ends")
			}
		})
	}
}

// TestThenAfterARestart: a hub that has just begun to lead fires no deadline before the agents have had time to report to it.
func TestThenAfterARestart(t *testing.T) {
	o := fleet(t, "6", "10m")
	o.Now = now.Add(11 * time.Minute)
	o.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("hub"), LeaseDurationSeconds: ptr.To[int32](60),
		AcquireTime: ptr.To(metav1.NewMicroTime(o.Now.Add(-30 * time.Second))), RenewTime: ptr.To(metav1.NewMicroTime(o.Now)),
	}}
	require.Equal(t, []string{
		"now: halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers",
		"1m30s: 7th failure, maxFailures 6: AbortAll returns 9 clusters to revision 1",
	}, textsOf(o, view.FleetOf(o).Then))
}

// TestWhyOfAClusterThatIsAway: the deadline of a cluster that is away is shown like any other.
func TestWhyOfAClusterThatIsAway(t *testing.T) {
	o := fleet(t, "9", "10m")
	o.Decisions["p"][0].Status.Decisions = o.Decisions["p"][0].Status.Decisions[1:]
	o.Placements["p"].Status.NumberOfSelectedClusters = 19
	o.ReplicaSet.Status.Away = []workv1alpha1.AwayCluster{{Cluster: "c01", Placement: "p"}}
	story, err := view.Why(o, "c01")
	require.NoError(t, err)
	require.Equal(t, view.StateAway, story.Cluster.State)
	require.Contains(t, textsOf(o, story.Future), "5m0s: becomes Failed")
	require.Contains(t, texts(story.Future), "waits for a Placement to select it again: if no Placement selects it within a minute after it becomes available, its ManifestWork is deleted")
	o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(o.Now))
	story, err = view.Why(o, "c01")
	require.NoError(t, err)
	require.Contains(t, texts(story.Future), "waits for its agent to confirm revision 1")
	o.ReplicaSet.Status.Ledger, o.ReplicaSet.Status.Revisions = "{}", nil
	require.Contains(t, texts(view.FleetOf(o).Then), "the hub has no ControllerRevision of revision 1 to return to: it restores no cluster until the template changes or a user retries")

	o = fleet(t, "9", "10m")
	o.Decisions["p"][0].Status.Decisions = o.Decisions["p"][0].Status.Decisions[1:]
	o.Placements["p"].Status.NumberOfSelectedClusters = 19
	story, err = view.Why(o, "c01")
	require.NoError(t, err, "nothing selects it, but it still counts")
	require.Contains(t, textsOf(o, story.Future), "5m0s: becomes Failed")

	o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c01", Placement: "p", Reason: workv1alpha1.FailureDegraded, Message: "as recorded"}}
	story, err = view.Why(o, "c01")
	require.NoError(t, err)
	require.Equal(t, rollout.PhaseFailed, story.Cluster.State)
	require.Equal(t, workv1alpha1.FailureDegraded, story.Cluster.Reason)
	require.Equal(t, "as recorded", story.Cluster.Message)
}

// TestCausesFromTheFirstSecond: the causes are grouped before any deadline, by the words of the agents and of the API server.
func TestCausesFromTheFirstSecond(t *testing.T) {
	o := fleet(t, "6", "10m")
	o.Works[15] = sick(succeeding(t, "c16", "v1"), 0)
	o.Works[16].Digest = "edited"
	var found []string
	for _, cause := range view.FleetOf(o).Causes {
		found = append(found, fmt.Sprintf("%d %s %s", len(cause.Clusters), cause.Clusters[0], cause.Text()))
	}
	require.Equal(t, []string{
		`1 c10 Rejected: admission webhook "images" denied the request: v2 is not signed`,
		"7 c01 Degraded: ImagePullBackOff",
		"2 c08 InFlight: the agent has not reported on revision 2",
		"1 c17 Waiting: the content of the ManifestWork differs from revision 1: the hub overwrites the change when the cluster's turn comes",
		"1 c16 Waiting: unhealthy at revision 1: Degraded=True: ImagePullBackOff",
	}, found)
}

// TestRejectedCluster: the row of the cluster has the API server's error and the deadline.
func TestRejectedCluster(t *testing.T) {
	o := fleet(t, "9", "10m")
	for _, c := range view.Clusters(o) {
		if c.Name == "c10" {
			require.Equal(t, `admission webhook "images" denied the request: v2 is not signed`, c.Message)
			require.Equal(t, now.Add(10*time.Minute+3*time.Second), c.ChangesAt)
			require.Equal(t, rollout.PhaseFailed, c.Then)
			require.Equal(t, view.StateRejected, c.State)
		}
	}
}

// TestThenAfterAnAbort: every cluster has the revision again only if the hub recorded that, and if that includes the clusters that are
// away, and those that nothing selects. Nothing is said about no cluster.
func TestThenAfterAnAbort(t *testing.T) {
	const all = "now: every cluster has revision 1 again: nothing changes until the template changes or a user retries"
	away := func(version string) func(*view.Objects) {
		return func(o *view.Objects) {
			o.ReplicaSet.Status.Away = []workv1alpha1.AwayCluster{{Cluster: "c3", Placement: "p"}}
			o.Works = append(o.Works, succeeding(t, "c3", version))
		}
	}
	for name, c := range map[string]struct {
		change func(*view.Objects)
		want   []string
	}{
		"all returned": {func(*view.Objects) {}, []string{all}},
		"not recorded": {func(o *view.Objects) {
			revisiontest.Amend(o.Revisions[1], func(r *revision.Record) { r.Abort.Restored = time.Time{} })
		}, nil},
		"one that is away has returned": {away("v1"), []string{all}},
		"one is away":                   {away("v2"), []string{"now: the hub waits for 1 cluster to confirm revision 1; there is no time limit"}},
		"one left":                      {func(o *view.Objects) { o.Works = append(o.Works, succeeding(t, "c3", "v2")) }, nil},
		"the Placement was deleted": {func(o *view.Objects) {
			o.Placements, o.Decisions, o.Works = nil, nil, nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t)
			o.ReplicaSet.Status.State = workv1alpha1.StateAborted
			o.ReplicaSet.Status.AbortedTime = ptr.To(metav1.NewTime(now.Add(time.Minute)))
			revisiontest.Amend(o.Revisions[1], func(r *revision.Record) {
				r.Abort = &revision.Abort{At: now.Add(time.Minute), Restored: now.Add(2 * time.Minute)}
			})
			o.Works = []work.Work{succeeding(t, "c1", "v1"), succeeding(t, "c2", "v1")}
			c.change(o)
			require.Equal(t, c.want, textsOf(o, view.FleetOf(o).Then))
		})
	}
}

// TestThenOfAStuckDeletion: a stuck deletion counts toward a halt, but is no failure. Without decision groups, no group is blamed.
func TestThenOfAStuckDeletion(t *testing.T) {
	o := objects(t)
	o.Now, o.ReplicaSet.Status.State = now.Add(5*time.Minute), workv1alpha1.StateRollingOut
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
			RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(1), ProgressDeadline: "10m"},
		},
	}
	stuck := written(t, "c2", "v1")
	stuck.Object.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Hour)}
	o.Works = []work.Work{silent(at(t, "c1", 0)), stuck}
	require.Contains(t, textsOf(o, view.FleetOf(o).Then),
		"5m0s: failed clusters, with those that are degraded or stuck, exceed maxFailures 1: the hub starts no further clusters")
}
