package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// completes returns the rules of a work that can run to completion. A cluster's object is complete when something on the cluster marks it
// as complete.
func completes() []workv1.ConditionRule {
	return append(rules(), rule(workv1.WorkComplete, `has(object.data.done)`))
}

// Quirk: the agent does not apply a new spec of a complete work. Such a cluster has neither failed nor succeeded at the new revision.
func TestCompletedWorkOfARealAgent(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("5s", 0, abortAll), f.template(completes(), healthy("v1")))
		f.change("c1", 0, data{"done": "yes"})
		f.reported("c1", "that it is done", is(workv1.WorkComplete, metav1.ConditionTrue, 1))

		// The agent observes a new spec, but does not apply it.
		f.editWork("c1", func(work *workv1.ManifestWork) {
			work.Spec = f.template(completes(), healthy("edited"))
		})
		f.reported("c1", "the new generation", is(workv1.WorkProgressing, "", 2), is(workv1.WorkApplied, metav1.ConditionTrue, 1))
		always(t, "it does not apply it", 2*time.Second, func() error {
			if version := f.content("c1")["version"]; version != "v1" {
				return fmt.Errorf("it has %s", version)
			}
			return nil
		})
		f.editWork("c1", func(work *workv1.ManifestWork) { work.Spec = f.template(completes(), healthy("v1")) })

		f.roll(f.template(completes(), healthy("v2")))
		f.has("c2", "v2")
		f.deploys("c2", "v2")
		f.namedAsCompleted("c1", 6*time.Second)
		require.Equal(t, []string{"c2"}, f.reached("v2"))
		f.neverAborted()
		f.neverCurrent("v2")
	})
}

// namedAsCompleted waits until the rollout waits only for completed clusters, and reports this.
func (f *labFleet) namedAsCompleted(short string, deadline time.Duration) {
	f.t.Helper()
	mwrs := f.stalled()
	require.Contains(f.t, message(mwrs, workv1alpha1.ConditionProgressing), f.cluster(short))
	require.Contains(f.t, message(mwrs, workv1alpha1.ConditionProgressing), "completed")
	always(f.t, "it is no failure", deadline, func() error {
		if mwrs := f.get(); mwrs.Status.AbortedTime != nil || strings.Contains(message(mwrs, workv1alpha1.ConditionManifestworkApplied), "failed") {
			return fmt.Errorf("%s", describe(mwrs))
		}
		return nil
	})
}

// The same if the work completes while the new revision is being delivered: before the agent applies the new object, it reads the old
// object as complete under the new generation. It then never applies the new object.
func TestWorkThatCompletesWhileItIsWritten(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("6s", 0, abortAll), f.template(completes(), healthy("v1")))
		agent := f.agents["c1"]
		apply, look := agent.managed.hold(writes(f.object(0))), agent.managed.hold(reads(f.object(0)))
		defer apply.release()
		f.change("c1", 0, data{"done": "yes"})
		f.roll(f.template(completes(), healthy("v2")))
		f.has("c1", "v2")
		look.release()
		soon(t, "the agent applies it", apply.caught)
		f.reported("c1", "that it is done", is(workv1.WorkComplete, metav1.ConditionTrue, 2))
		apply.refuse()
		f.namedAsCompleted("c1", 7*time.Second)
		require.Equal(t, "v1", f.content("c1")["version"])
		require.True(t, is(workv1.WorkApplied, metav1.ConditionTrue, 1)(&f.work("c1").Status), "it applied nothing since")
		f.deploys("c2", "v2")
		f.neverAborted()
		f.neverCurrent("v2")
	})
}

// leaves cuts off the agent of c1 when it has the new revision, and then lets the Placement drop the cluster. The work is then being
// deleted, but the agent's finalizer keeps it.
func (f *labFleet) leaves() {
	f.t.Helper()
	f.agents["c1"].Stop()
	f.roll(f.template(rules(), healthy("v2")))
	f.has("c1", "v2")
	f.place("p1", []string{"c2"})
	eventually(f.t, "the work of c1 is being deleted", func() error {
		if work := f.work("c1"); work.DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	require.Contains(f.t, f.work("c1").Finalizers, workv1.ManifestWorkFinalizer, "the agent's finalizer keeps it")
	require.Equal(f.t, "v1", f.content("c1")["version"], "and nothing happens on the cluster")
}

// back starts the agent of c1 again, which then releases its work.
func (f *labFleet) back() {
	f.t.Helper()
	f.agents["c1"].Start()
	eventually(f.t, "c1 is let go", func() error {
		if versions := f.versions(); len(versions) != 1 || f.content("c1") != nil {
			return fmt.Errorf("works: %v, and it has %v", versions, f.content("c1"))
		}
		return nil
	})
}

// Quirk: the agent's finalizer stays while the agent is offline. A cluster that its Placement dropped fails at its deadline while its work
// exists, if it has the update revision and never succeeded with it.
func TestClusterThatWasCutOffAndDroppedFails(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		const deadline = 12 * time.Second
		f := newLabFleet(t, labOptions{})
		f.begin(way.of(deadline.String(), 0, abortAll), f.template(rules(), healthy("v1")))
		f.leaves()
		require.Nil(t, f.get().Status.AbortedTime, "it has left before its deadline")
		mwrs := f.aborted()
		// AbortedTime has whole seconds.
		require.GreaterOrEqual(t, mwrs.Status.AbortedTime.Add(time.Second).Sub(f.writtenAt("c1", "v2")), deadline)
		require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
		f.deploys("c2", "v1")
		f.back()
	})
}
