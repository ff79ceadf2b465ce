package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Agents of other releases than this hub's.
const (
	// plain knows no condition rules: it reports Applied, and Available without a generation.
	plain        outcome = "plain"
	plainRefuses outcome = "plainRefuses"
	// unstamped puts no generation on any condition: what it says may be about any version.
	unstamped outcome = "unstamped"
	// strange reports conditions that this hub does not know, and reasons too, beside those that it knows.
	strange      outcome = "strange"
	strangeHangs outcome = "strangeHangs"
)

// skewed makes the conditions of an agent of another release, and reports whether the outcome is one of those.
func skewed(work *workv1.ManifestWork, what outcome, now time.Time) bool {
	set := func(conditionType string, status metav1.ConditionStatus, generation int64) {
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: "OfAnotherRelease", Message: string(what),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(time.Now()),
		})
	}
	switch what {
	case plain:
		set(workv1.WorkApplied, metav1.ConditionTrue, work.Generation)
		set(workv1.WorkAvailable, metav1.ConditionTrue, 0)
	case plainRefuses:
		set(workv1.WorkApplied, metav1.ConditionFalse, work.Generation)
		set(workv1.WorkAvailable, metav1.ConditionTrue, 0)
	case unstamped:
		set(workv1.WorkApplied, metav1.ConditionTrue, 0)
		set(workv1.WorkAvailable, metav1.ConditionTrue, 0)
	case strange, strangeHangs:
		known := succeeds
		if what == strangeHangs {
			known = hangs
		}
		conditionsOf(work, known, now)
		set("Reconciled", metav1.ConditionFalse, work.Generation)
		set("Suspended", metav1.ConditionTrue, work.Generation)
		set("Healthy", metav1.ConditionUnknown, work.Generation+7)
	default:
		return false
	}
	return true
}

// rollPlainly updates to a template without condition rules, which an agent that knows none can carry out.
func (f *fleet) rollPlainly(version string) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = template(version)
		mwrs.Spec.ManifestWorkTemplate.ManifestConfigs = nil
	})
}

// Clusters with older and newer agents in one fleet: it rolls out, aborts and goes on, and each cluster gets each version once.
func TestAgentsOfOtherReleases(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]struct{ works, fails outcome }{
		"older": {works: plain, fails: plainRefuses},
		"newer": {works: strange, fails: strangeHangs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3)
			f.place("p1", []string{"c1", "c2", "c3"})
			f.agentsReport("c2", "", agent.works)
			f.agentsReport("c3", "v3", silent) // It is never asked.
			f.create("v1", ref("p1", progressive(1, "4s", 0, abortAll)))
			f.rollPlainly("v2")
			before := f.complete()
			f.everywhere("v2")

			f.agentsReport("c2", "v3", agent.fails)
			f.rollPlainly("v3")
			aborted := f.aborted()
			f.everywhere("v2")
			f.quiet()
			require.Equal(t, before.Status.CurrentRevision, aborted.Status.CurrentRevision)
			require.NotContains(t, f.reached("v3"), "c3")

			f.rollPlainly("v4")
			f.complete()
			f.everywhere("v4")
			f.quiet()
		})
	}
}

// An agent that says nothing about which version it means is never believed: its cluster runs into the deadline, and is named.
func TestAgentWithoutGenerations(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "3s", 0, abortAll))
	f.agentsReport("c1", "", unstamped)
	f.rollPlainly("v2")
	f.aborted()
	f.everywhere("v1")
	require.Equal(t, []string{"c1"}, f.reached("v2"))
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), f.cluster("c1"))
}
