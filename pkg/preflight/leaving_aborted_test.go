package preflight_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
)

// An older CRD drops status.abortedTime. The rollout stays aborted, and its conditions say so.
func TestLeavingAnAbortUnderAnOlderCRD(t *testing.T) {
	dropped := func(o *object) {
		reason(workv1alpha1.ReasonRolloutAborted)(o)
		o.Status.ObservedGeneration, o.Status.CurrentRevision, o.Status.UpdateRevision = o.Generation, "", ""
	}
	for name, drop := range map[string]func(*object){
		"a CRD of this hub without abortedTime": dropped,
		"OCM's CRD":                             func(o *object) { dropped(o); o.Status.ObservedGeneration = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			found := preflight.Leaving(&preflight.Objects{ReplicaSets: []object{complete("team-a", drop)}})
			require.Len(t, found, 1)
			require.Equal(t, []string{"Error", "Aborted"}, []string{string(found[0].Severity), string(found[0].Reason)}, found[0].What)
		})
	}
}

// This hub ignores the placementRefs after the first 64, and OCM's hub rolls out to their clusters.
func TestLeavingWithMorePlacementRefs(t *testing.T) {
	found := preflight.Leaving(&preflight.Objects{ReplicaSets: []object{complete("team-a", func(o *object) {
		for i := range workv1alpha1.MaxPlacementRefs {
			o.Spec.PlacementRefs = append(o.Spec.PlacementRefs, workv1alpha1.LocalPlacementReference{Name: fmt.Sprintf("more-%d", i)})
		}
	})}})
	require.Len(t, found, 1)
}
