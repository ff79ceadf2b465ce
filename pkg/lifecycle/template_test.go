package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

var errQuota = errors.New("quota exceeded")

// A template without a revision gets one, with the number after the largest.
func TestNewTemplate(t *testing.T) {
	first := step(t, lifecycle.Next(view("a", status.Revisions{})), lifecycle.Create)
	require.EqualValues(t, 1, first.Revision.Revision)
	require.Equal(t, nameOf("a"), first.Revision.Name)
	require.Equal(t, revision.Others{}, recordOf(first.Revision).Others)
	require.Equal(t, workv1alpha1.EventRevisionCreated, first.Event.Reason)

	next := step(t, lifecycle.Next(view("b", names("a", "a"), object("a", 4, current(0)))), lifecycle.Create)
	require.EqualValues(t, 5, next.Revision.Revision)
	require.Equal(t, digestOf("a"), recordOf(next.Revision).Others[hashOf("a")].Digest, "it remembers the others from the start (R7)")
	require.Zero(t, recordOf(next.Revision).Reused)

	held(t, answer(t, view("a", status.Revisions{}), lifecycle.Answer{}), lifecycle.Written)
	held(t, answer(t, view("a", status.Revisions{}), lifecycle.Answer{Result: lifecycle.Conflicted}), lifecycle.Refused)
}

// Where the revision can't be written, nothing new is rolled out, and what was under way goes on.
func TestRevisionThatCannotBeWritten(t *testing.T) {
	refused := lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}
	none := held(t, answer(t, view("a", status.Revisions{}), refused), lifecycle.InvalidSpec)
	require.Equal(t, errQuota, none.Problem.Failed.Err)
	require.Equal(t, "; until then nothing new is rolled out", none.Problem.Text)
	require.True(t, none.Outcome.Pending)

	before := step(t, answer(t, view("b", names("", "a"), object("a", 1)), refused), lifecycle.Proceed)
	require.True(t, before.Outcome.TemplateHeld)
	require.Equal(t, hashOf("a"), before.Outcome.Update.Hash)
	require.Len(t, before.Outcome.Problems, 1)

	aborted := names("", "a")
	aborted.AbortedTime = &metav1.Time{Time: rt.Epoch}
	require.False(t, answer(t, view("b", aborted, object("a", 1)), refused).Outcome.TemplateHeld, "an abort is finished")
}

// Something has the name already.
func TestNameIsTaken(t *testing.T) {
	exists := func() *lifecycle.View {
		v := view("a", status.Revisions{})
		step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Exists}), lifecycle.ReadLive)
		return v
	}
	lost := object("a", 1)
	delete(lost.Labels, workv1alpha1.LabelControllerHash)

	v := exists()
	relabel := step(t, answer(t, v, lifecycle.Answer{Object: lost}), lifecycle.Relabel)
	require.Equal(t, object("a", 1).Labels, relabel.Patch.Labels)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = exists()
	step(t, answer(t, v, lifecycle.Answer{Object: object("a", 1)}), lifecycle.Await)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	for name, taken := range map[string]lifecycle.Answer{
		"is not this object's":                     {Object: object("a", 1, foreign)},
		"holds no template":                        {Object: object("a", 1, broken)},
		"holds another template with the same has": {Object: named(object("b", 1), nameOf("a"))},
	} {
		v = exists()
		bump := step(t, answer(t, v, taken), lifecycle.BumpCollision)
		require.EqualValues(t, 1, bump.Collisions)
		require.Contains(t, bump.Why, name)
		require.Contains(t, bump.Why, "gets another name")
		require.Equal(t, bump.Why, bump.Outcome.Events[0].Note)
		held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)
	}
	v = exists()
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.InvalidSpec)
	v = exists()
	step(t, answer(t, v, lifecycle.Answer{Object: lost}), lifecycle.Relabel)
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.InvalidSpec)
}

// A template that came back makes its revision the newest.
func TestUndo(t *testing.T) {
	v := view("a", names("b", "b"), object("a", 1, current(0), wasAborted(1)), object("b", 2, current(1)))
	undo := step(t, lifecycle.Next(v), lifecycle.Renumber)
	require.EqualValues(t, 3, undo.Patch.Number)
	require.Equal(t, nameOf("a"), undo.Revision.Name)
	require.Zero(t, undo.Patch.Record.Abort, "that was another rollout")
	require.Equal(t, rt.At(1e9*3600), undo.Patch.Record.Reused)
	require.Equal(t, workv1alpha1.EventRevisionFound, undo.Event.Reason)
	require.Equal(t, digestOf("b"), undo.Patch.Record.Others[hashOf("b")].Digest)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)
}

// A template that comes back to the current revision, which somebody deleted, is an undo like any other (P3).
func TestReturnToADeletedRevision(t *testing.T) {
	v := view("a", names("a", "b"), object("b", 2))
	v.Answers = []lifecycle.Answer{{Key: "look for " + nameOf("a"), Result: lifecycle.Missing}}
	back := step(t, lifecycle.Next(v), lifecycle.Create)
	require.NotZero(t, recordOf(back.Revision).Reused)
	require.NotZero(t, recordOf(back.Revision).CurrentSince)
}

// A template that no agent could apply starts nothing.
func TestInvalidTemplate(t *testing.T) {
	empty := held(t, lifecycle.Next(view("", status.Revisions{})), lifecycle.InvalidSpec)
	require.Contains(t, empty.Problem.Text, "spec.manifestWorkTemplate.workload.manifests is empty")

	crowded := view("a", status.Revisions{})
	template := &crowded.Object.Spec.ManifestWorkTemplate
	for len(template.Workload.Manifests) <= 500 {
		template.Workload.Manifests = append(template.Workload.Manifests, template.Workload.Manifests[0])
	}
	template.ManifestConfigs = make([]workv1.ManifestConfigOption, 500)
	require.Contains(t, held(t, lifecycle.Next(crowded), lifecycle.InvalidSpec).Problem.Text,
		"spec.manifestWorkTemplate.manifestConfigs: 500 manifestConfigs for 501 manifests are more than are compared: their product is limited to 250000")
	aborting := names("", "a")
	aborting.AbortedTime = &metav1.Time{Time: rt.Epoch}
	stored := view("a", aborting, object("a", 1))
	stored.Object.Spec = crowded.Object.Spec
	proceeds := step(t, lifecycle.Next(stored), lifecycle.Proceed)
	require.False(t, proceeds.Outcome.TemplateHeld, "an abort of an object that is stored like that is carried out")
	require.Len(t, proceeds.Outcome.Problems, 1)

	unreadable := view("a", status.Revisions{})
	unreadable.TemplateErr = errors.New("workload.manifests[0] is no object")
	require.Equal(t, "spec.manifestWorkTemplate.workload.manifests[0] is no object: write each manifest as a Kubernetes object",
		held(t, lifecycle.Next(unreadable), lifecycle.InvalidSpec).Problem.Text)

	before := step(t, lifecycle.Next(view("", names("", "a"), object("a", 1))), lifecycle.Proceed)
	require.True(t, before.Outcome.TemplateHeld)
	require.False(t, before.Outcome.Pending)
}

// What can't be read is reported. An abort is carried out where the Placements are known.
func TestUnreadableSpec(t *testing.T) {
	aborted := names("a", "b")
	aborted.AbortedTime = &metav1.Time{Time: rt.Epoch}
	look := func(revisions status.Revisions, known bool) lifecycle.Step {
		v := view("b", revisions, object("a", 1, current(0)), object("b", 2, wasAborted(0)))
		v.Unreadable, v.PlacementsKnown = errors.New("spec.x: no number"), known
		return lifecycle.Next(v)
	}
	require.Contains(t, held(t, look(names("a", "b"), true), lifecycle.InvalidSpec).Problem.Text, "spec.x: no number; correct the field")
	require.Equal(t, hashOf("b"), step(t, look(aborted, true), lifecycle.Proceed).Outcome.Update.Hash)
	step(t, look(status.Revisions{}, true), lifecycle.Proceed)
	require.Zero(t, held(t, look(status.Revisions{}, false), lifecycle.InvalidSpec).Outcome.Revisions, "what is not used is not told")
}

func TestLongOwnerLabel(t *testing.T) {
	v := view("a", status.Revisions{})
	for range workv1alpha1.MaxOwnerLabelLength {
		v.Owner += "x"
	}
	held(t, lifecycle.Next(v), lifecycle.InvalidOwnerLabel)
}

// A template that returns after the history limit deleted its revision is an undo: the revision was the current one, when it was created first is
// known, and it has no cause of its own.
func TestPrunedRevisionReturns(t *testing.T) {
	others := revision.Others{hashOf("a"): {Digest: digestOf("a"), Created: rt.Epoch, CurrentSince: rt.At(time.Minute), Former: true}}
	returned := func(current string, changes ...change) *appsv1.ControllerRevision {
		changes = append(changes, amended(func(r *revision.Record) { r.Others = others }), annotated(workv1alpha1.AnnotationChangeCause, "image 3"))
		v := caused(view("a", names(current, "c"), object("c", 3, changes...)), "image 3")
		v.Object.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "argocd", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:manifestWorkTemplate":{}}}`)},
		}}
		return step(t, lifecycle.Next(v), lifecycle.Create).Revision
	}
	created := returned("c", current(2*time.Minute))
	back := recordOf(created)
	require.Equal(t, rt.At(time.Minute), back.CurrentSince)
	require.Equal(t, rt.Epoch, back.FirstCreated)
	require.NotZero(t, back.Reused)
	require.NotContains(t, created.Annotations, workv1alpha1.AnnotationChangeCause)
	require.Equal(t, "image 3", *back.CauseSeen)
	require.Equal(t, "argocd", back.CreatedBy)

	surpassed := recordOf(returned("", surpassedAt(2*time.Minute)))
	require.Zero(t, surpassed.CurrentSince, "no abort goes back to it")
	require.NotZero(t, surpassed.Surpassed)
}
