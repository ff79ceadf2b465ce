package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// What is complete is recorded on the revision first.
func TestConclude(t *testing.T) {
	conclude := func(v *lifecycle.View, of status.Revisions, decided *rollout.Plan) lifecycle.Step {
		return lifecycle.Conclude(v, lifecycle.Decision{Revisions: of, Update: v.Named(hashOf("b"))}, decided)
	}
	complete := &rollout.Plan{Complete: true}
	v := begin(names("a", "b"), "b").View
	open := step(t, conclude(v, names("a", "b"), &rollout.Plan{}), lifecycle.Proceed)
	require.Equal(t, hashOf("b"), *open.Outcome.Incomplete)
	require.Nil(t, conclude(v, names("b", "b"), &rollout.Plan{}).Outcome.Incomplete, "a relapse opens nothing")

	mark := step(t, conclude(v, names("a", "b"), complete), lifecycle.MarkCurrent)
	require.Zero(t, mark.Patch.Record.RecordedOn)
	v.Answers = []lifecycle.Answer{{Key: mark.Key, Result: lifecycle.Done}}
	held(t, conclude(v, names("a", "b"), complete), lifecycle.Written)

	v.Answers = []lifecycle.Answer{{Key: mark.Key, Result: lifecycle.Failed, Err: errQuota}}
	unmarked := step(t, conclude(v, names("a", "b"), complete), lifecycle.Proceed)
	require.Equal(t, hashOf("b"), unmarked.Outcome.Completed)
	require.Equal(t, hashOf("b"), unmarked.Outcome.Revisions.CurrentRevision)
	require.Empty(t, *unmarked.Outcome.Incomplete)
	v.Memory.Pruned = true
	require.Equal(t, hashOf("a"), conclude(v, names("a", "b"), complete).Outcome.Revisions.CurrentRevision, "nothing could hold it")

	v = begin(names("a", "b"), "b").View
	v.NoHistory = true
	kept := step(t, conclude(v, names("a", "b"), complete), lifecycle.Proceed)
	require.True(t, kept.Outcome.Keep)
	require.Equal(t, hashOf("b"), kept.Outcome.Revisions.CurrentRevision)

	v = view("b", names("a", "b"), object("a", 1, current(0)), object("b", 2, current(time.Minute)))
	require.Equal(t, hashOf("b"), step(t, conclude(v, names("a", "b"), complete), lifecycle.Proceed).Outcome.Revisions.CurrentRevision)
	v.History = history(object("a", 1, current(0)))
	require.Equal(t, hashOf("a"), step(t, conclude(v, names("a", "b"), complete), lifecycle.Proceed).Outcome.Revisions.CurrentRevision)
}

// A rollout that began by a clock that was ahead is complete, and one that begins after it is under way, also when the clock went back.
func TestOrderOfAClockThatWentBack(t *testing.T) {
	retried := object("b", 2, retriedAt(2*time.Hour))
	v := view("b", names("a", "b"), object("a", 1, current(0)), retried)
	mark := step(t, lifecycle.Conclude(v, lifecycle.Decision{Revisions: names("a", "b"), Update: v.Named(hashOf("b"))}, &rollout.Plan{Complete: true}), lifecycle.MarkCurrent)
	require.Equal(t, rt.At(2*time.Hour), mark.Patch.Record.CurrentSince)

	ahead := object("a", 1, current(2*time.Hour))
	undo := step(t, lifecycle.Next(view("a", names("a", "b"), ahead, object("b", 2))), lifecycle.Renumber)
	require.Equal(t, rt.At(2*time.Hour+1), undo.Patch.Record.Reused)
}

// An abort is persisted before any work goes back.
func TestAbort(t *testing.T) {
	when := metav1.NewTime(rt.At(time.Hour))
	abort := func(v *lifecycle.View) lifecycle.Step {
		found := lifecycle.Decision{Revisions: names("a", "b"), Update: v.Named(hashOf("b"))}
		return lifecycle.Abort(v, found, &rollout.Plan{Abort: &rollout.Abort{Reason: "c1 failed"}}, when)
	}
	v := begin(names("a", "b"), "b").View
	persist := step(t, abort(v), lifecycle.PersistStatus)
	require.Equal(t, when, *persist.Outcome.Revisions.AbortedTime)
	require.Equal(t, "c1 failed", persist.Outcome.AbortedFor)
	require.True(t, persist.Outcome.Snapshot.Aborted)

	v.Memory.Pruned = true
	mark := step(t, abort(v), lifecycle.MarkAborted)
	require.Equal(t, "c1 failed", mark.Patch.Record.Abort.Reason)
	v.Answers = []lifecycle.Answer{{Key: mark.Key, Result: lifecycle.Conflicted, Err: errQuota}}
	require.True(t, held(t, abort(v), lifecycle.Refused).Outcome.Aborting)
	v.Answers = []lifecycle.Answer{{Key: mark.Key, Result: lifecycle.Failed, Err: errQuota}}
	require.Equal(t, "; until then nothing is written back", step(t, abort(v), lifecycle.PersistStatus).Outcome.Problems[0].Text)
	v.Answers = append(v.Answers, lifecycle.Answer{Key: persist.Key, Result: lifecycle.Done})
	held(t, abort(v), lifecycle.Written)
}

// That every cluster confirmed the revision that it went back to is recorded once.
func TestRestored(t *testing.T) {
	b := begin(abortedAt(0), "b")
	b.History = history(object("b", 2, wasAborted(0)))
	b.found.Snapshot = b.Snapshot(&b.found.Revisions, b.found.Update, true)
	decided := &rollout.Plan{Refs: []rollout.RefOutcome{{Selected: 2}}, Confirmed: 2}
	restored, ok := lifecycle.Restored(b.View, b.found, decided)
	require.True(t, ok)
	require.NotZero(t, step(t, restored, lifecycle.MarkRestored).Patch.Record.Abort.Restored)

	_, ok = lifecycle.Restored(b.View, b.found, &rollout.Plan{Refs: decided.Refs, Confirmed: 1})
	require.False(t, ok)
	b.History = history(object("b", 2, restoredAt(0)))
	_, ok = lifecycle.Restored(b.View, b.found, decided)
	require.False(t, ok)
	require.True(t, b.Snapshot(&b.found.Revisions, b.found.Update, true).Restored)
}

// A work that can't be written back for two minutes holds no abort up.
func TestRefusals(t *testing.T) {
	b := begin(abortedAt(0), "b")
	b.Notes.Gap = rollout.UnknownGap(rt.At(time.Hour - lifecycle.StuckAfter))
	b.Notes.Failures = []lifecycle.Failure{
		{Cluster: "c1", Target: lifecycle.Target(&rollout.Snapshot{Aborted: true}, b.Named(hashOf("a"))), Message: "500", Since: rt.At(0)},
		{Cluster: "c2", Target: lifecycle.Target(&rollout.Snapshot{Aborted: false}, b.Named(hashOf("b"))), Message: "403", Since: rt.At(0), RefusedSince: rt.At(time.Minute)},
		{Target: "another write"},
	}
	require.Equal(t, map[string]rollout.Rejection{"c1": {Since: rt.At(0), Message: "500"}}, b.Snapshot(&b.found.Revisions, b.found.Update, true).Rejected)
	require.Equal(t, map[string]rollout.Rejection{"c2": {Since: rt.At(time.Minute), Message: "403"}}, b.Snapshot(&b.found.Revisions, b.found.Update, false).Rejected)
	b.Notes.Failures = []lifecycle.Failure{
		{Cluster: "c1", Target: lifecycle.Target(&rollout.Snapshot{Aborted: false}, b.Named(hashOf("b"))), Message: "timeout", Since: b.Now.Add(-29 * time.Second)},
		{Cluster: "c2", Target: lifecycle.Target(&rollout.Snapshot{Aborted: false}, b.Named(hashOf("b"))), Message: "timeout", Since: b.Now.Add(-30 * time.Second)},
		{Cluster: "c3", Target: lifecycle.Target(&rollout.Snapshot{Aborted: false}, b.Named(hashOf("b"))), Message: "403", Since: b.Now, RefusedSince: b.Now},
	}
	require.Equal(t, map[string]bool{"c1": true}, b.Snapshot(&b.found.Revisions, b.found.Update, false).Unanswered)
	b.Notes.Gap = rollout.UnknownGap(rt.At(time.Hour - time.Minute))
	require.Empty(t, b.Snapshot(&b.found.Revisions, b.found.Update, true).Rejected, "it could not be heard")
}
