package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// paused is a view of an object that is paused.
func paused(value string, revisions status.Revisions, objects ...*appsv1.ControllerRevision) *plan.View {
	v := view(value, revisions, objects...)
	v.Object.Spec.Paused = true
	return v
}

// A template that is edited while paused becomes no revision, and the update revision stays (R23).
func TestPausedTemplateWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		view    *plan.View
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
			last := step(t, plan.Next(tc.view), plan.Proceed)
			require.Equal(t, hashOf(tc.update), last.Outcome.Update.Hash)
			require.Equal(t, tc.differs, last.Outcome.Differs)
			require.False(t, last.Outcome.Held)
			require.False(t, last.Outcome.Pending)
			begun := plan.Begin(tc.view, last.Outcome)
			require.Equal(t, tc.differs, begun.Outcome.Differs)
			require.Equal(t, hashOf(tc.update), begun.Outcome.Revisions.UpdateRevision)
			require.True(t, begun.Outcome.Snapshot.Paused)
		})
	}
}

// An object that is seen for the first time gets its first revision while paused, and what another hub left is recorded before that (R6, R23).
func TestPausedAtFirstSight(t *testing.T) {
	require.Equal(t, nameOf("a"), step(t, plan.Next(paused("a", status.Revisions{})), plan.Create).Revision.Name)

	older := paused("b", status.Revisions{}, object("a", 1, at(workv1alpha1.AnnotationRecorded, 0), current(0)))
	older.Works = []rollout.Work{theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "b")}
	next := answer(t, older, plan.Answer{Spec: template("a")})
	require.Equal(t, nameOf("b"), step(t, next, plan.Create).Revision.Name)
}

// A live revision that somebody deletes while paused is rebuilt (R7, R23).
func TestPausedRebuilds(t *testing.T) {
	v := paused("c", names("a", "b"), object("b", 2, remembers("a")))
	v.Works = []rollout.Work{ours("c1", "a")}
	asked := step(t, plan.Next(v), plan.ReadSpec)
	v.Answers = append(v.Answers, plan.Answer{Key: asked.Key, Result: plan.Done, Spec: template("a")})
	require.Equal(t, nameOf("a"), step(t, plan.Next(v), plan.Rebuild).Revision.Name)
}

// Without a history the works have the hashes, and the update revision stays too (R23).
func TestPausedWithoutHistory(t *testing.T) {
	without := func(value, update string) *plan.View {
		v := paused(value, names("", update))
		v.NoHistory = true
		return v
	}
	first := step(t, plan.Next(without("a", "")), plan.Proceed)
	require.Equal(t, hashOf("a"), first.Outcome.Update.Hash)

	same := step(t, plan.Next(without("a", "a")), plan.Proceed)
	require.Equal(t, digestOf("a"), same.Outcome.Update.Digest)
	require.False(t, same.Outcome.Differs)

	edited := without("b", "a")
	last := step(t, plan.Next(edited), plan.Proceed)
	require.Equal(t, hashOf("a"), last.Outcome.Update.Hash)
	require.True(t, last.Outcome.Differs)
	require.Equal(t, revision.Digest("gone"), last.Outcome.Update.Digest, "what it holds is not known")

	edited.History = history(object("a", 1))
	require.Equal(t, digestOf("a"), plan.Next(edited).Outcome.Update.Digest, "it could be read before")

	other := without("b", "a")
	other.Memory.Unrecorded = map[string]revision.Digest{hashOf("a"): digestOf("b")}
	kept := plan.Next(other).Outcome
	require.False(t, kept.Differs, "it was rolled out under that hash")
	require.Equal(t, hashOf("a"), kept.Update.Hash)
}

// A single agent that edits the work of its cluster does not decide which hash the template has: neither that of the update revision, so that
// the template would go to all clusters as a repair, nor another one (R1, P1).
func TestOneWorkNamesNoHash(t *testing.T) {
	claims := func(hash string) rollout.Work { return rt.Work("c3", rt.Bears(hash), holds("b")) }
	for name, tc := range map[string]struct {
		works []rollout.Work
		hash  string
	}{
		"one of three has the template":          {works: []rollout.Work{ours("c1", "a"), ours("c2", "a"), claims(hashOf("a"))}, hash: hashOf("b")},
		"one of two":                             {works: []rollout.Work{ours("c1", "a"), claims(hashOf("a"))}, hash: hashOf("b")},
		"all but one have it, from another hub":  {works: []rollout.Work{ours("c1", "a"), rt.Work("c2", rt.Bears("older"), holds("b")), claims("older")}, hash: "older"},
		"one of two with a hash of another hub":  {works: []rollout.Work{rt.Work("c2", rt.Bears("older"), holds("a")), claims("older")}, hash: hashOf("b")},
		"one beside works of a handover":         {works: []rollout.Work{rt.Work("c1", rt.Bears("older"), combined), claims("older")}, hash: "older"},
		"a work that was accepted as another is": {works: []rollout.Work{rt.Work("c1", rt.Bears("older"), holds("c"), acceptedAs("b"))}, hash: "older"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", names("a", "a"))
			v.NoHistory, v.Works = true, tc.works
			require.Equal(t, tc.hash, step(t, plan.Next(v), plan.Proceed).Outcome.Update.Hash)
		})
	}
}

// combined makes a work one that has objects of two revisions.
func combined(w *rollout.Work) {
	w.Digest, w.Combined = "both", &handover.Combined{Digest: "both"}
}

func acceptedAs(value string) rt.WorkOption {
	return func(w *rollout.Work) { w.AcceptedAs = digestOf(value) }
}

// A retry and an abort by hand are recorded while paused (R12, R24).
func TestPausedRecordsWhatAPersonDoes(t *testing.T) {
	retried := begin(names("a", "b"), "b", ours("c1", "a"))
	retried.Object.Spec.Paused = true
	retried.History = history(object("a", 1, current(0)), object("b", 2, at(workv1alpha1.AnnotationAborted, time.Minute)))
	retried.found.Update = retried.Named(hashOf("b"))
	step(t, retried.next(), plan.ClearAborted)

	byHand := begin(abortedAt(time.Minute), "b", ours("c1", "b")).tells(workv1alpha1.ReasonNewRevisionCreated)
	byHand.Object.Spec.Paused = true
	persists := step(t, byHand.next(), plan.PersistStatus)
	require.Equal(t, status.Aborting, persists.Stage)
	require.Empty(t, persists.Plan.Writes)
	require.NotEmpty(t, persists.Plan.Held.Writes)
}

// Why a rollout was aborted is found also where a pause began before the revision recorded it (R16, R24).
func TestPausedAbortHasItsReason(t *testing.T) {
	b := begin(abortedAt(time.Minute), "b", ours("c1", "b", rt.WrittenAt(0))).tells(workv1alpha1.ReasonProgressDeadlineExceeded)
	b.Object.Status.Conditions = append(b.Object.Status.Conditions, b.Object.Status.Conditions[0])
	b.Object.Status.Conditions[1].Type, b.Object.Status.Conditions[1].Reason = workv1alpha1.ConditionPlacementRolledOut, workv1alpha1.ReasonProgressing
	b.Object.Spec.Paused = true
	b.Refs = []rollout.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3"))}
	marks := step(t, b.next(), plan.MarkAborted)
	require.Contains(t, marks.Patch.Annotations[workv1alpha1.AnnotationAbortReason], "1 of 3 clusters failed (c1)")
}
