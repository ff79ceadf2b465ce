package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestUndoIsNotAborted: an undo is never aborted to the revision that the user rolled back, unless the user requests it.
func TestUndoIsNotAborted(t *testing.T) {
	options := []rt.SnapshotOption{
		rt.Now(10 * minute), rt.Rolling("aaa", "bbb"),
		rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"))), rt.Works(failed("c1"), old("c2")),
	}
	p := decide(options...)
	require.NotNil(t, p.Abort)
	require.Equal(t, rollout.NoBlock, p.AbortBlocked)

	options = append(options, rt.Undoing())
	p = decide(options...)
	require.Nil(t, p.Abort)
	require.True(t, p.Stalled)
	require.Empty(t, texts(p))
	require.Equal(t, rollout.BlockedByUndo, p.AbortBlocked)
	require.Equal(t, []string{"Update c1 to aaa: aborted"}, texts(decide(append(options, rt.Aborted())...)), "a person aborts it")
}

// TestUndoWaitsForNoAbort: a cluster that left during an undo does not cause an abort, so it does not delay completion.
func TestUndoWaitsForNoAbort(t *testing.T) {
	options := []rt.SnapshotOption{
		rt.Now(10 * minute), rt.Refs(rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), rt.Clusters("c1"))), rt.Works(done("c1"), inFlight("c2", rt.Deleting())),
	}
	require.False(t, decide(options...).Complete)
	require.True(t, decide(append(options, rt.Undoing())...).Complete)
}
