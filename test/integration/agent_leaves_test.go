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

// completes are the rules of a work that can run to completion: a cluster's object is done when something on the cluster says so.
func completes() []workv1.ConditionRule {
	return append(rules(), rule(workv1.WorkComplete, `has(object.data.done)`))
}

// Quirk: the agent takes no new spec of a work that is complete. Such a cluster has not failed at the new revision, and has not
// succeeded at it either.
func TestCompletedWorkOfARealAgent(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("5s", 0, abortAll), f.template(completes(), healthy("v1")))
		f.change("c1", 0, data{"done": "yes"})
		f.reported("c1", "that it is done", is(workv1.WorkComplete, metav1.ConditionTrue, 1))

		// The agent looks at a new spec, and leaves it.
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

// namedAsCompleted waits until the rollout has nothing left to wait for but completed clusters, and says so.
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

// The same where the work completes while the new revision is on its way: the agent reads the old object as done, under the new
// generation, before it could apply the new one, and never tries again.
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

// leaves cuts the agent of c1 off with the new revision, and lets the Placement drop the cluster then. What is left is a work that is being
// deleted, and that the agent's finalizer keeps.
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

// back starts the agent of c1 again: it lets its work go.
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

// Quirk: the agent holds a finalizer, also while it is offline. A cluster that has the update revision, never succeeded with it, and was dropped
// by its Placement fails at its deadline while its work is there.
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
