package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// firstSight is an object that another hub rolled out.
func firstSight(works ...work.Work) *lifecycle.Observation {
	v := view("b", ledger.Ledger{})
	v.Notes.Works = works
	return v
}

// A template that another hub rolled out becomes a revision. The ledger then names it as the stable revision. Only then does the template
// in the spec get its revision.
func TestAdopt(t *testing.T) {
	works := []work.Work{theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "b")}
	v := firstSight(works...)
	require.Equal(t, "c1", step(t, lifecycle.Decide(v), lifecycle.ReadSpec).Work.Namespace)
	made := step(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Record)
	require.Equal(t, nameOf("a"), made.Revision.Name)
	require.Equal(t, revision.Record{Recorded: now}, revision.RecordOf(made.Revision))
	require.Contains(t, made.Event.Note, "recorded as revision")
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = view("b", ledger.Ledger{}, object("a", 1, amended(recorded)))
	v.Notes.Works = works
	stable := held(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Decided)
	require.Equal(t, ledger.Ledger{Format: ledger.Format, Owner: "uid-of-web", Seq: 1, Current: named("a")}, stable.Ledger)

	v.Before, v.Answers = stable.Ledger, nil
	created := answer(t, v, lifecycle.Answer{Spec: template("a")})
	require.EqualValues(t, 2, step(t, created, lifecycle.Create).Revision.Revision)
	require.Equal(t, named("a"), created.Ledger.Current)
}

// Several specs become older revisions, the spec on the most clusters last; none of them is stable.
func TestAdoptsSeveral(t *testing.T) {
	v := firstSight(theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "c"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	first := step(t, answer(t, v, lifecycle.Answer{Spec: template("c")}), lifecycle.Record)
	require.Equal(t, nameOf("c"), first.Revision.Name)
	require.EqualValues(t, 1, first.Revision.Revision)
	second := step(t, answer(t, v, lifecycle.Answer{}), lifecycle.Record)
	require.EqualValues(t, 2, second.Revision.Revision)
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)

	v = view("b", ledger.Ledger{}, object("c", 1, amended(recorded)), object("a", 2, amended(recorded)))
	v.Notes.Works = []work.Work{theirs("c1", "a"), theirs("c2", "a"), theirs("c3", "c")}
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	created := answer(t, v, lifecycle.Answer{Spec: template("c")})
	step(t, created, lifecycle.Create)
	require.Zero(t, created.Ledger.Current)
	v.History = history(object("c", 1, amended(recorded)), object("a", 2, amended(recorded)), object("b", 3))
	absent := begin(v).Snapshot.Absent
	require.Equal(t, rollout.NotAdopted, absent.Cause)
	require.Equal(t, []string{hashOf("c"), hashOf("a")}, absent.Others)
}

// If the past can't be recorded, the template is not rolled out: otherwise, nothing would show which hub wrote the works.
func TestAdoptionFails(t *testing.T) {
	refused := lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}
	v := firstSight(theirs("c1", "a"), theirs("c2", "a"))
	unread := held(t, answer(t, v, refused), lifecycle.InvalidSpec)
	require.True(t, unread.Pending)

	v = firstSight(theirs("c1", "a"), theirs("c2", "a"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	unwritten := held(t, answer(t, v, refused), lifecycle.InvalidSpec)
	require.Equal(t, "; until then nothing new is rolled out", unwritten.Problem.Text)

	v = firstSight(theirs("c1", "a"), theirs("c2", "a"))
	answer(t, v, lifecycle.Answer{Spec: template("a")})
	answer(t, v, lifecycle.Answer{Result: lifecycle.Exists})
	step(t, answer(t, v, lifecycle.Answer{Object: object("a", 1, foreign)}), lifecycle.Create)
}

// If only one cluster had the stable revision, no other cluster returns to it.
func TestAdoptsOfOneCluster(t *testing.T) {
	v := selects(view("b", ledger.Ledger{}, object("a", 1, amended(recorded))), "c1")
	v.Notes.Works = []work.Work{theirs("c1", "a")}
	found := held(t, answer(t, v, lifecycle.Answer{Spec: template("a")}), lifecycle.Decided)
	require.Equal(t, "c1", found.Ledger.OnlyOn)

	v = view("b", found.Ledger, object("a", 1), object("b", 2))
	require.Equal(t, &rollout.Absence{Cause: rollout.OnOneCluster, Revision: nameOf("a"), Cluster: "c1"}, begin(v).Snapshot.Absent)
	require.Equal(t, hashOf("a"), begin(selects(v, "c1")).Snapshot.Current.Hash)
}

// If another hub has since rolled out a newer revision than the stable one, no revision is known to be stable.
func TestSurpassed(t *testing.T) {
	v := view("c", decided("a", "b", "z"), object("a", 1), object("b", 2))
	v.Notes.Works = []work.Work{theirs("c1", "c"), theirs("c2", "c")}
	past := held(t, lifecycle.Decide(v), lifecycle.Decided)
	require.Zero(t, past.Ledger.Current)
	require.Empty(t, past.Ledger.Former)
	require.Equal(t, hashOf("a"), past.Ledger.Surpassed)
	require.Equal(t, named("a"), v.Before.Current)

	v.Before = past.Ledger
	step(t, lifecycle.Decide(v), lifecycle.Create)
	v.History = history(object("a", 1), object("b", 2), object("c", 3))
	absent := begin(v).Snapshot.Absent
	require.Equal(t, rollout.Surpassed, absent.Cause)
	require.Equal(t, nameOf("a"), absent.Revision)
}

// An abort ends if another hub has rolled out the template, and every cluster has succeeded with it.
func TestEndAbort(t *testing.T) {
	look := func(works ...work.Work) *lifecycle.Observation {
		v := view("b", aborted("a", "b", 0), object("a", 1), object("b", 2))
		v.Notes.Works = works
		return v
	}
	v := look(theirs("c1", "b"), theirs("c2", "b"), theirs("c3", "b"))
	ended := held(t, lifecycle.Decide(v), lifecycle.Decided)
	want := decided("b", "b", "a")
	want.Ended, want.Seq = now, v.Before.Seq+1
	require.Equal(t, want, ended.Ledger)
	require.Equal(t, workv1alpha1.EventAbortEnded, ended.Events[0].Reason)
	require.NotNil(t, v.Before.Abort)

	alone := selects(look(theirs("c1", "b")), "c1")
	require.Equal(t, "c1", held(t, lifecycle.Decide(alone), lifecycle.Decided).Ledger.OnlyOn)

	for name, works := range map[string][]work.Work{
		"one of ours":           {theirs("c1", "b"), theirs("c2", "b"), ours("c3", "a")},
		"one is not well":       {theirs("c1", "b", rt.Degraded(0)), theirs("c2", "b"), theirs("c3", "b")},
		"one has another spec":  {theirs("c1", "b"), theirs("c2", "b"), theirs("c3", "c")},
		"one cluster of three":  {theirs("c1", "b")},
		"no work":               {},
		"all have another spec": {theirs("c1", "c"), theirs("c2", "c"), theirs("c3", "c")},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotNil(t, lifecycle.Decide(look(works...)).Ledger.Abort)
		})
	}
}
