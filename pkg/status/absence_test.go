package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Each cause has a message, with a remedy.
func TestNoCurrent(t *testing.T) {
	const remedy = "put a good template into the spec"
	for name, tc := range map[string]struct {
		absence *rollout.Absence
		says    []string
	}{
		"without a history":     {&rollout.Absence{Cause: rollout.WithoutHistory, Detail: "no history: forbidden"}, []string{"no history: forbidden"}},
		"there are others":      {&rollout.Absence{Cause: rollout.NeverComplete, Others: []string{"a", "b"}}, []string{"status.currentRevision (a; b)", remedy}},
		"there are many others": {&rollout.Absence{Cause: rollout.NeverComplete, Others: []string{"a", "b", "c", "d"}}, []string{"(a; b; c; and 1 more)"}},
		"an older hub's":        {&rollout.Absence{Cause: rollout.NotAdopted, Others: []string{"a"}}, []string{"did not show which revision was stable", "(a)", remedy}},
		"another hub came":      {&rollout.Absence{Cause: rollout.Surpassed, Revision: "web-a", Others: []string{"a"}}, []string{"another hub rolled out a template after revision web-a", "(a)"}},
		"disowned":              {&rollout.Absence{Cause: rollout.Disowned, Revision: "web-a"}, []string{"no ControllerRevision web-a", "no longer has an ownerReference", remedy}},
		"deleted":               {&rollout.Absence{Cause: rollout.Deleted, Revision: "web-a"}, []string{"no ControllerRevision web-a", "it was deleted", remedy}},
		"unreadable":            {&rollout.Absence{Cause: rollout.Unreadable, Detail: "web-a: broken"}, []string{"web-a: broken; nothing can be rolled back to it", "good template"}},
		"on one cluster":        {&rollout.Absence{Cause: rollout.OnOneCluster, Revision: "web-a", Cluster: "c1"}, []string{"revision web-a was found only on cluster c1", remedy}},
	} {
		t.Run(name, func(t *testing.T) {
			message := status.NoCurrent(tc.absence)
			require.Equal(t, tc.absence == nil, message == "")
			for _, part := range tc.says {
				require.Contains(t, message, part)
			}
		})
	}
}

// A failed undo is not aborted automatically. Progressing gives the reason, and the command that aborts it.
func TestUndoThatFailsNamesTheCommand(t *testing.T) {
	_, messages := told(build(input(status.Stalled, p1(rt.AbortAll(), rt.Clusters("c1")), rt.Works(failed("c1")), rt.Undoing())))
	require.Contains(t, messages[progressing], "failureStrategy AbortAll does not apply to an undo: revision web-bbb was the stable one before revision web-aaa, "+
		"and the hub does not return to web-aaa by itself; fix these clusters, or return every cluster to web-aaa: kubectl -n default patch mwrs web "+
		`--subresource=status --type=merge -p '{"status":{"abortedTime":"'$(date -u +%FT%TZ)'"}}'`)
}

// Progressing reports a missing history only once, even if it is the reason why nothing is aborted, and even if other permissions are
// missing.
func TestMissingHistoryIsSaidOnce(t *testing.T) {
	const pruned, history = "an older CRD", "no history: forbidden"
	without := func(s *rollout.Snapshot) {
		s.Current, s.Absent = nil, &rollout.Absence{Cause: rollout.WithoutHistory, Detail: history}
	}
	for _, tc := range []struct {
		stage status.Stage
		ref   rt.SnapshotOption
		want  string
	}{
		{status.Stalled, p1(rt.AbortAll(), rt.Clusters("c1")), "failureStrategy AbortAll has no effect: " + history + "; " + pruned},
		{status.Stalled, p1(rt.Clusters("c1")), "; " + pruned + "; " + history},
		{status.RollingOut, p1(rt.AbortAll(), rt.Clusters("c1")), "failureStrategy AbortAll has no effect: " + history + "; " + pruned},
		{status.Complete, p1(rt.AbortAll(), rt.Clusters("c1")), "; " + pruned + "; " + history},
		{status.Aborted, p1(rt.AbortAll(), rt.Clusters("c1")), "; " + history + "; " + pruned},
	} {
		in := input(tc.stage, tc.ref, without, rt.Works(failed("c1")))
		in.PrunedNote, in.HistoryNote = pruned, history
		_, messages := told(build(in))
		require.Regexp(t, "; "+pruned+"(; "+history+")?$", messages[progressing])
		require.Contains(t, messages[progressing], tc.want, tc.stage)
		require.NotRegexp(t, history+".*"+history, messages[progressing], tc.stage)
	}
}
