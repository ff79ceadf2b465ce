package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestUndoOfATemplateWithoutARevision: v2 is on every cluster, v1 was before. The spec has v3, which no cluster has.
func TestUndoOfATemplateWithoutARevision(t *testing.T) {
	for name, change := range map[string]func(*workv1alpha1.ManifestWorkReplicaSet){
		"paused (R23)": func(set *workv1alpha1.ManifestWorkReplicaSet) {
			set.Spec.Paused, set.Generation, set.Status.ObservedGeneration = true, 7, 6
			set.Status.State = workv1alpha1.StatePaused
		},
		"not observed yet": func(set *workv1alpha1.ManifestWorkReplicaSet) {
			set.Generation, set.Status.ObservedGeneration = 7, 6
			set.Status.State = workv1alpha1.StateComplete
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t, complete)
			o.ReplicaSet.Spec.ManifestWorkTemplate = *template("v3")
			change(o.ReplicaSet)
			target, err := view.UndoTarget(o, 0, view.Allowed{})
			require.NoError(t, err)
			require.Equal(t, int64(2), target.Number, "the revision that every cluster has")
		})
	}
}
