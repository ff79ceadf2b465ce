package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ofManifest returns a condition of a cluster's n-th manifest.
func (f *labFleet) ofManifest(short string, n int, conditionType string) *metav1.Condition {
	f.t.Helper()
	manifests := f.work(short).Status.ResourceStatus.Manifests
	require.Greater(f.t, len(manifests), n)
	found := meta.FindStatusCondition(manifests[n].Conditions, conditionType)
	require.NotNil(f.t, found, "%s of manifest %d of %s", conditionType, n, short)
	return found
}

// mends changes an object on a cluster, and waits for the wanted report from the agent. It repeats the change until the test ends, because
// an agent that applies the template again undoes the change.
func (f *labFleet) mends(short string, n int, content data, mended func([]metav1.Condition) bool) {
	f.t.Helper()
	go wait.UntilWithContext(f.t.Context(), func(context.Context) { _ = f.tryChange(short, n, content) }, pollInterval)
	eventually(f.t, short+" is mended, and says so", func() error {
		manifests := f.work(short).Status.ResourceStatus.Manifests
		if len(manifests) <= n || !mended(manifests[n].Conditions) {
			return fmt.Errorf("it reports %+v", manifests)
		}
		return nil
	})
}

// errs returns a rule about a field that only some contents have. Without the field, the agent can't evaluate the rule.
func errs() []workv1.ConditionRule {
	return []workv1.ConditionRule{rule(workv1.WorkProgressing, `object.data.ready == "no"`)}
}

// unevaluated begins with a version whose rule can be evaluated, and then rolls out a version whose rule can't.
func (f *labFleet) unevaluated(way way, deadline string) {
	f.t.Helper()
	f.begin(way.of(deadline, 0, abortAll), f.template(errs(), data{"version": "v1", "ready": "yes"}))
	f.roll(f.template(errs(), data{"version": "v2"}))
	f.deploys("c1", "v2")
	f.reported("c1", "v2 as one that works", seems(2)...)
	eventually(f.t, "the rule can't be evaluated", func() error {
		if reason := f.ofManifest("c1", 0, workv1.ManifestProgressing).Reason; reason != workv1.ConditionRuleExpressionError {
			return fmt.Errorf("the agent reports %s", reason)
		}
		return nil
	})
	work := f.work("c1")
	require.NotEqual(f.t, workv1.ConditionRuleExpressionError, meta.FindStatusCondition(work.Status.Conditions, workv1.WorkProgressing).Reason,
		"the work's own condition does not tell")
}

// mendedInTime repairs a manifest on each cluster as soon as the cluster has a version, and requires that the version is rolled out and
// never aborted.
func (f *labFleet) mendedInTime(version string, n int, content data, mended func([]metav1.Condition) bool) {
	f.t.Helper()
	for _, short := range f.clusters {
		f.deploys(short, version)
		f.mends(short, n, content, mended)
	}
	f.complete()
	f.everywhere(version)
	f.neverAborted()
}

// Quirk: a rule that can't be evaluated sets Progressing to False, which looks like a success. It is not a success: the cluster fails at
// its deadline.
func TestRuleThatCannotBeEvaluatedIsNoSuccess(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.unevaluated(way, "6s")
		f.abortedTo("v1", "v2", way.first)
	})
}

// If the rule can be evaluated later, the cluster succeeds at that time.
func TestRuleThatIsEvaluatedLate(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.unevaluated(way, "60s")
		f.mendedInTime("v2", 0, data{"ready": "yes"}, func(conditions []metav1.Condition) bool {
			progressing := meta.FindStatusCondition(conditions, workv1.ManifestProgressing)
			return progressing != nil && progressing.Reason != workv1.ConditionRuleExpressionError
		})
	})
}

// degraded begins with a version whose two objects work, and then rolls out a version whose second object is degraded.
func (f *labFleet) degraded(way way, deadline string) {
	f.t.Helper()
	f.begin(way.of(deadline, 0, abortAll), f.template(rules(), healthy("v1"), healthy("v1")))
	f.roll(f.template(rules(), healthy("v2"), data{"version": "v2", "works": "degraded"}))
	f.reported("c1", "v2 as one that works", append(seems(2), is(workv1.WorkDegraded, metav1.ConditionFalse, 2))...)
	require.Equal(f.t, metav1.ConditionFalse, f.ofManifest("c1", 0, workv1.ManifestDegraded).Status)
	eventually(f.t, "one manifest says that it is degraded", func() error {
		if found := f.ofManifest("c1", 1, workv1.ManifestDegraded); found.Status != metav1.ConditionTrue || found.ObservedGeneration != 2 {
			return fmt.Errorf("it says %+v", found)
		}
		return nil
	})
	require.Equal(f.t, metav1.ConditionFalse, meta.FindStatusCondition(f.work("c1").Status.Conditions, workv1.WorkDegraded).Status,
		"the work's own condition does not tell")
}

// Quirk: a work is Degraded only if all of its manifests are. For the hub, one degraded manifest is enough for a failure.
func TestOneDegradedManifestIsAFailure(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.degraded(way, "6s")
		f.abortedTo("v1", "v2", way.first)
	})
}

// A manifest that recovers before the deadline does not cause a failure.
func TestDegradedManifestThatHeals(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.degraded(way, "60s")
		f.mendedInTime("v2", 1, data{"version": "v2", "works": "true"}, func(conditions []metav1.Condition) bool {
			return meta.IsStatusConditionFalse(conditions, workv1.ManifestDegraded)
		})
	})
}
