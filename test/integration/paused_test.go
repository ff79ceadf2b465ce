package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// pause sets spec.paused.
func (f *fleet) pause(paused bool) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.Paused = paused })
}

// paused waits until the condition Paused is about today's spec and has these words.
func (f *fleet) paused(words string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	var mwrs *workv1alpha1.ManifestWorkReplicaSet
	eventually(f.t, "paused, with "+words, func() error {
		mwrs = f.get()
		found := meta.FindStatusCondition(mwrs.Status.Conditions, workv1alpha1.ConditionPaused)
		if found == nil || found.ObservedGeneration != mwrs.Generation || !strings.Contains(found.Message, words) {
			return fmt.Errorf("the conditions are %s", describe(mwrs))
		}
		return nil
	})
	return mwrs
}

// A rollout on OCM's own agents stops in the middle: they report as ever, and nothing is written to a cluster, also where somebody edits its work. The
// edits of the template are one rollout after the pause.
func TestPausedRollout(t *testing.T) {
	t.Parallel()
	f := newLabFleet(t, labOptions{})
	f.begin(progressive(1, "60s", 0, abortAll), f.template(rules(), healthy("v1")))
	f.roll(f.template(rules(), stuck("v2")))
	f.deploys("c1", "v2")
	f.pause(true)
	mwrs := f.paused("nothing is held back")
	progressing := meta.FindStatusCondition(mwrs.Status.Conditions, workv1alpha1.ConditionProgressing)
	require.Equal(t, metav1.ConditionUnknown, progressing.Status)

	held := "held back: revision " + mwrs.Name + "-" + mwrs.Status.UpdateRevision + " on 1 cluster (" + f.cluster("c2") + ")"
	eventually(t, "c1 succeeds, and c2 is held back", func() error {
		f.change("c1", 0, data{"works": "true"}) // An agent may apply a new work twice, and take the change back.
		if note := message(f.get(), workv1alpha1.ConditionPaused); !strings.Contains(note, held) {
			return errors.New(note)
		}
		return nil
	})
	require.Equal(t, "v1", f.content("c2")["version"])

	edited := f.template(rules(), healthy("edited"))
	f.editWork("c1", func(work *workv1.ManifestWork) { work.Spec.Workload = edited.Workload })
	f.deploys("c1", "edited")
	f.paused(f.cluster("c1"))
	before := f.generations()
	f.roll(f.template(rules(), healthy("v3")))
	f.paused("spec.manifestWorkTemplate differs")
	f.roll(f.template(rules(), healthy("v4")))
	f.paused("spec.manifestWorkTemplate differs")
	f.quiet()
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	require.Equal(t, before, f.generations(), "nothing is written while it is paused")
	require.Equal(t, "edited", f.content("c1")["version"])

	f.pause(false)
	f.deploys("c1", "v4")
	f.deploys("c2", "v4")
	f.complete()
	require.Nil(t, meta.FindStatusCondition(f.get().Status.Conditions, workv1alpha1.ConditionPaused))
	require.Equal(t, []string{"v1", "v2", "v4"}, f.recorded())
	f.neverAborted()
}
