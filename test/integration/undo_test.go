package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R3: a template that comes back renumbers its revision, and is rolled out like any other, with a reason of its own.
func TestUndoIsAnOrdinaryRollout(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "20s", 0)))
	first := f.complete()
	f.update("v2")
	f.complete()
	require.Equal(t, []string{"v1", "v2"}, f.recorded())

	f.agentsReport("c1", "v1", hangs)
	f.update("v1")
	f.has("c1", "v1")
	f.rolling(workv1alpha1.ReasonFoundNewRevision)
	require.Equal(t, map[string]string{"c1": "v1", "c2": "v2", "c3": "v2"}, f.versions())
	require.Equal(t, []string{"v2", "v1"}, f.recorded())
	require.EqualValues(t, 3, f.revisionOf("v1").Revision)

	f.agentsReport("c1", "v1", succeeds)
	mwrs := f.complete()
	f.everywhere("v1")
	require.Equal(t, first.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	f.quiet()
	require.Equal(t, 1, f.mostInFlight("v1"))
	require.Equal(t, []string{"v1", "v2", "v1"}, f.sequence("c2"))
}

// R12: going back is never aborted to what was left. An undo that fails stops, names the cluster, and gives the command that aborts it.
func TestUndoThatFailsIsNotAborted(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.update("v2")
	f.complete()
	f.agentsReport("c1", "v1", hangs)
	f.update("v1")
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime)
	said := message(mwrs, workv1alpha1.ConditionProgressing)
	require.Contains(t, said, "1 cluster ("+f.cluster("c1")+")")
	require.Contains(t, said, fmt.Sprintf("kubectl -n %s patch mwrs web --subresource=status", f.namespace))
	require.Equal(t, map[string]string{"c1": "v1", "c2": "v2"}, f.versions())
	f.quiet()

	f.abortByHand()
	mwrs = f.aborted()
	f.everywhere("v2")
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	require.Equal(t, f.hash("v1"), mwrs.Status.UpdateRevision)
	f.quiet()

	f.agentsReport("c1", "v1", succeeds)
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) { status.AbortedTime = nil })
	f.complete()
	f.everywhere("v1")

	f.agentsReport("c1", "v3", hangs)
	f.update("v3")
	f.aborted()
	f.everywhere("v1")
}

// R3, R12b: an undo in the middle of a rollout takes every cluster that left the old revision back at once, whatever the strategy says.
// Clusters that never left it don't restart.
func TestUndoInTheMiddleOfARollout(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "30s", 0))
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.has("c2", "v2")
	f.agentsReport("", "v1", hangs)
	f.update("v1")
	f.everywhere("v1")
	f.agentsReport("", "v1", succeeds)
	mwrs := f.complete()
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	require.Equal(t, []string{"v1"}, f.sequence("c3"))
	f.quiet()
}

// A new template in the middle of a rollout takes its place; nobody gets the old one any more.
func TestUpdateInTheMiddleOfARollout(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "30s", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.update("v3")
	f.complete()
	f.everywhere("v3")
	require.Equal(t, []string{"c1"}, f.reached("v2"))
	require.LessOrEqual(t, f.mostInFlight("v3"), 1)
	f.quiet()
	f.never("c2", "v2", time.Second)
}
