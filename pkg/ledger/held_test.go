package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func TestHold(t *testing.T) {
	at, first := time.Unix(1000, 5).UTC(), time.Unix(500, 0).UTC()
	aborted := &revision.Revision{Hash: "v2", Record: revision.Record{Abort: &revision.Abort{At: first, By: "ann", Reason: "it broke"}}}
	held := &revision.Abort{At: time.Unix(1000, 0).UTC(), By: "ann", Reason: "it broke", Held: first}
	again := &revision.Revision{Hash: "v2", Record: revision.Record{Abort: &revision.Abort{At: at, By: "ann", Reason: "it broke", Held: first}}}
	for name, tc := range map[string]struct {
		update  *revision.Revision
		current string
		want    *revision.Abort
	}{
		"aborted":      {update: aborted, current: "v1", want: held},
		"held before":  {update: again, current: "v1", want: held},
		"never":        {update: &revision.Revision{Hash: "v2"}, current: "v1"},
		"unknown":      {current: "v1"},
		"stable again": {update: aborted, current: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger.Ledger{Update: ledger.Named{Hash: "v2"}, Current: ledger.Named{Hash: tc.current}}
			l.Hold(tc.update, at, 0)
			require.Equal(t, tc.want, l.Abort)
		})
	}
	require.Equal(t, "abortedRevisionPolicy Hold keeps it aborted; its earlier rollout was aborted at 1970-01-01T00:08:20Z: it broke", held.Why())
}

// An abort ends the rejections of its rollout, and keeps the failures. Its own rejections replace each other.
func TestRejectionsOfAnAbort(t *testing.T) {
	failed := ledger.Trouble{Cluster: "c2", State: ledger.Failed}
	rejected := func(cluster string) ledger.Trouble { return ledger.Trouble{Cluster: cluster, State: ledger.Rejected} }
	l := ledger.Ledger{Troubles: []ledger.Trouble{rejected("c1"), failed}}
	l.AbortWith(&revision.Abort{}, 2)
	require.Equal(t, []ledger.Trouble{failed}, l.Troubles)
	l.SetRejections([]ledger.Trouble{rejected("c3")})
	l.SetRejections([]ledger.Trouble{rejected("c1")})
	require.Equal(t, []ledger.Trouble{rejected("c1"), failed}, l.Troubles)
}
