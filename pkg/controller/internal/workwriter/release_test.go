package workwriter

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clienttesting "k8s.io/client-go/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
)

// A spec is written as a patch with the differences, against the version that was read.
func TestSetSpec(t *testing.T) {
	live := workOf("c1", "aaa").Object
	live.UID, live.ResourceVersion = "uid", "7"
	client := worktest.Client(live.DeepCopy())
	spec := live.Spec.DeepCopy()
	spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	answer, err := at(client, true).SetSpec(t.Context(), live, spec)
	require.NoError(t, err)
	require.Equal(t, live.Name, answer.GetName())
	require.JSONEq(t, `{"metadata":{"uid":"uid","resourceVersion":"7"},"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`,
		string(client.Actions()[0].(clienttesting.PatchAction).GetPatch()))

	_, err = at(worktest.Client(), false).SetSpec(t.Context(), live, spec)
	require.True(t, apierrors.IsConflict(err), err)
}
