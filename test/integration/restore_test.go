package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// wipeStatus loses the whole status, as a restore from a backup does.
func (f *fleet) wipeStatus() {
	f.t.Helper()
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) {
		*status = workv1alpha1.ManifestWorkReplicaSetStatus{PlacementsSummary: []workv1alpha1.PlacementSummary{}}
	})
}

// R16: a status that is lost while a rollout is complete is rebuilt, and nothing is rolled out.
func TestStatusLostWhileComplete(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.update("v2")
	before := f.complete()
	f.wipeStatus()
	mwrs := f.complete()
	f.quiet()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, before.Status.UpdateRevision, mwrs.Status.UpdateRevision)
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2}, f.generations())
}

// R16: in the middle of a rollout.
func TestStatusLostWhileRolling(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "30s", 0, abortAll))
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.has("c2", "v2")
	before := f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	f.wipeStatus()
	mwrs := f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, before.Status.UpdateRevision, mwrs.Status.UpdateRevision)
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2, "c3": 1}, f.generations())

	f.agentsReport("c2", "v2", succeeds)
	f.complete()
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2, "c3": 2}, f.generations())
}

// R16: after an abort. A lost status is no retry.
func TestStatusLostWhileAborted(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	before := f.abort(hangs)
	f.everywhere("v1")
	f.wipeStatus()
	mwrs := f.aborted()
	f.quiet()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, before.Status.UpdateRevision, mwrs.Status.UpdateRevision)
	require.Equal(t, before.Status.AbortedTime, mwrs.Status.AbortedTime)
	require.Equal(t, []string{"v1", "v2", "v1"}, f.sequence("c1"))
	require.Equal(t, []string{"v1"}, f.sequence("c2"))
}

// R16: after a rollout stalled.
func TestStatusLostWhileStalled(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	before := f.stalled()
	f.wipeStatus()
	mwrs := f.stalled()
	f.quiet()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, map[string]int64{"c1": 2, "c2": 1}, f.generations())
}

// R4, R16: an undo whose status is lost is still an undo.
func TestStatusLostDuringAnUndo(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "30s", 0))
	f.update("v2")
	before := f.complete()
	f.agentsReport("c1", "v1", hangs)
	f.update("v1")
	f.has("c1", "v1")
	f.rolling(workv1alpha1.ReasonFoundNewRevision)
	f.wipeStatus()
	mwrs := f.rolling(workv1alpha1.ReasonFoundNewRevision)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	f.agentsReport("c1", "v1", succeeds)
	f.complete()
	require.Equal(t, map[string]int64{"c1": 3, "c2": 3}, f.generations())
}
