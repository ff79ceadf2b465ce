package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// paused is a view of an object that is paused.
func paused(value string, revisions status.Revisions, objects ...*appsv1.ControllerRevision) *lifecycle.View {
	v := view(value, revisions, objects...)
	v.Object.Spec.Paused = true
	return v
}

// A template that is edited while paused becomes no revision, and the update revision stays.
func TestPausedTemplateWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		view    *lifecycle.View
		update  string
		differs bool
	}{
		"nothing is edited":     {view: paused("a", names("a", "a"), object("a", 1, current(0), remembers())), update: "a"},
		"a new template":        {view: paused("b", names("a", "a"), object("a", 1, current(0))), update: "a", differs: true},
		"an undo":               {view: paused("a", names("a", "b"), object("a", 1, current(0)), object("b", 2, remembers("a"))), update: "b", differs: true},
		"the template of today": {view: paused("b", names("", "b"), object("a", 1), object("b", 2, remembers())), update: "b"},
		"the hub was killed after it made the revision":   {view: paused("b", names("a", "a"), object("a", 1, current(0)), object("b", 2, remembers("a"))), update: "a", differs: true},
		"and the template goes back to the revision then": {view: paused("a", names("a", "a"), object("a", 1, current(0)), object("b", 2, remembers("a"))), update: "a"},
		"the status was lost":                             {view: paused("b", status.Revisions{}, object("a", 1, current(0))), update: "a", differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			last := step(t, lifecycle.Next(tc.view), lifecycle.Proceed)
			require.Equal(t, hashOf(tc.update), last.Outcome.Update.Hash)
			require.Equal(t, tc.differs, last.Outcome.TemplatePending)
			require.False(t, last.Outcome.TemplateHeld)
			require.False(t, last.Outcome.Pending)
			begun := lifecycle.Begin(tc.view, last.Outcome.Decision)
			require.Equal(t, tc.differs, begun.Outcome.TemplatePending)
			require.Equal(t, hashOf(tc.update), begun.Outcome.Revisions.UpdateRevision)
			require.True(t, begun.Outcome.Snapshot.Paused)
		})
	}
}

// An object that is seen for the first time gets its first revision while paused, and what another hub left is recorded before that.
func TestPausedAtFirstSight(t *testing.T) {
	require.Equal(t, nameOf("a"), step(t, lifecycle.Next(paused("a", status.Revisions{})), lifecycle.Create).Revision.Name)

	older := paused("b", status.Revisions{}, object("a", 1, recordedAt(0), current(0)))
	older.Works = []work.Work{theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "b")}
	next := answer(t, older, lifecycle.Answer{Spec: template("a")})
	require.Equal(t, nameOf("b"), step(t, next, lifecycle.Create).Revision.Name)
}

// Without a history the works have the hashes, and the update revision stays too.
func TestPausedWithoutHistory(t *testing.T) {
	without := func(value, update string) *lifecycle.View {
		v := paused(value, names("", update))
		v.NoHistory = true
		return v
	}
	first := step(t, lifecycle.Next(without("a", "")), lifecycle.Proceed)
	require.Equal(t, hashOf("a"), first.Outcome.Update.Hash)

	same := step(t, lifecycle.Next(without("a", "a")), lifecycle.Proceed)
	require.Equal(t, digestOf("a"), same.Outcome.Update.Digest)
	require.False(t, same.Outcome.TemplatePending)

	edited := without("b", "a")
	last := step(t, lifecycle.Next(edited), lifecycle.Proceed)
	require.Equal(t, hashOf("a"), last.Outcome.Update.Hash)
	require.True(t, last.Outcome.TemplatePending)
	require.Equal(t, revision.Digest("gone"), last.Outcome.Update.Digest, "what it holds is not known")

	edited.History = history(object("a", 1))
	require.Equal(t, digestOf("a"), lifecycle.Next(edited).Outcome.Update.Digest, "it could be read before")

	other := without("b", "a")
	other.Memory.Unrecorded = map[string]revision.Digest{hashOf("a"): digestOf("b")}
	kept := lifecycle.Next(other).Outcome
	require.False(t, kept.TemplatePending, "it was rolled out under that hash")
	require.Equal(t, hashOf("a"), kept.Update.Hash)
}

// A single agent that edits the work of its cluster does not decide which hash the template has: neither that of the update revision, so that
// the template would go to all clusters as a repair, nor another one.
func TestOneWorkNamesNoHash(t *testing.T) {
	claims := func(hash string) work.Work { return rt.Work("c3", rt.AtRevision(hash), holds("b")) }
	for name, tc := range map[string]struct {
		works []work.Work
		hash  string
	}{
		"one of three has the template":          {works: []work.Work{ours("c1", "a"), ours("c2", "a"), claims(hashOf("a"))}, hash: hashOf("b")},
		"one of two":                             {works: []work.Work{ours("c1", "a"), claims(hashOf("a"))}, hash: hashOf("b")},
		"all but one have it, from another hub":  {works: []work.Work{ours("c1", "a"), rt.Work("c2", rt.AtRevision("older"), holds("b")), claims("older")}, hash: "older"},
		"one of two with a hash of another hub":  {works: []work.Work{rt.Work("c2", rt.AtRevision("older"), holds("a")), claims("older")}, hash: hashOf("b")},
		"one beside works of a handover":         {works: []work.Work{rt.Work("c1", rt.AtRevision("older"), combined), claims("older")}, hash: "older"},
		"a work that was accepted as another is": {works: []work.Work{rt.Work("c1", rt.AtRevision("older"), holds("c"), acceptedAs("b"))}, hash: "older"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", names("a", "a"))
			v.NoHistory, v.Works = true, tc.works
			require.Equal(t, tc.hash, step(t, lifecycle.Next(v), lifecycle.Proceed).Outcome.Update.Hash)
		})
	}
}

// combined makes a work one that has objects of two revisions.
func combined(w *work.Work) {
	w.Digest, w.Combined = "both", &handover.Combined{Digest: "both"}
}

func acceptedAs(value string) rt.WorkOption {
	return func(w *work.Work) { w.AcceptedAs = digestOf(value) }
}

// A retry and an abort by hand are recorded while paused.
func TestPausedRecordsWhatAPersonDoes(t *testing.T) {
	retried := begin(names("a", "b"), "b", ours("c1", "a"))
	retried.Object.Spec.Paused = true
	retried.History = history(object("a", 1, current(0)), object("b", 2, wasAborted(time.Minute)))
	retried.found.Update = retried.Named(hashOf("b"))
	step(t, retried.next(), lifecycle.ClearAborted)

	byHand := begin(abortedAt(time.Minute), "b", ours("c1", "b")).tells(workv1alpha1.ReasonNewRevisionCreated)
	byHand.Object.Spec.Paused = true
	persists := step(t, byHand.next(), lifecycle.PersistStatus)
	require.Equal(t, status.Aborting, persists.Stage)
	require.Empty(t, persists.Plan.Writes)
	require.NotEmpty(t, persists.Plan.Held.Writes)
}

// Why a rollout was aborted is found also where a pause began before the revision recorded it.
func TestPausedAbortHasItsReason(t *testing.T) {
	b := begin(abortedAt(time.Minute), "b", ours("c1", "b", rt.WrittenAt(0))).tells(workv1alpha1.ReasonProgressDeadlineExceeded)
	b.Object.Status.Conditions = append(b.Object.Status.Conditions, b.Object.Status.Conditions[0])
	b.Object.Status.Conditions[1].Type, b.Object.Status.Conditions[1].Reason = workv1alpha1.ConditionPlacementRolledOut, workv1alpha1.ReasonProgressing
	b.Object.Spec.Paused = true
	b.Refs = []placement.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3"))}
	marks := step(t, b.next(), lifecycle.MarkAborted)
	require.Contains(t, marks.Patch.Record.Abort.Reason, "1 of 3 clusters failed (c1)")
}
