package preflight_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
)

// Another CRD drops every field that shows whether the rollout was aborted.
func TestLeavingUnderAnotherCRD(t *testing.T) {
	found := preflight.Leaving(&preflight.Objects{ReplicaSets: []object{complete("team-a", func(o *object) {
		o.Status = workv1alpha1.ManifestWorkReplicaSetStatus{Conditions: []metav1.Condition{{Type: workv1alpha1.ConditionProgressing}}}
	})}})
	require.Len(t, found, 1)
	require.Equal(t, preflight.Error, found[0].Severity)
	require.Contains(t, found[0].What, "the rollout may have been aborted")
}
