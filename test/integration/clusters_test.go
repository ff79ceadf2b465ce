package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// unselectedFor is how long a cluster must be unselected before its work is deleted (R8), less what polling may miss of it.
const unselectedFor = 5*time.Second - 500*time.Millisecond

func TestClusterJoinsWhileRolling(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "30s", 0)))
	f.complete()
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.place("p1", []string{"c1", "c2", "c3"})
	f.never("c3", "v2", 2*time.Second) // The batch is full.
	f.agentsReport("c1", "v2", succeeds)
	mwrs := f.complete()
	f.everywhere("v2")
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	require.Equal(t, []string{"v2"}, f.sequence("c3"))
	f.quiet()
}

// R13: a join after the rollout was complete begins no new one.
func TestClusterJoinsAfterCompletion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", progressive(1, "30s", 0, abortAll)))
	before := f.complete()
	f.agentsReport("c2", "v1", hangs)
	f.place("p1", []string{"c1", "c2"})
	f.has("c2", "v1")
	mwrs := f.state("AsExpected=True", "Processing=False", "NewManifestWorkAvailable=False", "Progressing=False")
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, 2, mwrs.Status.Summary.DesiredTotal)
	require.Equal(t, 1, mwrs.Status.Summary.Updated)
	f.agentsReport("c2", "v1", succeeds)
	f.complete()
	f.quiet()
}

// R12, R13: where there is nothing older to go back to, a cluster that fails after completion aborts nothing.
func TestClusterThatFailsAfterCompletionAbortsNothing(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.update("v2")
	before := f.complete()
	f.agentsReport("c1", "v2", degrades)
	mwrs := f.state("AsExpected=True", "NotAsExpected=False", "NewManifestWorkAvailable=False", "RolloutDegraded=False")
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	f.quiet()
	f.agentsReport("c1", "v2", succeeds)
	f.complete()
	require.Equal(t, map[string]int64{"c1": 2, "c2": 2}, f.generations())
}

// R10: a ref whose failures exceed maxFailures gets nothing new.
func TestClusterJoinsWhileStalled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", all("2s", 0)))
	f.complete()
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.stalled()
	f.place("p1", []string{"c1", "c2", "c3"})
	f.never("c3", "v2", 2*time.Second)
	mwrs := f.stalled()
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	f.agentsReport("c1", "v2", succeeds)
	f.complete()
	f.everywhere("v2")
}

// R12: a cluster that joins after an abort gets the current revision.
func TestClusterJoinsWhileAborted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	f.complete()
	f.abort(hangs)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.everywhere("v1")
	f.aborted()
	f.quiet()
	require.Equal(t, []string{"v1"}, f.sequence("c3"))
	require.Equal(t, f.hash("v1"), f.work("c3").Labels[workv1alpha1.LabelControllerHash])
}

// A cluster that leaves takes its slot with it, once its work is gone.
func TestClusterLeavesWhileRolling(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "60s", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	left := time.Now()
	f.place("p1", []string{"c2"})
	mwrs := f.complete()
	f.everywhere("v2", "c2")
	require.Equal(t, 1, mwrs.Status.Summary.DesiredTotal)
	require.GreaterOrEqual(t, f.firstAt("c2", "v2", false).Sub(left), unselectedFor)
	require.Equal(t, 1, f.mostInFlight("v2"))
	f.quiet()
}

func TestClusterLeavesAfterCompletion(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "20s", 0))
	left := time.Now()
	f.place("p1", []string{"c1"})
	f.everywhere("v1", "c1")
	require.GreaterOrEqual(t, time.Since(left), unselectedFor)
	mwrs := f.complete()
	require.Equal(t, 1, mwrs.Status.Summary.DesiredTotal)
	f.quiet()
}

// A failed cluster that leaves permanently no longer stops the others.
func TestFailedClusterLeavesWhileStalled(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0))
	f.agentsReport("c1", "v2", hangs)
	f.update("v2")
	f.stalled()
	f.place("p1", []string{"c2"})
	f.complete()
	f.everywhere("v2", "c2")
	f.quiet()
}

func TestClusterLeavesWhileAborted(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.abort(hangs)
	f.place("p1", []string{"c2"})
	f.everywhere("v1", "c2")
	mwrs := f.aborted()
	require.Equal(t, 1, mwrs.Status.Summary.DesiredTotal)
	f.quiet()
}

// R8a, R11: a cluster that was started, never succeeded, and is deselected before its deadline, its agent offline, keeps its slot until then.
// Then it has failed.
func TestLeavingClusterKeepsItsSlotUntilItsDeadline(t *testing.T) {
	t.Parallel()
	const deadline = 9 * time.Second
	f := rolledOut(t, 3, progressive(1, deadline.String(), 0, abortAll))
	f.agentsReport("c1", "", silent)
	f.update("v2")
	f.has("c1", "v2")
	f.place("p1", []string{"c2", "c3"})
	f.leaving("c1")
	require.Equal(t, []string{"c1"}, f.reached("v2"), "it keeps its slot")
	left := f.work("c1")
	mwrs := f.aborted()
	// AbortedTime has whole seconds.
	require.GreaterOrEqual(t, mwrs.Status.AbortedTime.Add(time.Second).Sub(f.writtenAt("c1", "v2")), deadline, "it fails at its deadline")
	require.Equal(t, []string{"c1"}, f.reached("v2"))
	require.Equal(t, left.Generation, f.work("c1").Generation, "a work that is being deleted is not written to")
	f.quiet()
}

// R8, R11: a cluster that has the new revision and leaves, its agent offline, did not fail, however long ago it was written: that the API
// server counts the deletion of its work as a generation is none of its reports.
func TestLeavingClusterThatSucceededDoesNotFail(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, soaking(progressive(1, "4s", 0, abortAll), 5*time.Second))
	f.update("v2")
	f.has("c2", "v2")
	f.agentsReport("c1", "", silent)
	f.place("p1", []string{"c2", "c3"})
	f.leaving("c1")
	f.has("c3", "v2")
	mwrs := f.complete()
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, []string{"v1", "v2"}, f.sequence("c2"))
	f.quiet()
	require.NotNil(t, f.work("c1").DeletionTimestamp)
}

// R8, R11: and one that failed before still counts until it is gone.
func TestLeavingClusterThatFailedStillCounts(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0))
	f.agentsReport("c1", "", silent)
	f.update("v2")
	f.stalled()
	f.place("p1", []string{"c2"})
	f.leaving("c1")
	f.never("c2", "v2", 2*time.Second)
	f.stalled()
	f.agentsReport("c1", "", succeeds)
	f.complete()
	f.everywhere("v2", "c2")
	f.quiet()
}

// R8: a cluster that is selected again while its work is being deleted waits for that, and gets a new one.
func TestClusterComesBackWhileItsWorkIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "30s", 0))
	old := f.work("c1").UID
	f.agentsReport("c1", "", silent)
	f.place("p1", []string{"c2"})
	f.leaving("c1")
	f.place("p1", []string{"c1", "c2"})
	always(t, "there is one work, the old one", time.Second, func() error {
		if work := f.work("c1"); work.UID != old {
			return fmt.Errorf("it is %s", work.UID)
		}
		return nil
	})
	f.agentsReport("c1", "", succeeds)
	eventually(t, "c1 has a new work", func() error {
		for _, work := range f.works() {
			if work.Namespace == f.cluster("c1") && work.UID != old {
				return nil
			}
		}
		return fmt.Errorf("it has none")
	})
	f.complete()
	f.everywhere("v1")
	f.quiet()
}

// R8: a cluster that several placementRefs select has one work, belongs to the first, and is counted once.
func TestOverlappingPlacements(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2"})
	f.place("p2", []string{"c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "20s", 0)), ref("p2", progressive(1, "20s", 0)))
	mwrs := f.complete()
	f.everywhere("v1")
	require.Len(t, f.works(), 3)
	require.Equal(t, "p1", f.work("c2").Labels[workv1alpha1.LabelPlacement])
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)
	require.Equal(t, 3, mwrs.Status.Summary.Updated)
	require.Equal(t, 2, mwrs.Status.PlacementsSummary[0].Summary.DesiredTotal)
	require.Equal(t, 1, mwrs.Status.PlacementsSummary[1].Summary.DesiredTotal)
	f.quiet()

	// When the first ref goes, the second takes the cluster over: nothing happens there.
	uid := f.work("c2").UID
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PlacementRefs = mwrs.Spec.PlacementRefs[1:] })
	f.everywhere("v1", "c2", "c3")
	f.complete()
	require.Equal(t, uid, f.work("c2").UID)
	require.EqualValues(t, 1, f.work("c2").Generation)
	require.Equal(t, "p2", f.work("c2").Labels[workv1alpha1.LabelPlacement])
	f.quiet()
	require.Equal(t, []string{"v1"}, f.sequence("c2"))
}

// R8: the order of the refs counts, also when it changes.
func TestReorderedRefsHandClustersOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1"})
	f.place("p2", []string{"c1", "c2"})
	f.create("v1", ref("p1", all("20s", 0)), ref("p2", all("20s", 0)))
	f.complete()
	uid := f.work("c1").UID
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		refs := mwrs.Spec.PlacementRefs
		refs[0], refs[1] = refs[1], refs[0]
	})
	eventually(t, "c1 belongs to p2", func() error {
		if label := f.work("c1").Labels[workv1alpha1.LabelPlacement]; label != "p2" {
			return fmt.Errorf("it belongs to %s", label)
		}
		return nil
	})
	mwrs := f.complete()
	require.Equal(t, 2, mwrs.Status.PlacementsSummary[0].Summary.DesiredTotal)
	require.Zero(t, mwrs.Status.PlacementsSummary[1].Summary.DesiredTotal)
	require.Equal(t, uid, f.work("c1").UID)
	require.EqualValues(t, 1, f.work("c1").Generation)
	f.quiet()
}
