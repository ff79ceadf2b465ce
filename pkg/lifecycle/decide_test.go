package lifecycle_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A template without a revision gets one, with the next higher number. The record does not mention a rollout: a crash after this write
// does not turn the rollout into an undo.
func TestNewTemplate(t *testing.T) {
	first := step(t, lifecycle.Decide(view("a", ledger.Ledger{})), lifecycle.Create)
	require.EqualValues(t, 1, first.Revision.Revision)
	require.Equal(t, nameOf("a"), first.Revision.Name)
	require.Equal(t, revision.Record{}, revision.RecordOf(first.Revision))
	require.NotContains(t, first.Revision.Annotations, workv1alpha1.AnnotationLedger)
	require.Equal(t, workv1alpha1.EventRevisionCreated, first.Event.Reason)

	v := view("b", decided("a", "a"), object("a", 4))
	v.Object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "argocd", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:manifestWorkTemplate":{}}}`)}}}
	next := step(t, lifecycle.Decide(v), lifecycle.Create)
	require.EqualValues(t, 5, next.Revision.Revision)
	require.Equal(t, revision.Record{CreatedBy: "argocd"}, revision.RecordOf(next.Revision))
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	conflicted := view("a", ledger.Ledger{})
	held(t, answer(t, conflicted, lifecycle.Answer{Result: lifecycle.Conflicted}), lifecycle.Refused)
}

// A template with the newest revision is rolled out, regardless of the ledger.
func TestTemplateHasTheNewestRevision(t *testing.T) {
	for name, before := range map[string]ledger.Ledger{
		"it is rolled out":              decided("a", "b"),
		"nothing is decided about it":   decided("a", "a"),
		"it is aborted":                 aborted("a", "b", 0),
		"the hub was killed at the end": {},
	} {
		v := view("b", before, object("a", 1), object("b", 2))
		found := proceeds(t, lifecycle.Decide(v))
		require.Equal(t, hashOf("b"), found.Update.Hash, name)
	}
}

// If the revision can't be written, nothing new is rolled out, and the previous rollout continues.
func TestRevisionThatCannotBeWritten(t *testing.T) {
	refused := lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}
	none := held(t, answer(t, view("a", ledger.Ledger{}), refused), lifecycle.InvalidSpec)
	require.Equal(t, errQuota, none.Problem.Failed.Err)
	require.Equal(t, "; until then nothing new is rolled out", none.Problem.Text)
	require.True(t, none.Pending)

	before := proceeds(t, answer(t, view("b", decided("", "a"), object("a", 1)), refused))
	require.True(t, before.TemplateHeld)
	require.Equal(t, hashOf("a"), before.Update.Hash)
	require.Len(t, before.Problems, 1)
	require.False(t, answer(t, view("b", aborted("", "a", 0), object("a", 1)), refused).TemplateHeld, "an abort is finished")
}

// The name is already taken. If the object is not the template's revision, the ledger counts a collision before the next name is tried.
func TestNameIsTaken(t *testing.T) {
	exists := func(before ledger.Ledger) *lifecycle.Observation {
		v := view("a", before)
		step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Exists}), lifecycle.ReadLive)
		return v
	}
	lost := object("a", 1)
	delete(lost.Labels, workv1alpha1.LabelControllerHash)
	v := exists(ledger.Ledger{})
	relabel := step(t, answer(t, v, lifecycle.Answer{Object: lost}), lifecycle.Relabel)
	require.Equal(t, object("a", 1).Labels, relabel.Patch.Labels)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = exists(ledger.Ledger{})
	step(t, answer(t, v, lifecycle.Answer{Object: object("a", 1)}), lifecycle.Await)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	another := object("b", 1)
	another.Name = nameOf("a")
	for why, taken := range map[string]lifecycle.Answer{
		"does not belong to this object":            {Object: object("a", 1, foreign)},
		"holds no template":                         {Object: object("a", 1, broken)},
		"holds another template with the same hash": {Object: another},
	} {
		v = exists(ledger.Ledger{})
		bump := held(t, answer(t, v, taken), lifecycle.Decided)
		require.EqualValues(t, 1, bump.Ledger.Collisions)
		require.Contains(t, notes(bump), why)
		require.Contains(t, notes(bump), "gets another name")
		require.Zero(t, v.Before.Collisions)
		next := lifecycle.Decide(view("a", bump.Ledger))
		require.NotEqual(t, nameOf("a"), step(t, next, lifecycle.Create).Revision.Name)
	}
	for _, refused := range []lifecycle.Result{lifecycle.Failed, lifecycle.Missing} {
		v = exists(ledger.Ledger{})
		held(t, answer(t, v, lifecycle.Answer{Result: refused, Err: errQuota}), lifecycle.InvalidSpec)
	}
	v = exists(ledger.Ledger{})
	step(t, answer(t, v, lifecycle.Answer{Object: lost}), lifecycle.Relabel)
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.InvalidSpec)
}

// If a template returns, its revision becomes the newest. The record of its last rollout stays until its new rollout begins.
func TestUndo(t *testing.T) {
	v := view("a", decided("b", "b", "a"), object("a", 1, amended(began), amended(wasAborted)), object("b", 2))
	undo := step(t, lifecycle.Decide(v), lifecycle.Renumber)
	require.EqualValues(t, 3, undo.Patch.Number)
	require.Equal(t, nameOf("a"), undo.Revision.Name)
	require.Equal(t, rt.At(0), undo.Patch.Record.Began)
	require.NotNil(t, undo.Patch.Record.Abort)
	require.Empty(t, undo.Patch.Ledger)
	require.Equal(t, workv1alpha1.EventRevisionFound, undo.Event.Reason)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = view("a", decided("b", "b", "a"), object("a", 1), object("b", 2))
	refused := proceeds(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Rejected, Err: errQuota}))
	require.True(t, refused.TemplateHeld)
	require.Equal(t, hashOf("b"), refused.Update.Hash)
}

// The return of a template whose revision was pruned is still an undo, and has no change cause of its own.
func TestPrunedRevisionReturns(t *testing.T) {
	look := func(before ledger.Ledger) *lifecycle.Observation {
		c := object("c", 3)
		c.Annotations[workv1alpha1.AnnotationChangeCause] = "image 3"
		v := view("a", before, c)
		v.Object.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: "image 3"}
		return v
	}
	back := step(t, lifecycle.Decide(look(decided("c", "c", "b", "a"))), lifecycle.Create).Revision
	require.NotContains(t, back.Annotations, workv1alpha1.AnnotationChangeCause)
	require.Equal(t, "image 3", *revision.RecordOf(back).CauseSeen)
	unknown := step(t, lifecycle.Decide(look(decided("c", "c", "b"))), lifecycle.Create).Revision
	require.Equal(t, "image 3", unknown.Annotations[workv1alpha1.AnnotationChangeCause])

	v := look(decided("c", "c", "b", "a"))
	v.History = history(object("c", 3), object("a", 4))
	require.Equal(t, ledger.Returned, begin(v).Ledger.Begun.How)
}

// The revision that is rolled out keeps its hash if it is recreated, and its rollout continues. A deleted stable revision stays deleted.
func TestDeletedRevisions(t *testing.T) {
	before := decided("a", "b")
	before.Update.Hash = "older" // Another binary computed it.
	v := view("b", before, object("a", 1))
	require.Equal(t, revision.Name(rt.OwnerName, "older"), step(t, lifecycle.Decide(v), lifecycle.ReadLive).Name)
	again := step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Missing}), lifecycle.Create)
	require.Equal(t, revision.Name(rt.OwnerName, "older"), again.Revision.Name)

	v = view("b", decided("a", "b"), object("b", 2))
	v.Notes.Works = []work.Work{ours("c1", "a"), ours("c2", "b")}
	require.Equal(t, nameOf("a"), step(t, lifecycle.Decide(v), lifecycle.ReadLive).Name)
	found := proceeds(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Missing}))
	require.Equal(t, named("a"), found.Ledger.Current)
	require.Empty(t, found.Problems)

	v = view("b", decided("a", "b"), object("b", 2))
	require.Len(t, proceeds(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota})).Problems, 1)

	lost := object("a", 1)
	lost.Labels = nil
	v = view("b", decided("a", "b"), object("b", 2))
	relabel := step(t, answer(t, v, lifecycle.Answer{Object: lost}), lifecycle.Relabel)
	require.Equal(t, map[string]string{
		workv1alpha1.LabelControllerHash: hashOf("a"), workv1alpha1.LabelReplicaSet: rt.Owner,
	}, relabel.Patch.Labels)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)
	v = view("b", decided("a", "b"), object("b", 2))
	proceeds(t, answer(t, v, lifecycle.Answer{Object: object("a", 1, foreign)}))
}

// An unreadable revision is reported. An unreadable stable revision is a problem, because no rollout can be aborted.
func TestUnreadableRevisions(t *testing.T) {
	v := view("b", decided("a", "b"), object("a", 1, broken), object("b", 2), object("c", 3, broken), object("d", 4, broken), object("b", 9))
	v.History.Ignored = []string{"ControllerRevision web-x is ignored"}
	v.Notes.Works = []work.Work{ours("c1", "c")}
	found := lifecycle.Decide(v)
	require.Len(t, found.Problems, 1)
	require.Contains(t, found.Problems[0].Text, nameOf("a"))
	require.Len(t, found.Events, 3)
	for _, event := range found.Events {
		require.True(t, event.Once)
		require.Equal(t, workv1alpha1.EventRevisionIgnored, event.Reason)
	}
}

// A template that no agent could apply starts nothing.
func TestInvalidTemplate(t *testing.T) {
	empty := held(t, lifecycle.Decide(view("", ledger.Ledger{})), lifecycle.InvalidSpec)
	require.Contains(t, empty.Problem.Text, "spec.manifestWorkTemplate.workload.manifests is empty")

	crowded := view("a", ledger.Ledger{})
	template := &crowded.Object.Spec.ManifestWorkTemplate
	for len(template.Workload.Manifests) <= 500 {
		template.Workload.Manifests = append(template.Workload.Manifests, template.Workload.Manifests[0])
	}
	template.ManifestConfigs = make([]workv1.ManifestConfigOption, 500)
	require.Contains(t, held(t, lifecycle.Decide(crowded), lifecycle.InvalidSpec).Problem.Text,
		"spec.manifestWorkTemplate.manifestConfigs: 500 manifestConfigs for 501 manifests are more than are compared: their product is limited to 250000")
	stored := view("a", aborted("", "a", 0), object("a", 1))
	stored.Object.Spec = crowded.Object.Spec
	abort := proceeds(t, lifecycle.Decide(stored))
	require.False(t, abort.TemplateHeld, "an abort of an object that is stored like that is carried out")
	require.Len(t, abort.Problems, 1)

	unreadable := view("a", ledger.Ledger{})
	unreadable.TemplateErr = errors.New("workload.manifests[0] is no object")
	require.Equal(t, "spec.manifestWorkTemplate.workload.manifests[0] is no object: write each manifest as a Kubernetes object",
		held(t, lifecycle.Decide(unreadable), lifecycle.InvalidSpec).Problem.Text)

	before := proceeds(t, lifecycle.Decide(view("", decided("", "a"), object("a", 1))))
	require.True(t, before.TemplateHeld)
	require.False(t, before.Pending)
}

// An unreadable spec is reported. An abort continues if the Placements are known.
func TestUnreadableSpec(t *testing.T) {
	look := func(before ledger.Ledger, known bool) lifecycle.Decision {
		v := view("b", before, object("a", 1), object("b", 2))
		v.Unreadable, v.PlacementsKnown = errors.New("spec.x: no number"), known
		return lifecycle.Decide(v)
	}
	require.Contains(t, held(t, look(decided("a", "b"), true), lifecycle.InvalidSpec).Problem.Text, "spec.x: no number; correct the field")
	require.Equal(t, hashOf("b"), proceeds(t, look(aborted("a", "b", 0), true)).Update.Hash)
	held(t, look(aborted("a", "b", 0), false), lifecycle.InvalidSpec)
}

func TestLongOwnerLabel(t *testing.T) {
	v := view("a", ledger.Ledger{})
	for range workv1alpha1.MaxOwnerLabelLength {
		v.Owner += "x"
	}
	held(t, lifecycle.Decide(v), lifecycle.InvalidOwnerLabel)
	v.OwnerHash = true
	require.NotEqual(t, lifecycle.InvalidOwnerLabel, lifecycle.Decide(v).End)
}

// A template that is edited during a pause does not become a revision before the pause ends, and the update revision stays. A new object
// gets its first revision.
func TestPausedTemplateWaits(t *testing.T) {
	a, b := object("a", 1), object("b", 2)
	for name, tc := range map[string]struct {
		view    *lifecycle.Observation
		update  string
		differs bool
	}{
		"nothing is edited": {view: view("a", decided("a", "a"), a), update: "a"},
		"a new template":    {view: view("b", decided("a", "a"), a), update: "a", differs: true},
		"the hub was killed after it made the revision":   {view: view("b", decided("a", "a"), a, b), update: "a", differs: true},
		"and the template goes back to the revision then": {view: view("a", decided("a", "a"), a, b), update: "a"},
		"the update revision is gone":                     {view: view("a", decided("a", "b"), a), update: "b", differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.view.Object.Spec.Paused = true
			if name == "the update revision is gone" {
				answer(t, tc.view, lifecycle.Answer{Result: lifecycle.Missing})
			}
			last := proceeds(t, lifecycle.Decide(tc.view))
			require.Equal(t, hashOf(tc.update), last.Update.Hash)
			require.Equal(t, tc.differs, last.TemplatePending)
			require.False(t, last.TemplateHeld || last.Pending)
			require.Equal(t, tc.view.Before.Update, last.Ledger.Update)
			require.True(t, last.Snapshot.Paused)
		})
	}
	first := view("a", ledger.Ledger{})
	first.Object.Spec.Paused = true
	require.Equal(t, nameOf("a"), step(t, lifecycle.Decide(first), lifecycle.Create).Revision.Name)
}

// Without a history, the works have the template's hash: the hash in the ledger, the hash of the works that hold the template, or a new
// one. A single agent, which can edit the work of its cluster, can't determine the hash.
func TestTemplateOnWorks(t *testing.T) {
	claims := func(cluster, hash, value string) work.Work {
		return rt.Work(cluster, rt.AtRevision(hash), holds(value))
	}
	older := decided("a", "b")
	older.Update.Hash = "older"
	for name, tc := range map[string]struct {
		before ledger.Ledger
		works  []work.Work
		hash   string
	}{
		"at first":                               {hash: hashOf("b")},
		"it is rolled out":                       {before: older, hash: "older"},
		"one of three has it":                    {before: decided("a", "a"), works: []work.Work{ours("c1", "a"), ours("c2", "a"), claims("c3", hashOf("a"), "b")}, hash: hashOf("b")},
		"all but one have it, from another hub":  {before: decided("a", "a"), works: []work.Work{ours("c1", "a"), claims("c2", "older", "b"), claims("c3", "older", "b")}, hash: "older"},
		"one of two with the hash":               {before: decided("a", "a"), works: []work.Work{claims("c2", "older", "a"), claims("c3", "older", "b")}, hash: hashOf("b")},
		"a work that was accepted as the one is": {works: []work.Work{rt.Work("c1", rt.AtRevision("older"), holds("c"), func(w *work.Work) { w.AcceptedAs = digestOf("b") })}, hash: "older"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", tc.before)
			v.NoHistory, v.Notes.Works = true, tc.works
			found := proceeds(t, lifecycle.Decide(v))
			require.Equal(t, tc.hash, found.Update.Hash)
			require.Equal(t, digestOf("b"), found.Update.Digest)
		})
	}
	edited := view("b", decided("", "a"))
	edited.NoHistory, edited.Object.Spec.Paused = true, true
	last := proceeds(t, lifecycle.Decide(edited))
	require.Equal(t, hashOf("a"), last.Update.Hash)
	require.True(t, last.TemplatePending)
}

// The revisions that the ledger and the works name are never pruned.
func TestLiveHashes(t *testing.T) {
	v := view("b", decided("a", "b"))
	kept := ours("c4", "c", rt.Annotated(workv1alpha1.AnnotationKeptRevision, hashOf("d")))
	v.Notes.Works = []work.Work{ours("c1", "b"), ours("c2", "b"), theirs("c3", "z"), kept}
	l := v.Before
	require.ElementsMatch(t, []string{hashOf("a"), hashOf("b"), hashOf("c")}, v.LiveHashes(&l).UnsortedList())
	v.Object.Spec.PruneStrategy = workv1alpha1.PruneWhenAvailable
	require.True(t, v.LiveHashes(&l).Has(hashOf("d")))
	require.False(t, v.LiveHashes(&ledger.Ledger{}).Has(""))
}
