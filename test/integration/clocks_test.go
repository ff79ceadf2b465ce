package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// apart runs a test with the agents' clocks minutes ahead of the hub's, and minutes behind it.
func apart(t *testing.T, test func(t *testing.T, ahead time.Duration)) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"AgentsAhead": 5 * time.Minute, "AgentsBehind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, ahead)
		})
	}
}

// clocks puts the clocks of all agents of the fleet ahead of the hub's.
func (f *fleet) clocks(ahead time.Duration) {
	for _, cluster := range f.clusters {
		f.w.agents.setClock(f.cluster(cluster), ahead)
	}
}

// completeApart is a fleet of two, one cluster after the other, that has rolled out v1 with clocks apart.
func completeApart(t *testing.T, ahead time.Duration) *fleet {
	f := newFleet(t, 2)
	f.clocks(ahead)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "60s", 0, abortAll)))
	f.complete()
	return f
}

// R10: minSuccessTime is waited for from the success on, also where the agent says that it had that long ago, or will have it.
func TestSoakWithClocksApart(t *testing.T) {
	apart(t, func(t *testing.T, ahead time.Duration) {
		f := completeApart(t, ahead)
		const soak = 4 * time.Second
		f.agentsReport("c1", "v2", hangs)
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = template("v2")
			mwrs.Spec.PlacementRefs[0].RolloutStrategy = soaking(mwrs.Spec.PlacementRefs[0].RolloutStrategy, soak)
		})
		f.has("c1", "v2")
		f.never("c2", "v2", soak+time.Second)
		f.agentsReport("c1", "v2", succeeds)
		f.complete()
		soaked := f.firstAt("c2", "v2", false).Sub(f.firstAt("c1", "v2", true))
		require.GreaterOrEqual(t, soaked, soak-time.Second)
		f.neverAborted()
	})
}

// R11: a cluster that had succeeded, and progresses again for a moment, has not been in flight since the beginning.
func TestRelapseWithClocksApart(t *testing.T) {
	apart(t, func(t *testing.T, ahead time.Duration) {
		f := completeApart(t, ahead)
		const deadline = 4 * time.Second
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = template("v2")
			mwrs.Spec.PlacementRefs[0].RolloutStrategy = soaking(progressive(1, deadline.String(), 0, abortAll), deadline+2*time.Second)
		})
		f.has("c1", "v2")
		f.never("c2", "v2", deadline+time.Second)
		f.agentsReport("c1", "v2", hangs)
		always(t, "a moment is no failure", time.Second, func() error {
			if mwrs := f.get(); mwrs.Status.AbortedTime != nil {
				return fmt.Errorf("aborted: %s", describe(mwrs))
			}
			return nil
		})
		f.agentsReport("c1", "v2", succeeds)
		f.complete()
		f.neverAborted()
	})
}

// R11: the deadline is the hub's. An agent whose clock is little more than a minute ahead does not put it off: the moment at which its
// words could be believed by the hub's clock comes before the deadline.
func TestDeadlineWithClocksApart(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{
		"FarAhead": 5 * time.Minute, "JustAhead": 64 * time.Second, "Behind": -5 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			f.clocks(ahead)
			f.place("p1", f.clusters)
			const deadline = 10 * time.Second
			f.create("v1", ref("p1", progressive(1, deadline.String(), 0, abortAll)))
			f.complete()
			f.agentsReport("", "v2", hangs)
			f.update("v2")
			f.has("c1", "v2")
			mwrs := f.aborted()
			took := mwrs.Status.AbortedTime.Sub(f.writtenAt("c1", "v2"))
			require.GreaterOrEqual(t, took, deadline-time.Second) // It has whole seconds.
			require.Less(t, took, 3*deadline)
			f.everywhere("v1")
		})
	}
}

// shifted is a clock that is wrong.
type shifted struct {
	clock.RealClock
	by time.Duration
}

func (s shifted) Now() time.Time                  { return time.Now().Add(s.by) }
func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// The whole way with real agents, and a hub whose clock is minutes behind theirs, and ahead of them: a good version completes, a bad one is
// aborted within its time, old successes and failures count for nothing, and a cluster that was offline goes straight to what all have.
func TestRealAgentsAndAHubWithAWrongClock(t *testing.T) {
	apart(t, func(t *testing.T, ahead time.Duration) {
		w := privateWorld(t, map[bool]string{true: "clock-behind", false: "clock-ahead"}[ahead > 0])
		hubClock := shifted{by: -ahead}
		t.Cleanup(w.startManagerAt(context.WithoutCancel(t.Context()), controller.DefaultSuccessSettle, hubClock))
		for name, test := range map[string]func(*testing.T, *labFleet, shifted){
			"Good": goodVersion, "Bad": badVersion, "Offline": offlineVersion,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, newLabFleetIn(w, t, labOptions{}), hubClock)
			})
		}
		for name, test := range map[string]func(*testing.T, *labFleet) bool{"OldSuccess": oldSuccess, "OldFailure": failureBefore} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				untilItLies(t, func(t *testing.T) bool { return test(t, newLabFleetIn(w, t, labOptions{})) })
			})
		}
	})
}

func goodVersion(t *testing.T, f *labFleet, hubClock shifted) {
	const soak = 5 * time.Second
	f.begin(soaking(progressive(1, "30s", 0, abortAll), soak), f.template(rules(), healthy("v1")))
	f.roll(f.template(rules(), healthy("v2")))
	f.complete()
	at, err := time.Parse(time.RFC3339Nano, f.work("c2").Annotations[workv1alpha1.AnnotationAppliedAt])
	require.NoError(t, err)
	require.InDelta(t, hubClock.by.Seconds(), time.Until(at).Seconds(), 60, "the hub's clock is a wrong one")
	soaked := f.firstAt("c2", "v2", false).Sub(f.firstAt("c1", "v2", true))
	require.GreaterOrEqual(t, soaked, soak-time.Second)
	f.deploys("c2", "v2")
	f.neverAborted()
}

func badVersion(t *testing.T, f *labFleet, _ shifted) {
	const deadline = 10 * time.Second
	f.begin(all(deadline.String(), 0, abortAll), f.template(rules(), healthy("v1")))
	f.roll(f.template(rules(), stuck("v2")))
	f.deploys("c1", "v2")
	f.abortedTo("v1", "v2", f.clusters)
	took := f.get().Status.AbortedTime.Sub(f.writtenAt("c1", "v2"))
	require.GreaterOrEqual(t, took, deadline-time.Second)
	require.Less(t, took, 3*deadline)
	f.deploys("c1", "v1")
}

func oldSuccess(_ *testing.T, f *labFleet) (lied bool) {
	// Long enough for an agent of a busy machine to say it before the deadline.
	f.begin(progressive(1, "20s", 0, abortAll), f.template(rules(), healthy("v1")))
	tell := f.lie(2, []string{"c1"}, func() { f.roll(f.template(rules(), stuck("v2"))) })
	defer tell()
	if !f.says("c1", seems(2)...) {
		return false
	}
	tell()
	f.abortedTo("v1", "v2", []string{"c1"})
	return true
}

func failureBefore(_ *testing.T, f *labFleet) (lied bool) {
	const deadline = 20 * time.Second
	f.begin(progressive(1, deadline.String(), 0), f.template(rules(), healthy("v1")))
	f.roll(f.template(rules(), stuck("v2")))
	f.stalled()
	tell := f.lie(3, []string{"c1"}, func() {
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = f.template(rules(), healthy("v3"))
			mwrs.Spec.PlacementRefs[0].RolloutStrategy = progressive(1, deadline.String(), 0, abortAll)
		})
	})
	defer tell()
	if !f.says("c1", is(workv1.WorkApplied, "", 3), is(workv1.WorkProgressing, "True", 3)) {
		return false
	}
	tell()
	f.complete()
	f.neverAborted()
	return true
}

func offlineVersion(t *testing.T, f *labFleet, _ shifted) {
	f.begin(progressive(1, "10s", 0, abortAll), f.template(rules(), healthy("v1")))
	f.agents["c1"].Stop()
	f.roll(f.template(rules(), healthy("v2")))
	f.has("c1", "v2")
	f.abortedTo("v1", "v2", []string{"c1"})
	f.roll(f.template(rules(), healthy("v3")))
	f.has("c1", "v3")
	f.agents["c1"].Start()
	f.complete()
	f.deploys("c1", "v3")
	f.deploys("c2", "v3")
	require.NotContains(t, f.contents("c1"), "v2", "it went straight there")
}
