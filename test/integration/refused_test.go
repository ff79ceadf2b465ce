package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R11, R13: a policy that rejects the work of the first cluster of the batch. Where the failure is tolerated the others get their turn,
// and the rollout is complete after the deadline of the first.
func TestRejectedWorkTakesNoSlot(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "2s", 1, abortAll))
	clear := f.forbid("c1")
	f.update("v2")
	f.has("c2", "v2")
	f.has("c3", "v2")
	mwrs := f.state("AsExpected=True", "NotAsExpected=False", "NewManifestWorkAvailable=False", "Complete=True")
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "1 failed within maxFailures")
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "the API server rejects the ManifestWork of cluster "+f.cluster("c1"))
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "frozen")
	f.has("c1", "v1")
	f.quiet()

	// Another template is tried at once: what refused the one before may accept it.
	clear()
	f.update("v3")
	f.complete()
	f.everywhere("v3")
}
