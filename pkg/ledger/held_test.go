package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
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

// The rejections of an abort's writes replace each other. The status lists them before those of the aborted rollout, which stay.
func TestRejectionsOfAnAbort(t *testing.T) {
	trouble := func(cluster string, state ledger.State, message string) ledger.Trouble {
		return ledger.Trouble{Cluster: cluster, State: state, Message: message}
	}
	l := ledger.Ledger{Troubles: []ledger.Trouble{trouble("c1", ledger.Rejected, "old"), trouble("c2", ledger.Failed, "")}}
	l.AbortWith(&revision.Abort{}, 2)
	listed := func(unrestored ...ledger.Trouble) (texts []string) {
		l.SetUnrestored(unrestored)
		var status workv1alpha1.ManifestWorkReplicaSetStatus
		require.NoError(t, l.Project(&status))
		require.Len(t, status.Failures, 1)
		for _, rejection := range status.Rejections {
			texts = append(texts, rejection.Cluster+" "+rejection.Message)
		}
		return texts
	}
	require.Equal(t, []string{"c1 old"}, listed())
	require.Equal(t, []string{"c1 old", "c3 new"}, listed(trouble("c3", ledger.Unrestored, "new")))
	require.Equal(t, []string{"c1 new"}, listed(trouble("c1", ledger.Unrestored, "new")))
	require.Equal(t, []string{"c1 old"}, listed())
	var many []ledger.Trouble
	for i := range workv1alpha1.MaxFailures {
		many = append(many, trouble(fmt.Sprintf("d%03d", i), ledger.Unrestored, ""))
	}
	require.Len(t, listed(many...), workv1alpha1.MaxFailures)
}
