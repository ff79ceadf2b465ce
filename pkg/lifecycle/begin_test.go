package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// begun is a pass that found the revision of its template.
type begun struct {
	*lifecycle.View
	found lifecycle.Decision
}

// begin is one over revisions a, b and c, whose status is persisted. The works are as they were noted.
func begin(of status.Revisions, update string, works ...work.Work) *begun {
	b := &begun{View: view(update, of, object("a", 1, current(0)), object("b", 2), object("c", 3))}
	b.Object.Status.AbortedTime, b.Notes.Works = of.AbortedTime, works
	b.found = lifecycle.Decision{Revisions: of, Update: b.Named(hashOf(update))}
	return b
}

func (b *begun) next() lifecycle.Step {
	return lifecycle.Begin(b.View, b.found)
}

// answer lets the next step have an answer, and returns the step after it.
func (b *begun) answer(t *testing.T, is lifecycle.Result) lifecycle.Step {
	t.Helper()
	asked := b.next()
	require.NotContains(t, []lifecycle.Action{lifecycle.Proceed, lifecycle.Hold}, asked.Action, asked.Why)
	var err error
	if is != lifecycle.Done && is != lifecycle.Pruned {
		err = errQuota
	}
	b.Answers = append(b.Answers, lifecycle.Answer{Key: asked.Key, Result: is, Err: err})
	return b.next()
}

// tells has the conditions report a reason.
func (b *begun) tells(reason string) *begun {
	b.Object.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, Reason: reason}}
	return b
}

// abortedAt is a status whose rollout of b was aborted.
func abortedAt(since time.Duration) status.Revisions {
	revisions := names("a", "b")
	revisions.AbortedTime = &metav1.Time{Time: rt.At(since)}
	return revisions
}

// A rollout begins with one write of the status.
func TestBegin(t *testing.T) {
	b := begin(names("a", "a"), "b")
	began := step(t, b.next(), lifecycle.PersistStatus)
	require.Equal(t, status.RollingOut, began.Stage)
	require.Equal(t, hashOf("b"), began.Outcome.Revisions.UpdateRevision)
	require.NotNil(t, began.Plan)
	held(t, b.answer(t, lifecycle.Done), lifecycle.Written)
	held(t, begin(names("a", "a"), "b").answer(t, lifecycle.Failed), lifecycle.Refused)
	held(t, begin(names("a", "a"), "b").answer(t, lifecycle.Conflicted), lifecycle.Refused)
	step(t, begin(names("a", "a"), "b").answer(t, lifecycle.Pruned), lifecycle.Proceed)

	goesOn := step(t, begin(names("a", "b"), "b").next(), lifecycle.Proceed)
	require.False(t, goesOn.Outcome.Snapshot.Aborted)
	require.Equal(t, hashOf("a"), goesOn.Outcome.Snapshot.Current.Hash)
	require.Len(t, goesOn.Outcome.Snapshot.Older, 2)

	lost := begin(names("a", "b"), "b")
	lost.Object.Status.UpdateRevision = ""
	require.Empty(t, step(t, lost.next(), lifecycle.PersistStatus).Stage, "it is the one that the plan shows")
	lost.Memory.Pruned = true
	step(t, lost.next(), lifecycle.Proceed)
}

func TestBeginWithoutHistory(t *testing.T) {
	b := begin(names("a", "b"), "b")
	b.NoHistory, b.HistoryNote = true, "no permission"
	found := step(t, b.next(), lifecycle.Proceed)
	require.True(t, found.Outcome.Keep)
	require.Equal(t, &rollout.Absence{Cause: rollout.WithoutHistory, Detail: "no permission"}, found.Outcome.Snapshot.Absent)
	require.Empty(t, found.Outcome.Snapshot.Older)
	require.Len(t, b.ByHash(b.found.Update), 1)
}

// While today's template has no revision, nothing of the one before is persisted.
func TestBeginHeld(t *testing.T) {
	b := begin(names("a", "a"), "b")
	b.found.TemplateHeld = true
	require.False(t, step(t, b.next(), lifecycle.Proceed).Outcome.Snapshot.Aborted)
}

// An abort that is being carried out ends before a new rollout begins.
func TestBeginWaitsForAnAbort(t *testing.T) {
	marked := func(works ...work.Work) *begun {
		b := begin(abortedAt(0), "c", works...).tells(workv1alpha1.ReasonRolloutAborted)
		b.History = history(object("a", 1, current(0)), object("b", 2, wasAborted(0)), object("c", 3))
		return b
	}
	waits := step(t, marked(ours("c1", "b")).next(), lifecycle.Proceed)
	require.True(t, waits.Outcome.Pending)
	require.Equal(t, hashOf("b"), waits.Outcome.Update.Hash)
	require.True(t, waits.Outcome.Snapshot.Aborted)

	begins := step(t, marked(ours("c1", "a"), ours("c2", "a"), ours("c3", "a")).next(), lifecycle.PersistStatus)
	require.Equal(t, names("a", "c"), begins.Outcome.Revisions)

	done := marked(ours("c1", "b"))
	done.Notes.WrittenBack = lifecycle.WrittenBack{Abort: lifecycle.AbortOf(done.Named(hashOf("a")), rt.At(0)), Clusters: map[string]bool{"c1": true}}
	done.Refs = []placement.Ref{rt.Ref("p1", rt.Clusters("c1"))}
	step(t, done.next(), lifecycle.PersistStatus)
}

// The revision records the abort before any work goes back.
func TestMarkAborted(t *testing.T) {
	aborted := func(since time.Duration) *begun {
		return begin(abortedAt(since), "b").tells(workv1alpha1.ReasonRolloutAborted)
	}
	b := aborted(0)
	mark := step(t, b.next(), lifecycle.MarkAborted)
	require.Equal(t, rt.Epoch, mark.Patch.Record.Abort.At)
	require.Zero(t, mark.Patch.Record.Abort.Reason)
	require.Zero(t, mark.Patch.Record.CurrentSince)
	held(t, b.answer(t, lifecycle.Done), lifecycle.Written)

	b = aborted(0)
	b.Memory.Aborted = lifecycle.Aborted{At: metav1.NewTime(rt.At(0)), Reason: "c1 failed"}
	require.Equal(t, "c1 failed", b.next().Patch.Record.Abort.Reason)

	b = aborted(0)
	failed := []rt.WorkOption{rt.WrittenAt(0), rt.InFlight(0)}
	b.Refs = []placement.Ref{rt.Ref("p1", rt.Clusters("c1"), rt.Deadline("1m"), rt.AbortAll())}
	b.Notes.Works = []work.Work{ours("c1", "b", failed...)}
	require.Contains(t, b.next().Patch.Record.Abort.Reason, "c1", "what the works show")

	b = aborted(0)
	b.History = history(object("b", 2, current(time.Minute)), object("c", 3))
	require.Zero(t, b.next().Patch.Record.CurrentSince, "a cluster relapsed meanwhile")

	for name, tc := range map[string]struct {
		since  time.Duration
		pruned bool
		result lifecycle.Result
		goesOn bool
	}{
		"it may pass":              {since: time.Hour - time.Second, result: lifecycle.Failed},
		"it did not pass":          {since: time.Hour - time.Minute, result: lifecycle.Failed, goesOn: true},
		"a time to come":           {since: 2 * time.Hour, result: lifecycle.Failed, goesOn: true},
		"it is rejected":           {since: time.Hour - time.Second, result: lifecycle.Rejected, goesOn: true},
		"nothing else can hold it": {since: 0, result: lifecycle.Rejected, pruned: true},
		"the object has changed":   {since: 0, result: lifecycle.Conflicted},
	} {
		t.Run(name, func(t *testing.T) {
			b := aborted(tc.since)
			b.Memory.Pruned = tc.pruned
			if is := b.answer(t, tc.result); tc.goesOn {
				require.Equal(t, errQuota, step(t, is, lifecycle.Proceed).Outcome.Problems[0].Failed.Err)
			} else {
				held(t, is, lifecycle.Refused)
			}
		})
	}
}

// Somebody who removes status.abortedTime tries the revision again.
func TestRetry(t *testing.T) {
	retried := func() *begun {
		b := begin(names("a", "b"), "b")
		b.History = history(object("a", 1, current(0)), object("b", 2, wasAborted(0)))
		return b
	}
	clear := step(t, retried().next(), lifecycle.ClearAborted)
	require.Zero(t, clear.Patch.Record.Abort)
	require.NotZero(t, clear.Patch.Record.Retried)
	held(t, retried().answer(t, lifecycle.Done), lifecycle.Written)
	refused := held(t, retried().answer(t, lifecycle.Failed), lifecycle.InvalidSpec)
	require.True(t, refused.Outcome.Pending)
	require.Equal(t, "; until then the rollout does not begin again", refused.Problem.Text)
}

// A person aborts by setting status.abortedTime.
func TestAbortByHand(t *testing.T) {
	b := begin(abortedAt(0), "b").tells(workv1alpha1.ReasonNewRevisionCreated)
	aborts := step(t, b.next(), lifecycle.PersistStatus)
	require.Equal(t, status.Aborting, aborts.Stage)
	require.Equal(t, "status.abortedTime was set", aborts.Outcome.AbortedFor)
	require.True(t, aborts.Outcome.Aborting)
	require.True(t, aborts.Outcome.Urgent)
	held(t, b.answer(t, lifecycle.Pruned), lifecycle.Written)

	b = begin(abortedAt(0), "b").tells(workv1alpha1.ReasonNewRevisionCreated)
	b.Object.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:abortedTime":{}}}`)},
	}}
	require.Equal(t, "field manager kubectl-edit set status.abortedTime", b.next().Outcome.AbortedFor)
	b.tells(workv1alpha1.ReasonRolloutAborted)
	require.Equal(t, "field manager kubectl-edit set status.abortedTime", b.next().Patch.Record.Abort.Reason)

	complete := abortedAt(0)
	complete.CurrentRevision = hashOf("b")
	nothing := begin(complete, "b").tells(workv1alpha1.ReasonNewManifestWorkAvailable)
	removed := step(t, nothing.next(), lifecycle.RemoveAbort)
	require.Contains(t, removed.Event.Note, "is the current one already")
	held(t, nothing.answer(t, lifecycle.Done), lifecycle.Written)

	first := abortedAt(0)
	first.CurrentRevision = ""
	require.Contains(t, step(t, begin(first, "b").tells(workv1alpha1.ReasonNewRevisionCreated).next(), lifecycle.RemoveAbort).Why, "no stable revision")

	gone := begin(abortedAt(0), "b").tells(workv1alpha1.ReasonNewRevisionCreated)
	gone.History = history(object("a", 1, current(0)))
	step(t, gone.next(), lifecycle.PersistStatus)
}

// Who asks for an abort, and why, is in the reason, and on the revision.
func TestAbortByHandHasAReason(t *testing.T) {
	b := begin(abortedAt(0), "b").tells(workv1alpha1.ReasonNewRevisionCreated)
	b.Object.Status.AbortedBy, b.Object.Status.AbortReason = "alice\n", "leaks memory"
	const reason = "alice set status.abortedTime: leaks memory"
	require.Equal(t, reason, b.next().Outcome.AbortedFor)
	b.Memory.Aborted = lifecycle.Aborted{At: metav1.NewTime(rt.At(0)), Reason: reason}
	mark := step(t, b.tells(workv1alpha1.ReasonRolloutAborted).next(), lifecycle.MarkAborted).Patch.Record.Abort
	require.Equal(t, reason, mark.Reason)
	require.Equal(t, "alice", mark.By)
}

// What the first ten failed clusters reported, and how many clusters had the revision, outlives the abort on the revision.
func TestEvidenceOfAnAbort(t *testing.T) {
	b := begin(abortedAt(0), "b", ours("c1", "b"), ours("c2", "b"), ours("c3", "a")).tells(workv1alpha1.ReasonRolloutAborted)
	b.Memory.Aborted = lifecycle.Aborted{At: metav1.NewTime(rt.At(0)), Reason: "2 of 3 clusters failed"}
	b.Object.Status.Failures = []workv1alpha1.ClusterFailure{
		{Cluster: "c1", Reason: workv1alpha1.FailureRejected, Message: "denied\nby policy x"}, {Cluster: "c2", Reason: workv1alpha1.FailureDeadlineExceeded},
	}
	mark := step(t, b.next(), lifecycle.MarkAborted)
	require.Equal(t, "2 of 3 clusters failed", mark.Patch.Record.Abort.Reason)
	require.Equal(t, []string{"c1: Rejected: denied by policy x", "c2: DeadlineExceeded"}, mark.Patch.Record.Abort.Evidence)
	require.EqualValues(t, 2, *mark.Patch.Record.Reached)

	for len(b.Object.Status.Failures) < 12 {
		b.Object.Status.Failures = append(b.Object.Status.Failures, workv1alpha1.ClusterFailure{Cluster: "c9", Reason: workv1alpha1.FailureDegraded})
	}
	all := b.next().Patch.Record.Abort.Evidence
	require.Len(t, all, 11)
	require.Equal(t, "and 2 more", all[10])

	b.History = history(object("a", 1, current(0)), object("b", 2, amended(func(r *revision.Record) { r.Reached = ptr.To(int32(7)) })))
	require.EqualValues(t, 7, *b.next().Patch.Record.Reached, "it was on more clusters before")
}
