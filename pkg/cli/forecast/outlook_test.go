package forecast_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const minute = time.Minute

// sick returns a work with the update revision whose agent reports it as degraded since a time.
func sick(cluster string, since time.Duration) work.Work {
	return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(since), rt.Degraded(since))
}

// hanging returns a work with the update revision that has been in flight since a time.
func hanging(cluster string, since time.Duration) work.Work {
	return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(since), rt.InFlight(since))
}

func older(cluster string) work.Work { return rt.Work(cluster, rt.AtRevision("aaa")) }

// outlook returns the outlook at 4m, of four clusters that get the revision two at a time, with a deadline of 10m.
func outlook(failures any, options ...rt.SnapshotOption) *forecast.Outlook {
	ref := rt.Ref("p1", rt.Progressive(2), rt.MaxFailures(failures), rt.AbortAll(), rt.Deadline("10m"), rt.Clusters("c1", "c2", "c3", "c4"))
	return forecast.OutlookOf(rt.Snapshot(append([]rt.SnapshotOption{rt.Rolling("aaa", "bbb"), rt.Now(4 * minute), rt.Refs(ref)}, options...)...))
}

// TestOutlookCountsTogether: the second of two failed clusters exceeds the limit. Each of them alone would be tolerated.
func TestOutlookCountsTogether(t *testing.T) {
	works := rt.Works(hanging("c1", minute), sick("c2", 2*minute), older("c3"), older("c4"))
	found := outlook(1, works)
	require.Equal(t, []forecast.Failing{{"c1", 0, rt.At(11 * minute)}, {"c2", 0, rt.At(12 * minute)}}, found.Failing)
	require.Equal(t, &forecast.Turn{At: rt.At(12 * minute), Failed: 2}, found.Abort)
	require.Nil(t, outlook(2, works).Abort)
	require.False(t, outlook(2, works).Stalled, "the hub starts the others")
}

// TestOutlookCountsClustersThatAreAway: a cluster that has the revision and is away fails at its deadline, like any other.
func TestOutlookCountsClustersThatAreAway(t *testing.T) {
	found := outlook(1, rt.Unavailable(0, "c5"), rt.Works(hanging("c1", 2*minute), hanging("c5", minute), older("c2"), older("c3"), older("c4")))
	require.Equal(t, []forecast.Failing{{"c5", 0, rt.At(11 * minute)}, {"c1", 0, rt.At(12 * minute)}}, found.Failing)
	require.Equal(t, &forecast.Turn{At: rt.At(12 * minute), Failed: 2}, found.Abort)
}

// TestOutlookNamesThePlacement: the turn names the placementRef whose clusters fail.
func TestOutlookNamesThePlacement(t *testing.T) {
	second := rt.Ref("p2", rt.Progressive(2), rt.MaxFailures(0), rt.AbortAll(), rt.Deadline("10m"), rt.Clusters("c5"))
	first := rt.Ref("p1", rt.Progressive(2), rt.MaxFailures(1), rt.AbortAll(), rt.Deadline("10m"), rt.Clusters("c1"))
	found := forecast.OutlookOf(rt.Snapshot(rt.Rolling("aaa", "bbb"), rt.Now(4*minute), rt.Refs(first, second),
		rt.Works(hanging("c1", 0), rt.Work("c5", rt.AtRevision("bbb"), rt.OfPlacement("p2"), rt.WrittenAt(minute), rt.InFlight(minute)))))
	require.Equal(t, &forecast.Turn{At: rt.At(11 * minute), Ref: 1, Failed: 1}, found.Abort)
	require.Equal(t, []forecast.Failing{{"c1", 0, rt.At(10 * minute)}, {"c5", 1, rt.At(11 * minute)}}, found.Failing)
}

// TestOutlookOfARejection: the hub tries a rejected write at its deadline again, except during a pause.
func TestOutlookOfARejection(t *testing.T) {
	found := outlook(0, rt.Works(older("c1"), older("c2"), older("c3"), older("c4")), rt.Rejected("c1", 0, minute))
	require.Equal(t, &forecast.Turn{At: rt.At(10 * minute), Failed: 1}, found.Abort)
	found = outlook(0, rt.Paused(), rt.Works(older("c1"), older("c2"), older("c3"), older("c4")), rt.Rejected("c1", 0, minute))
	require.Empty(t, found.Failing)
}

// TestOutlookWithoutAbort: in a first rollout, the failures stop the placementRef, and there is nothing to return to. A recorded failure
// counts, and a cluster that has failed does not fail again.
func TestOutlookWithoutAbort(t *testing.T) {
	first := rt.Current(nil)
	found := outlook(1, first, rt.Works(hanging("c1", minute), hanging("c2", 2*minute)))
	require.Nil(t, found.Abort)
	require.Equal(t, []forecast.Turn{{At: rt.At(12 * minute), Failed: 2}}, found.Stops)
	require.Equal(t, rollout.BlockedByAbsence, found.Blocked)
	require.True(t, found.Stalled)

	found = outlook(1, first, rt.Works(hanging("c1", minute), hanging("c2", 2*minute)),
		rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1"))
	require.Len(t, found.Failing, 1)
	require.Equal(t, 2, found.Stops[0].Failed)
}

// TestOutlookOfAPause: the deadlines continue to run, and the abort waits for the end of the pause.
func TestOutlookOfAPause(t *testing.T) {
	require.Equal(t, rt.At(11*minute), outlook(0, rt.Paused(), rt.Works(hanging("c1", minute))).Abort.At)
}

// TestWavesWaitForARejectedCluster: while a rejected cluster takes the only slot, the hub does not start the first wave now.
func TestWavesWaitForARejectedCluster(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline("10m"), rt.Clusters("c1", "c2", "c3", "c4"))
	s := rt.Snapshot(rt.Rolling("aaa", "bbb"), rt.Now(4*minute), rt.Refs(ref), rt.Rejected("c1", 0, 4*minute-time.Second),
		rt.Works(older("c1"), older("c2"), older("c3"), older("c4")))
	waves := forecast.Waves(s)
	require.Len(t, waves, 4)
	require.False(t, waves[0].Now)
}
