package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A lost status is rebuilt, and is neither a retry nor a first rollout (R16).
func TestLostStatus(t *testing.T) {
	v := view("b", status.Revisions{}, object("a", 1, current(0)), object("b", 2, at(workv1alpha1.AnnotationAborted, time.Minute), remembers("a")))
	found := lifecycle.Next(v).Outcome.Revisions
	require.Equal(t, hashOf("a"), found.CurrentRevision)
	require.Equal(t, hashOf("b"), found.UpdateRevision)
	require.Equal(t, metav1.NewTime(rt.At(time.Minute)), *found.AbortedTime)
}

// A status that was lost together with the current revision names that revision, which is rebuilt, and not the one that was current before it
// (R7, R16).
func TestLostStatusAndRevision(t *testing.T) {
	entry := revision.Entry{Digest: digestOf("b"), Created: rt.Epoch, CurrentSince: rt.At(2 * time.Minute)}
	ledger, err := revision.Ledger{hashOf("b"): entry}.Encode()
	require.NoError(t, err)
	v := view("c", status.Revisions{}, object("a", 1, current(0)), object("c", 3, current(time.Minute), annotated(workv1alpha1.AnnotationDigests, ledger)))
	v.Works = []work.Work{ours("c1", "b")}

	step(t, lifecycle.Next(v), lifecycle.ReadSpec)
	rebuilt := step(t, answer(t, v, lifecycle.Answer{Spec: template("b")}), lifecycle.Rebuild)
	require.Equal(t, nameOf("b"), rebuilt.Revision.Name)
	require.Equal(t, rt.At(2*time.Minute).Format(time.RFC3339Nano), rebuilt.Revision.Annotations[workv1alpha1.AnnotationCurrentSince])
	require.Equal(t, hashOf("b"), held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written).Outcome.Revisions.CurrentRevision)
}

// withRemembered are revisions a, which somebody deleted, and b, which remembers it.
func withRemembered(value string, works ...work.Work) *lifecycle.View {
	v := view(value, names("a", "b"), object("b", 2, remembers("a")))
	v.Works = works
	return v
}

// A revision that somebody deleted is rebuilt from what has the digest that was recorded (R7).
func TestDeletedRevision(t *testing.T) {
	v := withRemembered("b", ours("c1", "a"), ours("c2", "b"))
	read := step(t, lifecycle.Next(v), lifecycle.ReadSpec)
	require.Equal(t, "c1", read.Work.Namespace)
	rebuilt := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Rebuild)
	require.Equal(t, nameOf("a"), rebuilt.Revision.Name)
	require.EqualValues(t, 1, rebuilt.Revision.Revision, "it was there before b")
	require.Equal(t, rt.Epoch.Format(time.RFC3339Nano), rebuilt.Revision.Annotations[workv1alpha1.AnnotationFirstCreated], "it keeps its age (R12)")
	require.Contains(t, rebuilt.Revision.Annotations, workv1alpha1.AnnotationCurrentSince)
	require.Equal(t, workv1alpha1.EventRevisionRebuilt, rebuilt.Event.Reason)
	require.Contains(t, rebuilt.Event.Note, "rebuilt revision")
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	fromSpec := step(t, lifecycle.Next(withRemembered("a")), lifecycle.Rebuild)
	require.Equal(t, nameOf("a"), fromSpec.Revision.Name)
}

// What has another content takes no deleted revision's place, also where a work has its hash (R7).
func TestForgedContent(t *testing.T) {
	forged := ours("c1", "a")
	forged.Digest = digestOf("z")
	step(t, lifecycle.Next(withRemembered("b", forged)), lifecycle.ReadLive)

	lies := withRemembered("b", ours("c1", "a"))
	step(t, answer(t, lies, lifecycle.Answer{Spec: template("z")}), lifecycle.ReadLive)

	unselected := withRemembered("b", ours("c9", "a"))
	step(t, lifecycle.Next(unselected), lifecycle.ReadLive)

	forgotten := view("b", names("a", "b"), object("b", 2))
	forgotten.Works = []work.Work{ours("c1", "a"), ours("c2", "a")}
	step(t, lifecycle.Next(forgotten), lifecycle.ReadLive)

	label := view("b", names("", "b"), object("b", 2, remembers()))
	label.Works = []work.Work{ours("c1", "x")}
	step(t, lifecycle.Next(label), lifecycle.Proceed)
}

// The update revision is what the spec holds where nothing is recorded of it, and its rollout goes on (R7).
func TestDeletedUpdateRevision(t *testing.T) {
	v := view("b", names("a", "b"), object("a", 1, current(0)))
	rebuilt := step(t, lifecycle.Next(v), lifecycle.Rebuild)
	require.Equal(t, nameOf("b"), rebuilt.Revision.Name)
	require.EqualValues(t, 2, rebuilt.Revision.Revision)
	require.Contains(t, rebuilt.Revision.Annotations[workv1alpha1.AnnotationDigests], digestOf("a"))

	other := view("c", names("", "b"))
	other.Works = []work.Work{ours("c1", "b")}
	step(t, lifecycle.Next(other), lifecycle.ReadLive)

	byAnotherHash := view("b", status.Revisions{UpdateRevision: "other"})
	byAnotherHash.Works = []work.Work{rt.Work("c1", rt.AtRevision("other"), holds("b"))}
	require.Equal(t, "web-other", step(t, lifecycle.Next(byAnotherHash), lifecycle.Rebuild).Revision.Name)

	known := view("c", names("", "b"))
	known.Works, known.Memory.Unrecorded = []work.Work{ours("c1", "b")}, map[string]revision.Digest{hashOf("b"): digestOf("b")}
	step(t, lifecycle.Next(known), lifecycle.ReadSpec)
}

// A revision that can't be rebuilt: the rollout goes on without it where it is not today's.
func TestRebuildFails(t *testing.T) {
	refused := lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}
	current := withRemembered("a")
	goesOn := answer(t, current, refused)
	require.Equal(t, errQuota, goesOn.Outcome.Problems[0].Failed.Err)
	step(t, goesOn, lifecycle.Create)

	update := step(t, answer(t, view("b", names("b", "b")), refused), lifecycle.Proceed)
	require.True(t, update.Outcome.Pending, "under a new hash it would be another rollout (R1)")
	require.True(t, update.Outcome.TemplateHeld)
}

// A revision that lost its labels is found by its name, and gets them back.
func TestLostLabels(t *testing.T) {
	unlabelled := object("a", 1)
	unlabelled.Labels = nil
	gone := func() *lifecycle.View { return withRemembered("b") }

	v := gone()
	require.Equal(t, nameOf("a"), step(t, lifecycle.Next(v), lifecycle.ReadLive).Name)
	relabel := step(t, answer(t, v, lifecycle.Answer{Object: unlabelled}), lifecycle.Relabel)
	require.Equal(t, map[string]string{workv1alpha1.LabelControllerHash: hashOf("a"), workv1alpha1.LabelReplicaSet: rt.Owner}, relabel.Patch.Labels)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = gone()
	answer(t, v, lifecycle.Answer{Object: unlabelled})
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)

	step(t, answer(t, gone(), lifecycle.Answer{Result: lifecycle.Missing}), lifecycle.Proceed)
	step(t, answer(t, gone(), lifecycle.Answer{Object: object("a", 1, foreign)}), lifecycle.Proceed)
	require.Len(t, step(t, answer(t, gone(), lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Proceed).Outcome.Problems, 1)

	v = withRemembered("a")
	step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Exists}), lifecycle.ReadLive)
}

// Several are missing, and one of them can't be written: the pass ends, and the error is retried.
func TestRebuildsOneOfTwo(t *testing.T) {
	v := view("b", names("a", "b"), object("c", 3, remembers("a", "b")))
	v.Works = []work.Work{ours("c1", "a")}
	for {
		next := lifecycle.Next(v)
		if next.Action == lifecycle.ReadSpec {
			answer(t, v, lifecycle.Answer{Spec: template("a")})
			continue
		}
		step(t, next, lifecycle.Rebuild)
		break
	}
	second := step(t, answer(t, v, lifecycle.Answer{}), lifecycle.Rebuild)
	require.NotEmpty(t, second.Key)
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)
}

// Revision a has number 0, and all revisions above it were deleted. A rebuilt revision also gets number 0. It counts as older than a,
// although its object is created later, because it existed before a (R7).
func TestRebuiltBelowZero(t *testing.T) {
	later := func(o *appsv1.ControllerRevision) { o.CreationTimestamp = metav1.NewTime(rt.At(time.Minute)) }
	v := view("a", names("", "a"), object("a", 0, remembers("b")), object("b", 0, later))
	v.Works = []work.Work{ours("c1", "b")}
	require.Equal(t, nameOf("a"), step(t, lifecycle.Next(v), lifecycle.Remember).Revision.Name, "the newest one remembers the others")

	v = view("b", names("", "a"), object("a", 0, remembers("b")), object("b", 0, later))
	undo := step(t, lifecycle.Next(v), lifecycle.Renumber)
	require.Equal(t, nameOf("b"), undo.Revision.Name)
	require.EqualValues(t, 1, undo.Patch.Number, "the template's revision has the largest number (R3)")
}
