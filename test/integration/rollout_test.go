package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func TestFirstRolloutAndUpdate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "5s", 0)))
	f.everywhere("v1")
	mwrs := f.complete()
	require.NotEmpty(t, mwrs.Status.CurrentRevision)
	require.Equal(t, mwrs.Status.CurrentRevision, mwrs.Status.UpdateRevision)
	require.Equal(t, 3, mwrs.Status.Summary.Updated)
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	f.quiet()

	f.update("v2")
	f.everywhere("v2")
	mwrs = f.complete()
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	require.Equal(t, 3, mwrs.Status.Summary.Available)
	require.Equal(t, "New revision web-"+f.hash("v2")+" is successfully progressed", message(mwrs, workv1alpha1.ConditionProgressing))
	f.quiet()
	for _, version := range []string{"v1", "v2"} {
		require.Equal(t, 1, f.mostInFlight(version), "in flight with %s", version)
	}
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2, "c3": 2}, f.generations())
}

// R10: never more clusters in flight than a batch has.
func TestProgressiveKeepsToItsBatch(t *testing.T) {
	t.Parallel()
	for name, concurrency := range map[string]intstr.IntOrString{
		"number":  intstr.FromInt32(2),
		"percent": intstr.FromString("40%"), // of 5
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 5)
			f.place("p1", []string{"c1", "c2", "c3", "c4", "c5"})
			strategy := progressive(2, "20s", 0)
			strategy.Progressive.MaxConcurrency = concurrency
			f.agentsReport("", "v1", hangs)
			f.agentsReport("", "v2", hangs)
			f.create("v1", ref("p1", strategy))
			for _, version := range []string{"v1", "v2"} {
				if version != "v1" {
					f.update(version)
				}
				eventually(t, "a whole batch has "+version, func() error {
					if n := f.mostInFlight(version); n != 2 {
						return fmt.Errorf("%d clusters", n)
					}
					return nil
				})
				f.agentsReport("", version, succeeds)
				f.complete()
				f.everywhere(version)
				require.Equal(t, 2, f.mostInFlight(version))
			}
		})
	}
}

// R10: All takes no turns.
func TestAllStartsEveryClusterAtOnce(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, all("20s", 0))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.everywhere("v2")
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	f.agentsReport("", "v2", succeeds)
	f.complete()
}

// R10: a group begins when the one before has succeeded.
func TestPerGroupGoesGroupByGroup(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	f.place("p1", []string{"c1", "c2"}, []string{"c3", "c4"})
	f.create("v1", ref("p1", perGroup("20s", 0)))
	f.complete()
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.has("c2", "v2")
	f.agentsReport("c1", "v2", succeeds)
	f.never("c3", "v2", 2*time.Second)
	require.Equal(t, []string{"c1", "c2"}, f.reached("v2"))
	f.agentsReport("", "v2", succeeds)
	f.complete()
	f.everywhere("v2")
	require.Equal(t, 2, f.mostInFlight("v2"))
}

// R10, R11: the rest waits for the mandatory groups, in which no failure is tolerated.
func TestMandatoryGroupComesFirstAndToleratesNoFailure(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	f.place("p1", []string{"c1", "c2"}, []string{"c3", "c4"})
	strategy := progressive(4, "3s", 2, abortAll)
	strategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "g1"}}
	f.create("v1", ref("p1", strategy))
	f.complete()
	f.agentsReport("c3", "v2", hangs)
	f.update("v2")
	f.aborted()
	f.everywhere("v1")
	require.Equal(t, []string{"c3", "c4"}, f.reached("v2"), "only the mandatory group was begun")

	f.update("v3")
	f.complete()
	f.everywhere("v3")
	require.True(t, f.firstAt("c1", "v3", false).After(f.firstAt("c4", "v3", true)))
}

// R10: minSuccessTime passes between two batches.
func TestMinSuccessTimeSoaks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	strategy := progressive(1, "20s", 0)
	strategy.Progressive.MinSuccessTime = metav1.Duration{Duration: 3 * time.Second}
	f.create("v1", ref("p1", strategy))
	f.complete()
	f.update("v2")
	f.complete()
	soaked := f.firstAt("c2", "v2", false).Sub(f.firstAt("c1", "v2", true))
	// Transition times have whole seconds.
	require.GreaterOrEqual(t, soaked, 2*time.Second)
}

// R11, R13: as many failures as are allowed don't stop a rollout. It is complete with them, its conditions name them, and a late success
// heals them.
func TestToleratedFailure(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]workv1alpha1.RolloutStrategy{
		"progressive": progressive(1, "2s", 1, abortAll),
		"all":         all("2s", 1, abortAll),
		"pergroup":    perGroup("2s", 1, abortAll),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3)
			f.place("p1", []string{"c1", "c2", "c3"})
			f.create("v1", ref("p1", strategy))
			before := f.complete()
			f.agentsReport("c1", "v2", hangs)
			f.update("v2")
			f.everywhere("v2")
			mwrs := f.complete()
			require.Nil(t, mwrs.Status.AbortedTime)
			require.NotEqual(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
			require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
			require.Equal(t, 2, mwrs.Status.Summary.Updated)
			for _, condition := range []string{workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ConditionProgressing} {
				require.Contains(t, message(mwrs, condition), "1 failed within maxFailures")
				require.Contains(t, message(mwrs, condition), f.cluster("c1"))
			}
			require.Len(t, mwrs.Status.Failures, 1)
			require.Equal(t, f.cluster("c1"), mwrs.Status.Failures[0].Cluster)
			f.quiet()

			f.agentsReport("c1", "v2", succeeds)
			eventually(t, "a late success heals it", func() error {
				mwrs := f.complete()
				named := strings.Contains(message(mwrs, workv1alpha1.ConditionManifestworkApplied), f.cluster("c1"))
				if mwrs.Status.Summary.Updated != 3 || len(mwrs.Status.Failures) != 0 || named {
					return fmt.Errorf("%s", describe(mwrs))
				}
				return nil
			})
			f.quiet()
		})
	}
}

// R11: a percentage of clusters is rounded up.
func TestMaxFailuresPercentIsRoundedUp(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	strategy := all("2s", 0, abortAll)
	strategy.All.MaxFailures = intstr.FromString("34%") // 1.02 clusters: two
	f.create("v1", ref("p1", strategy))
	f.complete()
	f.agentsReport("c1", "v2", hangs)
	f.agentsReport("c2", "v2", degrades)
	f.update("v2")
	f.complete()
	f.everywhere("v2")
	f.quiet()

	f.agentsReport("", "v3", degrades)
	f.update("v3")
	f.aborted()
	f.everywhere("v2")
}

// R14: with failureStrategy unset a rollout that failed stops where it is.
func TestFailureWithoutStrategyStalls(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "2s", 0))
	f.agentsReport("c2", "v2", refuses)
	f.update("v2")
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Contains(t, message(mwrs, workv1alpha1.ConditionPlacementRolledOut), f.cluster("c2"))
	f.quiet()
	require.Equal(t, map[string]string{"c1": "v2", "c2": "v2", "c3": "v1"}, f.versions())

	// A late success heals it.
	f.agentsReport("c2", "v2", succeeds)
	f.complete()
	f.everywhere("v2")
	require.Equal(t, 1, f.mostInFlight("v2"))
}

// R14: a degraded cluster that no deadline will decide on stalls the rollout too.
func TestDegradedWithoutDeadlineStalls(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "None", 0, abortAll))
	f.agentsReport("c1", "v2", degrades)
	f.update("v2")
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime, "progressDeadline None never fails (R11)")
	f.quiet()
	require.Equal(t, []string{"c1"}, f.reached("v2"))
}

// R10: a cluster whose agent never answers runs into its deadline.
func TestSilentAgentFails(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.agentsReport("c1", "v2", silent)
	f.update("v2")
	f.aborted()
	require.Equal(t, []string{"c1"}, f.reached("v2"))
	f.everywhere("v1")
}

// R12: a first rollout that fails has nothing to go back to.
func TestFirstRolloutThatFailsIsNotAborted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.agentsReport("", "v1", hangs)
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Empty(t, mwrs.Status.CurrentRevision)
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "no stable revision")
	f.quiet()
	require.Equal(t, map[string]string{"c1": "v1"}, f.versions())

	f.update("v2")
	f.complete()
	f.everywhere("v2")
	f.quiet()
}
