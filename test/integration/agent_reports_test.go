package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// halfReported rolls out a version, and lets the agent of c1 report only Applied until the hold is released. For longer than the settle
// time, the hub has the old version's success and the new generation's Applied.
func (f *labFleet) halfReported(template workv1.ManifestWorkSpec) (rest *hold) {
	f.t.Helper()
	agent := f.agents["c1"]
	rest = agent.hub.hold(reports(is(workv1.WorkProgressing, "", 2)))
	f.roll(template)
	f.reported("c1", "v2 as applied, and v1's success", is(workv1.WorkApplied, metav1.ConditionTrue, 2),
		is(workv1.WorkAvailable, metav1.ConditionTrue, 1), is(workv1.WorkProgressing, metav1.ConditionFalse, 1))
	always(f.t, "the half is no success", controller.DefaultSuccessSettle+time.Second, func() error {
		if mwrs := f.get(); mwrs.Status.CurrentRevision != f.hash("v1") || mwrs.Status.AbortedTime != nil {
			return fmt.Errorf("%s", describe(mwrs))
		}
		return nil
	})
	require.Contains(f.t, f.versions(), "c1")
	return rest
}

// Quirk: the agent reports a new generation in several patches. Half a report is not a success, but does not count as a failure either.
func TestHalfAReportIsNoSuccess(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("60s", 0, abortAll), f.template(rules(), healthy("v1")))
		rest := f.halfReported(f.template(rules(), healthy("v2")))
		defer rest.release()
		require.Equal(t, way.first, f.reached("v2"))
		rest.release()
		f.complete()
		f.everywhere("v2")
		f.neverAborted()
		patches := f.agents["c1"].hub.accepted(reports(func(s *workv1.ManifestWorkStatus) bool {
			return is(workv1.WorkApplied, "", 2)(s) || is(workv1.WorkProgressing, "", 2)(s)
		}))
		require.GreaterOrEqual(t, len(patches), 2, "it reports the generation in several patches")
	})
}

// A failure counts even if its report arrives in two halves, the second of them late.
func TestHalfAReportOfAFailure(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("8s", 0, abortAll), f.template(rules(), healthy("v1")))
		rest := f.halfReported(f.template(rules(), stuck("v2")))
		rest.release()
		f.abortedTo("v1", "v2", way.first)
	})
}

// poll is the interval at which the agents of these tests check the objects that they applied. OCM's ten seconds would only make the tests
// slower.
const poll = 2 * time.Second

// pollsOnly shows that only the agent's next poll reports a change on a cluster to the hub: a poll is held, the object changes, and the hub
// receives no report until the poll continues. before is the agent's report until then.
func (f *labFleet) pollsOnly(short string, change data, before, after func(*workv1.ManifestWorkStatus) bool) {
	f.t.Helper()
	agent := f.agents[short]
	look := agent.managed.hold(reads(f.object(0)))
	f.change(short, 0, change)
	soon(f.t, "a poll", look.caught)
	require.True(f.t, before(&f.work(short).Status), "the hub hears nothing before")
	require.Empty(f.t, agent.managed.accepted(watches), "nothing but polls tells the agent")
	look.release()
	f.reported(short, "what changed", after)
}

// Quirk: the agent polls, every ten seconds by default. A late success is reported by the next poll, and counts.
func TestLateSuccessIsHeardByThePoll(t *testing.T) {
	require.Equal(t, 10*time.Second, spoke.NewWorkloadAgentOptions().StatusSyncInterval)
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{statusSync: poll})
		f.begin(way.of("60s", 0, abortAll), f.template(rules(), healthy("v1")))
		f.roll(f.template(rules(), stuck("v2")))
		stuckAt2, worksAt2 := is(workv1.WorkProgressing, metav1.ConditionTrue, 2), is(workv1.WorkProgressing, metav1.ConditionFalse, 2)
		for _, short := range f.clusters {
			f.deploys(short, "v2")
			f.reported(short, "v2 as stuck", is(workv1.WorkApplied, metav1.ConditionTrue, 2), stuckAt2)
			f.pollsOnly(short, data{"works": "true"}, stuckAt2, worksAt2)
		}
		f.complete()
		f.everywhere("v2")
		f.neverAborted()
	})
}

// The poll also reports a failure after a success, which counts while the rollout is in progress. With Progressive, minSuccessTime is
// longer than the poll interval and keeps the rollout in progress. With All, another cluster has not reported yet.
func TestLateFailureIsHeardByThePoll(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{statusSync: poll})
		f.begin(way.of("60s", 0, abortAll), f.template(rules(), healthy("v1")))
		failures := 0
		if way.name == "All" {
			failures = 1 // c2 is tolerated; c1 exceeds the limit.
			unheard := f.agents["c2"].hub.hold(reports(is(workv1.WorkProgressing, "", 2)))
			defer unheard.release()
		}
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = f.template(rules(), healthy("v2"))
			mwrs.Spec.PlacementRefs[0].RolloutStrategy = soaking(way.of("8s", failures, abortAll), 15*time.Second)
		})
		f.deploys("c1", "v2")
		f.reported("c1", "v2 as one that works", seems(2)...)
		f.pollsOnly("c1", data{"works": "false"}, is(workv1.WorkProgressing, metav1.ConditionFalse, 2), is(workv1.WorkProgressing, metav1.ConditionTrue, 2))
		f.abortedTo("v1", "v2", way.first)
	})
}

// soaking sets minSuccessTime, except for All, which does not have it.
func soaking(strategy workv1alpha1.RolloutStrategy, soak time.Duration) workv1alpha1.RolloutStrategy {
	if strategy.Progressive != nil {
		strategy.Progressive.MinSuccessTime = metav1.Duration{Duration: soak}
	}
	return strategy
}
