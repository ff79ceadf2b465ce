package simulation

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// remembers adds n older revisions to the history, as a hub without the limit kept them. old001 is the oldest, and the current revision has
// the highest number.
func (s *teller) remembers(n int) {
	s.t.Helper()
	today, owner := s.Revisions()[0], s.Object()
	for i := 1; i <= n; i++ {
		template := Template(fmt.Sprintf("old%03d", i))
		old, err := revision.New(owner, &template, fmt.Sprintf("old%03d", i), int64(i))
		s.must(err)
		_, err = s.API.Create(Revisions, from(old))
		s.must(err)
	}
	patch, err := json.Marshal(map[string]any{"revision": n + 1})
	s.must(err)
	_, err = s.API.Patch(Revisions, Namespace, today.Name, patch, false)
	s.must(err)
	s.Tell("admin: installs a newer hub where %d older revisions are kept", n)
}

func (s *teller) keepsOlder(limit int32) {
	s.Edit(fmt.Sprintf("sets revisionHistoryLimit to %d", limit), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.RevisionHistoryLimit = ptr.To(limit)
	})
}

// TestStoredHistoryLimitAboveTheBound: if an older CRD stored an object with a revisionHistoryLimit above 100, the limit is 100. The
// upgrade deletes the oldest revisions once, and does not change clusters. Progressing reports this until the spec is corrected. Otherwise,
// the history works as usual.
func TestStoredHistoryLimitAboveTheBound(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(all("p1", "30s", true), "c1", "c2")
	s.Away = true
	s.keepsOlder(500)
	s.remembers(150)
	generation := s.Works()[0].Generation
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.Upgrade()
	s.quiet()

	kept := s.Revisions()
	require.Len(t, kept, workv1alpha1.MaxRevisionHistoryLimit+1)
	require.Equal(t, Name+"-old051", kept[0].Name, "the oldest go")
	require.Equal(t, 50, counts(s.events)[workv1alpha1.EventRevisionPruned])
	s.warned(workv1alpha1.EventRevisionPruned, "web-old050", "spec.revisionHistoryLimit is 500, and at most 100 old revisions are kept")
	const said = "spec.revisionHistoryLimit is 500, but the maximum of 100 applies: the newest 100 old revisions are kept; set it to at most 100"
	s.says(workv1alpha1.ConditionProgressing, "is successfully progressed", said)
	s.says(workv1alpha1.ConditionManifestworkApplied, "2 clusters up to date")
	require.Equal(t, generation, s.Works()[0].Generation)
	s.idle()
	s.restarts()
	s.idle()

	s.Update("old051")
	s.quiet()
	s.everywhere("old051")
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.Update("v2")
	s.quiet()
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.says(workv1alpha1.ConditionProgressing, said)

	s.keepsOlder(100)
	s.settle(time.Minute)
	require.NotContains(t, s.says(workv1alpha1.ConditionProgressing).Message, "revisionHistoryLimit", s.story())
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.quiet()
}

// R12: an undo to a revision that the history limit deleted is still recognized as an undo: the revision was the current one before, and is
// older than the present one. The undo stalls, and is not aborted. The revision keeps the time of its first creation.
func TestUndoOfAPrunedRevision(t *testing.T) {
	s := rolledOut(t)
	s.keepsOlder(0)
	for _, version := range []string{"v2", "v3", "v4"} {
		s.settle(time.Hour)
		s.Update(version)
		s.quiet()
	}
	require.Len(t, s.Revisions(), 1)
	s.restarts()
	s.hangs("v1", "c1")
	s.quiet()
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v1")
	s.says(workv1alpha1.ConditionProgressing, "does not apply to an undo")

	// A revision that was never the current revision is not an undo.
	s.hangs("v5", "")
	s.settle(10 * time.Second)
	s.Report("c1", "v1", Succeeds)
	s.Update("v1")
	s.quiet()
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
	require.Empty(t, s.hashOf("v5"))
	s.Update("v5")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v1")
}

// R6: a hash of a revision that the history limit deleted is not accepted as the current one.
func TestPrunedRevisionIsNotNamed(t *testing.T) {
	s := rolledOut(t)
	s.keepsOlder(0)
	pruned := s.hashOf("v1")
	for _, version := range []string{"v2", "v3"} {
		s.Update(version)
		s.quiet()
	}
	s.nameCurrent(pruned)
	s.quiet()
	require.Equal(t, s.hashOf("v3"), s.Object().Status.CurrentRevision)
}

// R12, R25: the conditions show the user who aborted the rollout, and the reason. Both stay on the revision and in the list after the abort
// has ended.
func TestAbortByHandHasAReason(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	now := metav1.NewTime(s.Clock.Now()).Rfc3339Copy()
	s.remembered(&now)
	asked := map[string]any{"abortedTime": now, "abortedBy": "alice", "abortReason": "v2 leaks memory"}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": asked}, true)
	s.quiet()
	const reason = "alice set status.abortedTime (field manager kubectl-patch): v2 leaks memory"
	s.everywhere("v1")
	s.says(workv1alpha1.ConditionProgressing, reason)
	object := s.Object()
	require.Equal(t, []string{"alice", "v2 leaks memory"}, []string{object.Status.AbortedBy, object.Status.AbortReason})
	listed := object.Status.Revisions[0]
	require.Equal(t, reason, listed.AbortReason)
	require.EqualValues(t, 2, *listed.ReachedClusters)
	require.Equal(t, "alice", revision.RecordOf(s.Revisions()[1]).Abort.By)

	s.Report("c1", "v2", Succeeds)
	s.Retry()
	s.quiet()
	object = s.Object()
	require.Empty(t, object.Status.AbortedBy+object.Status.AbortReason+object.Status.Revisions[0].AbortReason)
	require.Nil(t, revision.RecordOf(s.Revisions()[1]).Abort)

	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": asked}, true)
	s.quiet()
	object = s.Object()
	require.Nil(t, object.Status.AbortedTime, "nothing to abort")
	require.Empty(t, object.Status.AbortedBy+object.Status.AbortReason)
}
