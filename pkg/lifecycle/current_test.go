package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// What a person names is written on the revision first; what may not be the current one is put back.
func TestSettleCurrent(t *testing.T) {
	v := view("b", names("a", "b"), object("a", 1), object("b", 2, remembers("a")))
	mark := step(t, lifecycle.Next(v), lifecycle.MarkCurrent)
	require.Equal(t, nameOf("a"), mark.Revision.Name)
	require.NotZero(t, mark.Patch.Record.CurrentSince)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)
	held(t, answer(t, view("b", names("a", "b"), object("a", 1), object("b", 2)), lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)

	back := lifecycle.Next(view("b", names("c", "b"), object("a", 1, current(0)), object("b", 2), object("c", 0)))
	require.Equal(t, hashOf("a"), back.Outcome.Revisions.CurrentRevision)
	require.Equal(t, workv1alpha1.EventCurrentRevisionIgnored, back.Outcome.Events[0].Reason)
	require.Contains(t, back.Outcome.Events[0].Note, "never was the current one")
	require.False(t, back.Outcome.Events[0].Once)
}

// A rollout that was complete when its revision could not record it stays so, unless this process knows better.
func TestCompletedWithoutARecord(t *testing.T) {
	look := func(memory lifecycle.Memory, told bool) lifecycle.Step {
		v := view("b", names("b", "b"), object("a", 1, current(0)), object("b", 2, remembers("a")))
		v.Memory = memory
		if told {
			v.Object.Status.Conditions = []metav1.Condition{{
				Type: workv1alpha1.ConditionProgressing, Reason: workv1alpha1.ReasonNewManifestWorkAvailable, Status: metav1.ConditionFalse,
			}}
		}
		return lifecycle.Next(v)
	}
	for name, tc := range map[string]struct {
		memory lifecycle.Memory
		told   bool
		stays  bool
	}{
		"the conditions say so":                          {told: true, stays: true},
		"this process saw it":                            {memory: lifecycle.Memory{Completed: hashOf("b")}, stays: true},
		"nothing says so":                                {},
		"the conditions say so, this process knows more": {memory: lifecycle.Memory{Incomplete: hashOf("b")}, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := hashOf("a")
			if tc.stays {
				want = hashOf("b")
			}
			require.Equal(t, want, look(tc.memory, tc.told).Outcome.Revisions.CurrentRevision)
		})
	}
}

// What can be gone back to, or why nothing can.
func TestCurrent(t *testing.T) {
	onC1 := amended(func(r *revision.Record) { r.RecordedOn = "c1" })
	recorded := recordedAt(0)
	for name, tc := range map[string]struct {
		v       *lifecycle.View
		current string
		absence rollout.AbsenceCause
		says    string
	}{
		"there is one":   {v: view("b", names("a", "b"), object("a", 1, current(0))), current: "a"},
		"no history":     {v: &lifecycle.View{NoHistory: true}, current: "a", absence: rollout.WithoutHistory},
		"deleted":        {v: view("b", names("a", "b")), current: "a", absence: rollout.Deleted, says: "it was deleted"},
		"broken":         {v: view("b", names("a", "b"), object("a", 1, broken)), current: "a", absence: rollout.Unreadable, says: "nothing can be rolled back to it"},
		"on one cluster": {v: view("b", names("a", "b"), object("a", 1, onC1)), current: "a", absence: rollout.OnOneCluster, says: "found on cluster c1 alone"},
		"none ever":      {v: view("a", names("", "a"), object("a", 1)), absence: rollout.NeverComplete, says: "repair the clusters"},
		"others": {
			v:       view("b", names("", "b"), object("a", 1), object("b", 5), object("c", 2), object("d", 3), object("e", 4)),
			absence: rollout.NeverComplete, says: "and 1 more",
		},
		"adopted": {v: view("b", names("", "b"), object("a", 1, recorded), object("b", 2)), absence: rollout.NotAdopted, says: "did not show which revision was stable"},
		"surpassed": {
			v:       view("b", names("", "b"), object("a", 1, surpassedAt(0)), object("b", 2)),
			absence: rollout.Surpassed, says: "another hub rolled out after revision " + nameOf("a"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, absent := tc.v.Current(names(tc.current, "").CurrentRevision, &work.Revision{Hash: tc.v.Status.UpdateRevision})
			require.Equal(t, tc.absence == "", found != nil)
			require.Equal(t, found == nil, absent != nil)
			if absent != nil {
				require.Equal(t, tc.absence, absent.Cause)
				require.Contains(t, status.NoCurrent(absent), tc.says)
			}
		})
	}
	alone := view("b", names("a", "b"), object("a", 1, onC1))
	alone.Refs = []placement.Ref{rt.Ref("p1", rt.Clusters("c1"))}
	found, _ := alone.Current(hashOf("a"), nil)
	require.NotNil(t, found, "only that cluster is selected")
}

// Revisions that can't be read are named with the remedy.
func TestUnusable(t *testing.T) {
	const remedy = "nothing can be rolled back to it: put a good template into the spec"
	stranger := object("x", 9)
	stranger.Name = "web-stranger"
	v := view("b", names("a", "b"), object("a", 1, broken, current(0)), object("b", 2, remembers("a")), stranger)
	v.Works = []work.Work{ours("c1", "a")}
	found := lifecycle.Next(v)
	require.Contains(t, found.Outcome.Problems[0].Text, remedy)
	require.Contains(t, found.Outcome.Events[0].Note, "web-stranger")
	require.Contains(t, found.Outcome.Events[1].Note, remedy)
	require.True(t, found.Outcome.Events[1].Once)
	unused := lifecycle.Next(view("b", names("b", "b"), object("a", 1, broken), object("b", 2, current(0), remembers())))
	require.Empty(t, unused.Outcome.Events)
	require.Empty(t, unused.Outcome.Problems)
}

// Without a history the works and this process know the revision of the template.
func TestWithoutHistory(t *testing.T) {
	without := func(value string, revisions status.Revisions, works ...work.Work) *lifecycle.View {
		v := view(value, revisions)
		v.NoHistory, v.Works = true, works
		return v
	}
	aborted := names("a", "b")
	aborted.AbortedTime = &metav1.Time{Time: rt.At(time.Minute)}
	oddHash := rt.Work("c1", rt.AtRevision("odd"), holds("b"))

	fresh := step(t, lifecycle.Next(without("b", status.Revisions{})), lifecycle.Proceed)
	require.Equal(t, lifecycle.RolledOut{Hash: hashOf("b"), Digest: digestOf("b")}, fresh.Outcome.RolledOut)
	require.True(t, fresh.Outcome.AwaitsHistory)

	kept := without("b", status.Revisions{})
	kept.Memory.Kept = names("a", "b")
	require.Equal(t, names("a", "b"), step(t, lifecycle.Next(kept), lifecycle.Proceed).Outcome.Revisions)

	require.Equal(t, "odd", lifecycle.Next(without("b", names("", "a"), oddHash)).Outcome.Update.Hash, "a hash stays what it is")
	require.Equal(t, hashOf("b"), lifecycle.Next(without("b", names("", "b"), oddHash, ours("c2", "b"))).Outcome.Update.Hash, "the update revision's comes first")
	require.Equal(t, hashOf("b"), lifecycle.Next(without("b", aborted)).Outcome.Update.Hash)
	require.Empty(t, lifecycle.Next(without("a", names("a", "b"))).Outcome.Revisions.CurrentRevision, "the way back to it is under way")
	held(t, lifecycle.Next(without("", names("a", "b"))), lifecycle.InvalidSpec)

	unknown := aborted
	unknown.UpdateRevision = "other"
	waits := step(t, lifecycle.Next(without("b", unknown)), lifecycle.Proceed)
	require.Contains(t, waits.Outcome.Problems[0].Text, "ControllerRevision web-other can't be read")
	require.Equal(t, "other", waits.Outcome.Update.Hash)

	lastRead := without("b", unknown)
	other := named(object("b", 1), "web-other")
	other.Labels[workv1alpha1.LabelControllerHash] = "other"
	lastRead.History = history(other)
	require.Equal(t, "other", lifecycle.Next(lastRead).Outcome.Update.Hash, "it is the aborted one")
	lastRead.Object, lastRead.Template = owner("c"), digestOf("c")
	require.Equal(t, hashOf("c"), lifecycle.Next(lastRead).Outcome.Update.Hash, "it is another one")
}
