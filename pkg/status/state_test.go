package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

func ofPaused(in *status.Input) *status.Input {
	in.Object.Spec.Paused = true
	return in
}

func ofDeleted(in *status.Input) *status.Input {
	in.Object.DeletionTimestamp = &metav1.Time{Time: rt.At(9 * minute)}
	return in
}

// The state summarizes the conditions in one word; the first state that applies counts.
func TestState(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	rolling := func() *status.Input { return input(status.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))) }
	stalled := func() *status.Input { return input(status.Stalled, p1(two), rt.Works(failed("c1"), old("c2"))) }
	complete := func() *status.Input {
		return input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"), done("c2")))
	}
	aborting := func() *status.Input {
		return input(status.Aborting, rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2")))
	}
	aborted := func() *status.Input {
		return input(status.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"), old("c2")))
	}
	unreadable := func(stage status.Stage) *status.Input {
		return input(stage, rt.Refs(rt.Ref("p1", two, rt.Progressive(1), rt.Deadline("soon"))), rt.Works(old("c1"), old("c2")))
	}
	for name, test := range map[string]struct {
		in   *status.Input
		want workv1alpha1.State
	}{
		"rolling out":                          {rolling(), workv1alpha1.StateRollingOut},
		"stalled":                              {stalled(), workv1alpha1.StateStalled},
		"complete":                             {complete(), workv1alpha1.StateComplete},
		"complete, and a cluster joins":        {input(status.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"))), workv1alpha1.StateComplete},
		"aborting":                             {aborting(), workv1alpha1.StateAborting},
		"aborted":                              {aborted(), workv1alpha1.StateAborted},
		"paused while rolling out":             {ofPaused(rolling()), workv1alpha1.StatePaused},
		"paused while aborting":                {ofPaused(aborting()), workv1alpha1.StatePaused},
		"paused when complete":                 {ofPaused(complete()), workv1alpha1.StatePaused},
		"a strategy that can't be read":        {unreadable(status.RollingOut), workv1alpha1.StateInvalid},
		"the same while paused":                {ofPaused(unreadable(status.RollingOut)), workv1alpha1.StateInvalid},
		"the same in an abort":                 {unreadable(status.Aborting), workv1alpha1.StateAborting},
		"a template waits for its revision":    {pending(complete()), workv1alpha1.StateRollingOut},
		"a template waits in a stall":          {pending(stalled()), workv1alpha1.StateRollingOut},
		"a template waits for an abort to end": {pending(aborting()), workv1alpha1.StateAborting},
		"deleted":                              {ofDeleted(ofPaused(stalled())), workv1alpha1.StateDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			built := build(test.in)
			require.Equal(t, test.want, built.State)
			// A later pass, with that status stored, returns the same state (P7).
			test.in.Object.Status = built
			test.in.Now = metav1.NewTime(now.Add(time.Hour))
			require.Equal(t, built, build(test.in))
		})
	}
}

// An object whose template is not rolled out is invalid, unless the hub retries by itself.
func TestHeldState(t *testing.T) {
	object := func(change ...func(*workv1alpha1.ManifestWorkReplicaSet)) *workv1alpha1.ManifestWorkReplicaSet {
		o := &workv1alpha1.ManifestWorkReplicaSet{}
		for _, c := range change {
			c(o)
		}
		return o
	}
	paused := func(o *workv1alpha1.ManifestWorkReplicaSet) { o.Spec.Paused = true }
	deleted := func(o *workv1alpha1.ManifestWorkReplicaSet) { o.DeletionTimestamp = &now }
	was := func(state workv1alpha1.State) func(*workv1alpha1.ManifestWorkReplicaSet) {
		return func(o *workv1alpha1.ManifestWorkReplicaSet) { o.Status.State, o.Status.AbortedTime = state, &now }
	}
	for name, test := range map[string]struct {
		object  *workv1alpha1.ManifestWorkReplicaSet
		pending bool
		want    workv1alpha1.State
	}{
		"the spec can't be rolled out":      {object(), false, workv1alpha1.StateInvalid},
		"the same while paused":             {object(paused), false, workv1alpha1.StateInvalid},
		"the same after an abort":           {object(was(workv1alpha1.StateAborted)), false, workv1alpha1.StateInvalid},
		"its revision can't be written":     {object(), true, workv1alpha1.StateRollingOut},
		"the same while paused, pending":    {object(paused), true, workv1alpha1.StatePaused},
		"the same in an abort":              {object(was(workv1alpha1.StateAborting)), true, workv1alpha1.StateAborting},
		"the same after it was invalid":     {object(was(workv1alpha1.StateInvalid)), true, workv1alpha1.StateRollingOut},
		"an object that is being deleted":   {object(deleted), false, workv1alpha1.StateDeleting},
		"the same whose revision is stuck":  {object(deleted, paused), true, workv1alpha1.StateDeleting},
		"aborted, and its template changes": {object(was(workv1alpha1.StateAborted)), true, workv1alpha1.StateAborted},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, status.HeldState(test.object, test.pending)) })
	}
}
