package integration

import (
	"context"
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

// shifted is a clock with a wrong time.
type shifted struct {
	clock.RealClock
	by time.Duration
}

func (s shifted) Now() time.Time                  { return time.Now().Add(s.by) }
func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// A complete story with real agents, and a hub whose clock is minutes behind or ahead of theirs: a good version completes, a bad version is
// aborted in time, and old successes and failures do not count.
func TestRealAgentsAndAHubWithAWrongClock(t *testing.T) {
	apart(t, func(t *testing.T, ahead time.Duration) {
		w := privateWorld(t, map[bool]string{true: "clock-behind", false: "clock-ahead"}[ahead > 0])
		hubClock := shifted{by: -ahead}
		t.Cleanup(w.startManagerAt(context.WithoutCancel(t.Context()), controller.DefaultSuccessSettle, hubClock))
		for name, test := range map[string]func(*testing.T, *labFleet, shifted){
			"Good": goodVersion, "Bad": badVersion,
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
	// Long enough for an agent on a busy machine to report before the deadline.
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
