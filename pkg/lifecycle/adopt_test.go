package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// firstSight is an object that another hub rolled out.
func firstSight(works ...work.Work) *lifecycle.View {
	v := view("b", status.Revisions{})
	v.Works = works
	return v
}

// What another hub rolled out becomes a revision before the template does, and then the current one.
func TestAdopt(t *testing.T) {
	works := []work.Work{theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "b")}
	v := firstSight(works...)
	require.Equal(t, "c1", step(t, lifecycle.Next(v), lifecycle.ReadSpec).Work.Namespace)
	recorded := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Record)
	require.Equal(t, nameOf("a"), recorded.Revision.Name)
	require.NotZero(t, recordOf(recorded.Revision).Recorded)
	require.NotZero(t, recordOf(recorded.Revision).CurrentSince)
	require.Zero(t, recordOf(recorded.Revision).RecordedOn)
	require.Contains(t, recorded.Event.Note, "recorded as revision")
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	unmarked := object("a", 1, recordedAt(0))
	v = view("b", status.Revisions{}, unmarked)
	v.Object.Status.UpdateRevision, v.Works = "", works
	mark := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.MarkCurrent)
	require.Equal(t, nameOf("a"), mark.Revision.Name)

	v = view("b", status.Revisions{}, object("a", 1, recordedAt(0), current(0)))
	v.Object.Status.UpdateRevision, v.Works = "", works
	created := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Create)
	require.Equal(t, hashOf("a"), created.Outcome.Revisions.CurrentRevision)
	require.EqualValues(t, 2, created.Revision.Revision)
}

// Several specs become older revisions, the one on the most clusters last; none of them is the stable one.
func TestAdoptsSeveral(t *testing.T) {
	v := firstSight(theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "c"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	first := step(t, answer(t, v, lifecycle.Answer{Spec: template("c")}), lifecycle.Record)
	require.Equal(t, nameOf("c"), first.Revision.Name)
	require.EqualValues(t, 1, first.Revision.Revision)
	second := step(t, answer(t, v, lifecycle.Answer{}), lifecycle.Record)
	require.EqualValues(t, 2, second.Revision.Revision)
	require.Zero(t, recordOf(second.Revision).CurrentSince)
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)
}

// Where it can't be recorded, the template is not rolled out: nothing would show any more who wrote the works.
func TestAdoptionFails(t *testing.T) {
	refused := lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}
	v := firstSight(theirs("c1", "a"), theirs("c2", "a"))
	unread := held(t, answer(t, v, refused), lifecycle.InvalidSpec)
	require.True(t, unread.Outcome.Pending)

	v = firstSight(theirs("c1", "a"), theirs("c2", "a"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	unwritten := held(t, answer(t, v, refused), lifecycle.InvalidSpec)
	require.Equal(t, "; until then nothing new is rolled out", unwritten.Problem.Text)

	v = firstSight(theirs("c1", "a"), theirs("c2", "a"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	answer(t, v, lifecycle.Answer{Result: lifecycle.Exists})
	step(t, answer(t, v, lifecycle.Answer{Object: object("a", 1, foreign)}), lifecycle.Create)
}

// One cluster alone had it: no other one goes back to it.
func TestAdoptsOfOneCluster(t *testing.T) {
	v := firstSight(theirs("c1", "a"))
	v.Refs[0].Placement.Groups[0].Clusters, v.Refs[0].Placement.Selected = []string{"c1"}, 1
	recorded := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Record)
	require.Equal(t, "c1", recordOf(recorded.Revision).RecordedOn)
}

// Another hub rolled out past the current revision: none is known to be stable, and the one that was goes last.
func TestSurpassed(t *testing.T) {
	look := func(objects ...*appsv1.ControllerRevision) *lifecycle.View {
		v := view("c", names("a", "b"), objects...)
		v.Works = []work.Work{theirs("c1", "c"), theirs("c2", "c")}
		return v
	}
	v := look(object("z", 0, current(0)), object("a", 1, current(time.Minute)), object("b", 2, remembers("a")))
	former := step(t, lifecycle.Next(v), lifecycle.Unmark)
	require.Equal(t, nameOf("z"), former.Revision.Name)
	require.Zero(t, former.Patch.Record.Surpassed)
	last := step(t, answer(t, v, lifecycle.Answer{}), lifecycle.Unmark)
	require.Equal(t, nameOf("a"), last.Revision.Name)
	require.NotZero(t, last.Patch.Record.Surpassed)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = look(object("a", 1, current(time.Minute)), object("b", 2, remembers("a")))
	step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Proceed)

	v = look(object("a", 1, surpassedAt(0)), object("b", 2, remembers("a")))
	forgotten := step(t, lifecycle.Next(v), lifecycle.Create)
	require.Equal(t, hashOf("a"), forgotten.Outcome.Unstable)
}

// Works that have a hash, or the template, are no foreign past.
func TestNothingToAdopt(t *testing.T) {
	v := view("b", names("a", "b"), object("a", 1, current(0)), object("b", 2, remembers("a")))
	v.Works = []work.Work{ours("c1", "a"), theirs("c2", "z")}
	v.Refs[0].Placement.Groups[0].Clusters, v.Refs[0].Placement.Selected = []string{"c1", "c2"}, 2
	require.NotContains(t, []lifecycle.Action{lifecycle.ReadSpec, lifecycle.Record, lifecycle.Unmark}, lifecycle.Next(v).Action)
}

// Another hub rolled out the template whose rollout was aborted, and every cluster succeeded with it: the abort has ended, on the revision first, then
// in the status.
func TestEndAbort(t *testing.T) {
	marked := wasAborted(time.Minute)
	look := func(works []work.Work, b ...change) *lifecycle.View {
		revisions := names("a", "b")
		revisions.AbortedTime = &metav1.Time{Time: rt.At(time.Minute)}
		v := view("b", revisions, object("a", 1, current(0)), object("b", 2, append(b, remembers("a"))...))
		v.Object.Status.AbortedTime, v.Works = revisions.AbortedTime, works
		return v
	}
	well := []work.Work{theirs("c1", "b"), theirs("c2", "b"), theirs("c3", "b")}
	v := look(well, marked)
	ended := step(t, lifecycle.Next(v), lifecycle.MarkCurrent)
	require.Equal(t, nameOf("b"), ended.Revision.Name)
	require.Zero(t, ended.Patch.Record.Abort)
	require.NotZero(t, ended.Patch.Record.CurrentSince)
	require.Zero(t, ended.Patch.Record.RecordedOn)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)
	held(t, answer(t, look(well, marked), lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)

	relapsed := []work.Work{theirs("c1", "b", rt.Degraded(0)), theirs("c2", "b"), theirs("c3", "b")}
	recorded := step(t, lifecycle.Next(look(relapsed, current(time.Hour))), lifecycle.Proceed)
	require.Nil(t, recorded.Outcome.Revisions.AbortedTime)
	require.Equal(t, hashOf("b"), recorded.Outcome.Revisions.CurrentRevision)

	lost := look(well, marked)
	lost.Status, lost.Object.Status.AbortedTime, lost.Object.Status.UpdateRevision = status.Revisions{}, nil, ""
	step(t, lifecycle.Next(lost), lifecycle.MarkCurrent)

	alone := look([]work.Work{theirs("c1", "b")}, marked)
	alone.Refs[0].Placement.Groups[0].Clusters, alone.Refs[0].Placement.Selected = []string{"c1"}, 1
	require.Equal(t, "c1", step(t, lifecycle.Next(alone), lifecycle.MarkCurrent).Patch.Record.RecordedOn)

	for name, works := range map[string][]work.Work{
		"one of ours":           {theirs("c1", "b"), theirs("c2", "b"), ours("c3", "a")},
		"one is not well":       relapsed,
		"one has another spec":  {theirs("c1", "b"), theirs("c2", "b"), theirs("c3", "c")},
		"one cluster of three":  {theirs("c1", "b")},
		"no work":               {},
		"all have another spec": {theirs("c1", "c"), theirs("c2", "c"), theirs("c3", "c")},
	} {
		t.Run(name, func(t *testing.T) {
			is := lifecycle.Next(look(works, marked))
			require.NotEqual(t, lifecycle.MarkCurrent, is.Action)
			require.NotNil(t, is.Outcome.Revisions.AbortedTime)
		})
	}
}
