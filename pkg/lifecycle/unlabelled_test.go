package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A lost status is rebuilt, and counts neither as a retry nor as a first rollout.
func TestLostStatus(t *testing.T) {
	v := view("b", status.Revisions{}, object("a", 1, current(0)), object("b", 2, wasAborted(time.Minute), remembers("a")))
	found := lifecycle.Next(v).Outcome.Revisions
	require.Equal(t, hashOf("a"), found.CurrentRevision)
	require.Equal(t, hashOf("b"), found.UpdateRevision)
	require.Equal(t, metav1.NewTime(rt.At(time.Minute)), *found.AbortedTime)
}

// A status that was lost together with the current revision names that revision, and not the one that was current before it: nothing can be
// aborted.
func TestLostStatusAndRevision(t *testing.T) {
	entry := revision.Entry{Digest: digestOf("b"), Created: rt.Epoch, CurrentSince: rt.At(2 * time.Minute)}
	others := func(r *revision.Record) { r.Others = revision.Others{hashOf("b"): entry} }
	v := view("c", status.Revisions{}, object("a", 1, current(0)), object("c", 3, current(time.Minute), amended(others)))
	v.Works = []work.Work{ours("c1", "b")}
	require.Equal(t, nameOf("b"), step(t, lifecycle.Next(v), lifecycle.ReadLive).Name)
	found := step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Missing}), lifecycle.Proceed).Outcome
	require.Equal(t, hashOf("b"), found.Revisions.CurrentRevision)
	_, absent := v.Current(found.Revisions.CurrentRevision, found.Update)
	require.Equal(t, rollout.Deleted, absent.Cause)
}

// withoutCurrent returns a view in which revision b is being rolled out, and revision a, which was current, is gone.
func withoutCurrent() *lifecycle.View {
	v := view("b", names("a", "b"), object("b", 2, remembers("a")))
	v.Works = []work.Work{ours("c1", "a"), ours("c2", "b")}
	return v
}

// A deleted current revision stays deleted, whatever the works contain.
func TestDeletedCurrentRevision(t *testing.T) {
	v := withoutCurrent()
	require.Equal(t, nameOf("a"), step(t, lifecycle.Next(v), lifecycle.ReadLive).Name)
	found := step(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Missing}), lifecycle.Proceed)
	require.Equal(t, names("a", "b"), found.Outcome.Revisions)
}

// The update revision is created again for its template, under its hash, and its rollout continues, or stays complete.
func TestDeletedUpdateRevision(t *testing.T) {
	missing := lifecycle.Answer{Result: lifecycle.Missing}
	v := view("b", names("a", "b"), object("a", 1, current(0)))
	created := step(t, answer(t, v, missing), lifecycle.Create).Revision
	require.Equal(t, nameOf("b"), created.Name)
	require.EqualValues(t, 2, created.Revision)
	require.Equal(t, digestOf("a"), recordOf(created).Others[hashOf("a")].Digest)
	require.Zero(t, recordOf(created).CurrentSince)

	complete := step(t, answer(t, view("b", names("b", "b"), object("a", 1, current(0))), missing), lifecycle.Create).Revision
	require.NotZero(t, recordOf(complete).CurrentSince)
	require.Zero(t, recordOf(complete).Reused)

	edited := view("c", names("", "b"))
	edited.Works = []work.Work{ours("c1", "b")}
	require.Equal(t, nameOf("c"), step(t, answer(t, edited, missing), lifecycle.Create).Revision.Name)

	byAnotherHash := view("b", status.Revisions{UpdateRevision: "other"})
	byAnotherHash.Works = []work.Work{rt.Work("c1", rt.AtRevision("other"), holds("b"))}
	require.Equal(t, "web-other", step(t, answer(t, byAnotherHash, missing), lifecycle.Create).Revision.Name)

	inMemory := view("b", status.Revisions{UpdateRevision: "other"})
	inMemory.Memory.Unrecorded = map[string]revision.Digest{"other": digestOf("b")}
	require.Equal(t, "web-other", step(t, answer(t, inMemory, missing), lifecycle.Create).Revision.Name)
}

// A revision that lost its labels is found by its name, and gets them back.
func TestLostLabels(t *testing.T) {
	unlabelled := object("a", 1)
	unlabelled.Labels = nil

	v := withoutCurrent()
	require.Equal(t, nameOf("a"), step(t, lifecycle.Next(v), lifecycle.ReadLive).Name)
	relabel := step(t, answer(t, v, lifecycle.Answer{Object: unlabelled}), lifecycle.Relabel)
	require.Equal(t, map[string]string{workv1alpha1.LabelControllerHash: hashOf("a"), workv1alpha1.LabelReplicaSet: rt.Owner}, relabel.Patch.Labels)
	held(t, answer(t, v, lifecycle.Answer{}), lifecycle.Written)

	v = withoutCurrent()
	answer(t, v, lifecycle.Answer{Object: unlabelled})
	held(t, answer(t, v, lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Refused)

	step(t, answer(t, withoutCurrent(), lifecycle.Answer{Object: object("a", 1, foreign)}), lifecycle.Proceed)
	refused := step(t, answer(t, withoutCurrent(), lifecycle.Answer{Result: lifecycle.Failed, Err: errQuota}), lifecycle.Proceed)
	require.Equal(t, errQuota, refused.Outcome.Problems[0].Failed.Err)
}
