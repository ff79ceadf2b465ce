package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// lie makes the agent of c1 report the next revision, of this generation, by what it read of the old object, and keep to that until
// the returned hold is released. Two of its controllers wake up at a new spec: one applies it, the other one reads the object
// and stamps the new generation on what it read. The first is held until the second has read the old object; then the
// second, until the hub knows that the first has applied the new one. Nothing is forged: each word is the agent's own.
func (f *labFleet) lie(generation int64, begin func()) (late *hold) {
	f.t.Helper()
	agent := f.agents["c1"]
	before := f.content("c1")["version"]
	apply := agent.managed.hold(writes(f.object(0)))
	held := make(chan *hold, 1)
	agent.hub.around(reports(is(workv1.WorkApplied, "", generation)), func(pass func() bool) {
		rereading := agent.managed.hold(reads(f.object(0)))
		if !pass() {
			rereading.release() // Its view of the work was too old. It applies and reports once more.
			return
		}
		select {
		case held <- rereading:
		default:
			rereading.release()
		}
	})
	begin()
	soon(f.t, "the agent applies it", apply.caught)
	f.reported("c1", "the new generation", is(workv1.WorkProgressing, "", generation), is(workv1.WorkAvailable, metav1.ConditionTrue, generation))
	require.Equal(f.t, before, f.content("c1")["version"], "what it reports is what it read of the old object")
	apply.release()
	f.reported("c1", "the new generation as applied", is(workv1.WorkApplied, metav1.ConditionTrue, generation))
	return <-held
}

// Quirk: the agent stamps the new generation on conditions that it read from the old object. An old success counts for
// nothing, though the hub hears of it, and the failure that follows is one (R10).
func TestOldSuccessUnderTheNewGeneration(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		f := newLabFleet(t, labOptions{})
		f.begin(way.of("6s", 0, abortAll), f.template(rules(), healthy("v1")))
		late := f.lie(2, func() { f.roll(f.template(rules(), stuck("v2"))) })
		defer late.release()
		f.reported("c1", "that v2 works", seems(2)...)
		require.Equal(t, stuck("v2"), f.content("c1"), "which is not true")
		eventually(t, "the hub hears it", func() error {
			if updated := f.get().Status.Summary.Updated; updated == 0 {
				return errors.New("no cluster is updated")
			}
			return nil
		})
		late.release()
		f.reported("c1", "the truth", is(workv1.WorkProgressing, metav1.ConditionTrue, 2))
		f.abortedTo("v1", "v2", way.first)
	})
}

// The same quirk with an old failure: the new revision works, and is not aborted by how long the old one had been stuck.
func TestOldFailureUnderTheNewGeneration(t *testing.T) {
	underBoth(t, func(t *testing.T, way way) {
		const deadline = 8 * time.Second
		f := newLabFleet(t, labOptions{})
		f.begin(way.of(deadline.String(), 0), f.template(rules(), healthy("v1")))
		f.roll(f.template(rules(), stuck("v2")))
		f.stalled()
		old := meta.FindStatusCondition(f.work("c1").Status.Conditions, workv1.WorkProgressing)
		late := f.lie(3, func() {
			f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
				mwrs.Spec.ManifestWorkTemplate = f.template(rules(), healthy("v3"))
				mwrs.Spec.PlacementRefs[0].RolloutStrategy = way.of(deadline.String(), 0, abortAll)
			})
		})
		defer late.release()
		f.reported("c1", "v3 as stuck", is(workv1.WorkApplied, metav1.ConditionTrue, 3), is(workv1.WorkProgressing, metav1.ConditionTrue, 3))
		stamped := meta.FindStatusCondition(f.work("c1").Status.Conditions, workv1.WorkProgressing)
		require.Equal(t, old.LastTransitionTime, stamped.LastTransitionTime, "as long as v2 was")
		require.Greater(t, time.Since(stamped.LastTransitionTime.Time), deadline, "longer than the deadline")
		always(t, "it has not failed", time.Second, func() error {
			if mwrs := f.get(); mwrs.Status.AbortedTime != nil {
				return fmt.Errorf("aborted: %s", describe(mwrs))
			}
			return nil
		})
		late.release()
		f.complete()
		f.everywhere("v3")
		f.neverAborted()
		f.neverCurrent("v2")
	})
}
