package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

func (b *begun) asks(value string) *begun {
	b.Object.Annotations = map[string]string{workv1alpha1.AnnotationRetry: value}
	return b
}

func (b *begun) asksAt(since time.Duration) *begun { return b.asks(rt.At(since).Format(time.RFC3339)) }

// abortOf is a rollout of b that was aborted at minute 10 and is recorded. It is minute 60.
func abortOf(more ...change) *begun {
	b := begin(abortedAt(10*time.Minute), "b").tells(workv1alpha1.ReasonRolloutAborted)
	b.Object.Status.Conditions[0].LastTransitionTime = metav1.NewTime(rt.At(10 * time.Minute))
	b.History = history(object("a", 1, current(0)), object("b", 2, append(more, wasAborted(10*time.Minute))...))
	return b
}

// An annotation retries an aborted rollout if its time is not before the abort, and has come.
func TestRetryByAnnotation(t *testing.T) {
	b := abortOf().asksAt(20 * time.Minute)
	clear := step(t, b.next(), lifecycle.ClearAborted)
	require.Zero(t, clear.Patch.Record.Abort)
	require.Equal(t, rt.At(time.Hour), clear.Patch.Record.Retried)
	held(t, b.answer(t, lifecycle.Done), lifecycle.Written)
	step(t, abortOf().asksAt(10*time.Minute).next(), lifecycle.ClearAborted) // The status holds whole seconds.

	for name, tc := range map[string]struct {
		b    *begun
		note string
	}{
		"before the abort": {abortOf().asksAt(9 * time.Minute), `annotation work.open-cluster-management.io/retry: "2030-01-01T12:09:00Z": ` +
			`the rollout was aborted after this time, at 2030-01-01T12:10:00Z: to retry, set the current time`},
		"no time": {abortOf().asks("now"), `annotation work.open-cluster-management.io/retry: "now": not a time: use RFC 3339, for example 2026-11-25T10:00:00Z`},
		"to come": {abortOf().asksAt(2 * time.Hour), `annotation work.open-cluster-management.io/retry: "2030-01-01T14:00:00Z": this time is ` +
			`in the future: the hub will then retry what has failed by that time; to retry now, set the current time`},
		"a retry that was made":       {abortOf(retriedAt(20 * time.Minute)).asksAt(20*time.Minute - time.Second), ""},
		"before the template is back": {abortOf(reusedAt(30 * time.Minute)).asksAt(20 * time.Minute), ""},
	} {
		t.Run(name, func(t *testing.T) {
			last := step(t, tc.b.next(), lifecycle.Proceed)
			require.True(t, last.Outcome.Snapshot.Aborted)
			if tc.note == "" {
				require.Empty(t, last.Outcome.Events)
				return
			}
			require.Equal(t, []lifecycle.Event{{Warning: true, Reason: workv1alpha1.EventRetryIgnored, Action: "Retry", Note: tc.note, Once: true}}, last.Outcome.Events)
		})
	}

	// A template that nothing can be made of is not retried.
	held := abortOf().asksAt(20 * time.Minute)
	held.found.TemplateHeld = true
	step(t, held.next(), lifecycle.Proceed)
}

// The revision records the retry before the status shows it. The process may stop in between.
func TestRetryByAnnotationContinues(t *testing.T) {
	between := func() *begun {
		b := begin(abortedAt(10*time.Minute), "b").tells(workv1alpha1.ReasonRolloutAborted).asksAt(20 * time.Minute)
		b.Object.Status.Conditions[0].LastTransitionTime = metav1.NewTime(rt.At(10 * time.Minute))
		b.History = history(object("a", 1, current(0)), object("b", 2, retriedAt(21*time.Minute),
			retriedAbortAt(10*time.Minute)))
		b.Object.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1", Since: metav1.NewTime(rt.At(21 * time.Minute)), Reason: workv1alpha1.FailureDegraded}}
		return b
	}
	persist := step(t, between().next(), lifecycle.PersistStatus)
	require.Nil(t, persist.Outcome.Revisions.AbortedTime)
	require.Empty(t, persist.Outcome.Snapshot.Records.Failures, "the failures are those of the aborted rollout")

	// A user who aborts again may set any time.
	again := between().tells(workv1alpha1.ReasonNewRevisionCreated)
	require.Equal(t, status.Aborting, step(t, again.next(), lifecycle.PersistStatus).Stage)
	again.tells(workv1alpha1.ReasonRolloutAborted)
	again.Object.Status.Conditions[0].LastTransitionTime = metav1.NewTime(rt.At(22 * time.Minute))
	step(t, again.next(), lifecycle.MarkAborted)
}

// An annotation removes the records of what failed by its time, so that those clusters are retried.
func TestRetryByAnnotationRemovesFailures(t *testing.T) {
	failing := func(value time.Duration) *begun {
		b := begin(names("a", "b"), "b").asksAt(value).tells(workv1alpha1.ReasonProgressDeadlineExceeded)
		b.Object.Status.State = workv1alpha1.StateStalled
		since := metav1.NewTime(rt.At(10 * time.Minute))
		b.Object.Status.Failures = []workv1alpha1.ClusterFailure{
			{Cluster: "c1", Since: since, Reason: workv1alpha1.FailureDegraded},
			{Cluster: "c2", Since: metav1.NewTime(rt.At(30 * time.Minute)), Reason: workv1alpha1.FailureDegraded},
		}
		b.Object.Status.Rejections = []workv1alpha1.ClusterFailure{{Cluster: "c3", Since: since, Reason: workv1alpha1.FailureRejected}}
		return b
	}
	retried := step(t, failing(20*time.Minute).next(), lifecycle.Proceed).Outcome.Snapshot
	require.Len(t, retried.Records.Failures, 1)
	require.Contains(t, retried.Records.Failures, "c2", "it failed later")
	require.Empty(t, retried.Records.Rejections)
	require.Equal(t, rt.At(20*time.Minute+time.Second), retried.RetriedUntil)

	for name, value := range map[string]time.Duration{"before the failures": 5 * time.Minute, "to come": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			kept := step(t, failing(value).next(), lifecycle.Proceed).Outcome.Snapshot
			require.Len(t, kept.Records.Failures, 2)
			require.Len(t, kept.Records.Rejections, 1)
		})
	}

	// A status that can't hold the records, and what this process remembers.
	b := failing(20 * time.Minute)
	b.Memory.RecordsDropped = true
	b.Memory.Records.Revision, b.Memory.Records.Records = hashOf("b"), status.RecordsOf(&b.Object.Status)
	require.Len(t, step(t, b.next(), lifecycle.Proceed).Outcome.Snapshot.Records.Failures, 1)
	require.Len(t, b.Memory.Records.Failures, 2, "what is remembered does not change")
}
