package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestUndoIsNotAborted: going back is never aborted to what was left, and nothing else is taken for going back.
func TestUndoIsNotAborted(t *testing.T) {
	before := func(at time.Duration, generation int64) *work.Revision {
		return rt.Revision("bbb", rt.CurrentBefore(), rt.CreatedFirst(at, generation))
	}
	for name, tc := range map[string]struct {
		update    *work.Revision
		abortable bool
	}{
		"older, and it was current":                {update: before(0, 1)},
		"older, and it never was current":          {update: rt.Revision("bbb", rt.CreatedFirst(0, 1)), abortable: true},
		"newer, and it was current":                {update: before(2*time.Hour, 3), abortable: true},
		"created in the same second, before":       {update: before(time.Hour, 1)},
		"created in the same second, after":        {update: before(time.Hour, 3), abortable: true},
		"created in the same second, no one knows": {update: before(time.Hour, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{
				rt.Now(10 * minute), rt.Current(rt.Revision("aaa", rt.CurrentBefore(), rt.CreatedFirst(time.Hour, 2))), rt.Updating(tc.update),
				rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"))), rt.Works(failed("c1"), old("c2")),
			}
			p := decide(options...)
			require.Equal(t, tc.abortable, p.Abort != nil)
			if tc.abortable {
				require.Equal(t, rollout.NoBlock, p.AbortBlocked)
				return
			}
			require.True(t, p.Stalled)
			require.Empty(t, texts(p))
			require.Equal(t, rollout.BlockedByUndo, p.AbortBlocked)
			require.Equal(t, []string{"Update c1 to aaa: aborted"}, texts(decide(append(options, rt.Aborted())...)), "a person aborts it")
		})
	}
}

// TestUndoWaitsForNoAbort: a cluster that left during an undo leads to no abort, and so holds no completion up.
func TestUndoWaitsForNoAbort(t *testing.T) {
	undo := rt.Updating(rt.Revision("bbb", rt.CurrentBefore()))
	options := []rt.SnapshotOption{
		rt.Now(10 * minute), rt.Refs(rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), rt.Clusters("c1"))), rt.Works(done("c1"), inFlight("c2", rt.Deleting())),
	}
	require.False(t, decide(options...).Complete)
	require.True(t, decide(append(options, undo)...).Complete)
}
