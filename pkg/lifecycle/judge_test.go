package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// rolling is a view of a rollout of b over clusters with works. A cluster fails after five minutes.
func rolling(before ledger.Ledger, strategy []rt.RefOption, works ...work.Work) *lifecycle.Observation {
	v := view("b", before, object("a", 1, amended(began)), object("b", 2))
	v.Refs = []placement.Ref{rt.Ref("p1", append([]rt.RefOption{rt.Progressive(1), rt.Deadline("5m"), rt.Clusters("c1", "c2", "c3")}, strategy...)...)}
	v.Notes.Works = works
	return v
}

// judge runs the pass of a view, and returns the decision with the resulting ledger.
func judge(v *lifecycle.Observation) lifecycle.Decision {
	d := begin(v)
	return lifecycle.Enter(v, d, rollout.Decide(d.Snapshot))
}

func well(cluster, value string) work.Work {
	return ours(cluster, value, rt.WrittenAt(0), rt.Succeeded(time.Minute))
}
func sick(cluster, value string) work.Work {
	return ours(cluster, value, rt.WrittenAt(0), rt.InFlight(time.Minute))
}

// A rollout fails, is aborted or is complete, depending on the reports of its clusters.
func TestJudge(t *testing.T) {
	d := judge(rolling(decided("a", "b"), nil, well("c1", "b"), ours("c2", "b", rt.WrittenAt(58*time.Minute)), well("c3", "a")))
	require.True(t, d.Ledger.Abort == nil && !d.Ledger.Complete())
	require.Empty(t, d.Ledger.Troubles)
	require.Equal(t, map[string]int{"p1": 3}, d.Ledger.Counted)

	d = judge(rolling(decided("a", "b"), nil, sick("c1", "b"), well("c2", "a"), well("c3", "a")))
	require.True(t, d.Ledger.Abort == nil && !d.Ledger.Complete())
	require.Len(t, d.Ledger.Troubles, 1)
	require.Equal(t, ledger.Trouble{
		Cluster: "c1", State: ledger.Failed, Placement: "p1", Since: d.Ledger.Troubles[0].Since, Reason: workv1alpha1.FailureDeadlineExceeded,
		Message: d.Ledger.Troubles[0].Message,
	}, d.Ledger.Troubles[0])
	require.Contains(t, d.Ledger.Halted, "p1")

	undo := decided("a", "b")
	undo.Begun.AtOnce = true
	v := rolling(undo, []rt.RefOption{rt.AbortAll()}, sick("c1", "b"), well("c2", "a"), well("c3", "a"))
	v.Now = v.Now.Add(time.Millisecond)
	d = judge(v)
	require.Equal(t, &revision.Abort{At: now, Reason: d.Ledger.Abort.Reason}, d.Ledger.Abort, "in whole seconds, as the status holds it")
	require.Contains(t, d.Ledger.Abort.Reason, "1 of 3 clusters failed (c1)")
	require.Len(t, d.Ledger.Troubles, 1, "what the abort rests on")
	require.False(t, d.Ledger.Begun.AtOnce)
	require.True(t, d.Snapshot.Aborted)
	require.Equal(t, hashOf("a"), d.Snapshot.Current.Hash)

	v = rolling(decided("a", "b"), nil, well("c1", "b"), well("c2", "b"), well("c3", "b"))
	d = judge(v)
	require.True(t, d.Ledger.Complete())
	require.Equal(t, now, d.Ledger.Ended)
	require.Equal(t, []ledger.Named{named("b"), named("a")}, []ledger.Named{d.Ledger.Current, d.Ledger.Former[0]})
	require.Equal(t, hashOf("b"), d.Snapshot.Current.Hash)
	require.False(t, d.Snapshot.Update.Underway)
	require.Equal(t, decided("a", "b").Current, v.Before.Current, "the ledger of the View stays as it was")

	v.Before = d.Ledger
	v.Now = v.Now.Add(time.Hour)
	again := judge(v)
	require.True(t, again.Ledger.Equal(&d.Ledger), "another pass decides nothing")
	v.Notes.Works[0] = sick("c1", "b")
	relapsed := judge(v)
	require.True(t, relapsed.Ledger.Complete(), "once complete it stays so")
}

// A rollout whose revision was deleted is not complete before the revision is recreated. Without a history, no revision is needed.
func TestCompleteWithoutARevision(t *testing.T) {
	v := rolling(decided("a", "b"), nil, well("c1", "b"), well("c2", "b"), well("c3", "b"))
	d := begin(v)
	plan := rollout.Decide(d.Snapshot)
	require.True(t, plan.Complete)
	v.History = history(object("a", 1))
	deleted := lifecycle.Enter(v, d, plan)
	require.False(t, deleted.Ledger.Complete())
	v.NoHistory = true
	without := lifecycle.Enter(v, d, plan)
	require.True(t, without.Ledger.Complete())
}

// The clusters of an abort are restored once all have confirmed the stable revision. Nothing else changes in an abort.
func TestJudgeAnAbort(t *testing.T) {
	before := aborted("a", "b", 30*time.Minute)
	before.SetTroubles([]ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Since: rt.At(time.Minute), Reason: workv1alpha1.FailureDegraded}})
	before.Counted = map[string]int{"p1": 5}
	for name, tc := range map[string]struct {
		works    []work.Work
		restored bool
	}{
		"one has not answered": {works: []work.Work{ours("c1", "a", rt.WrittenAt(59*time.Minute)), well("c2", "a"), well("c3", "a")}},
		"all have it":          {works: []work.Work{well("c1", "a"), well("c2", "a"), well("c3", "a")}, restored: true},
		"one never had a work": {works: []work.Work{well("c1", "a"), well("c2", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			v := rolling(before, nil, tc.works...)
			d := judge(v)
			want := before.Clone()
			if tc.restored {
				want.Abort.Restored = now
			}
			require.Equal(t, want, d.Ledger)
			v.Before, v.Now = d.Ledger, v.Now.Add(time.Hour)
			if tc.restored {
				later := judge(v)
				require.Equal(t, want, later.Ledger, "it is noted once")
			}
		})
	}
	nobody := rolling(before, nil)
	nobody.Refs = []placement.Ref{rt.Ref("p1")}
	require.Zero(t, judge(nobody).Ledger.Abort.Restored, "there is no cluster to confirm it")
}

// The ledger lists the troubles of the plan, with bounded messages. It also lists the clusters that a user retries, until their retries
// have ended.
func TestTroublesOfAPlan(t *testing.T) {
	before := decided("a", "b")
	tried := func(cluster string, at time.Duration) ledger.Trouble {
		return ledger.Trouble{Cluster: cluster, State: ledger.TriedAgain, Placement: "p1", Since: rt.At(at)}
	}
	before.SetTroubles([]ledger.Trouble{
		tried("again", 30*time.Minute), tried("ahead", 2*time.Hour), tried("failed", 30*time.Minute), tried("written", 30*time.Minute), tried("gone", 30*time.Minute),
		{Cluster: "healed", State: ledger.Failed, Since: rt.At(0)},
	})
	before.Halted, before.Counted = map[string]time.Time{"p2": rt.At(0)}, map[string]int{"p2": 3}
	v := rolling(before, nil, sick("again", "b"), sick("ahead", "b"), sick("failed", "b"), ours("written", "b", rt.WrittenAt(31*time.Minute)))
	d := begin(v)
	failure := rollout.Failure{Placement: "p1", Since: rt.At(time.Minute), Reason: workv1alpha1.FailureDegraded, Message: strings.Repeat("m\n", 300)}
	plan := &rollout.Plan{Records: rollout.Records{
		Failures: map[string]rollout.Failure{"failed": failure}, Rejections: map[string]rollout.Failure{"denied": {Placement: "p1", Since: rt.At(0), Message: "quota"}},
		Halted: map[string]time.Time{"p1": rt.At(2)}, Counted: map[string]int{"p1": 9},
	}}
	judged := lifecycle.Enter(v, d, plan)
	require.Equal(t, []ledger.Trouble{
		tried("again", 30*time.Minute), tried("ahead", time.Hour),
		{Cluster: "denied", State: ledger.Rejected, Placement: "p1", Since: rt.At(0), Message: "quota"},
		{Cluster: "failed", State: ledger.Failed, Placement: "p1", Since: rt.At(time.Minute), Reason: workv1alpha1.FailureDegraded, Message: ledger.Quoted(failure.Message)},
	}, judged.Ledger.Troubles)
	require.Equal(t, plan.Records.Halted, judged.Ledger.Halted)
	require.Equal(t, plan.Records.Counted, judged.Ledger.Counted)

	none := lifecycle.Enter(v, d, &rollout.Plan{})
	require.Nil(t, none.Ledger.Halted)
	require.Nil(t, none.Ledger.Counted)
}

// A cluster that a user retries gets a new deadline, even if another process takes over.
func TestRetriedClusterGetsItsDeadline(t *testing.T) {
	v := rolling(decided("a", "b"), nil, sick("c1", "b"), well("c2", "a"), well("c3", "a"))
	failed := judge(v).Ledger
	require.Len(t, failed.TroublesIn(ledger.Failed), 1)
	v.Before, v.Commands.RetryClusters = failed, []string{"c1"}
	tried := judge(v).Ledger
	require.Empty(t, tried.TroublesIn(ledger.Failed))
	require.Equal(t, now, tried.TroublesIn(ledger.TriedAgain)["c1"].Since)
	v.Before, v.Commands.RetryClusters = tried, nil
	v.Now = now.Add(4 * time.Minute)
	waits := judge(v).Ledger
	require.Equal(t, now, waits.TroublesIn(ledger.TriedAgain)["c1"].Since)
	v.Now = now.Add(5 * time.Minute)
	over := judge(v).Ledger
	require.Len(t, over.TroublesIn(ledger.Failed), 1)
	require.Empty(t, over.TroublesIn(ledger.TriedAgain))
}

// The record of a revision keeps the history of its rollout for users after another rollout has begun.
func TestRecordOf(t *testing.T) {
	works := []work.Work{well("c1", "b"), sick("c2", "b"), well("c3", "a"), ours("c4", "b", func(w *work.Work) { w.UnexpectedName = true })}
	rev := func(v *lifecycle.Observation, record revision.Record) *revision.Revision {
		found := v.History.ByHash(hashOf("b"))
		found.Record = record
		return found
	}
	known := revision.Record{CreatedBy: "argocd", Ended: rt.At(-time.Hour), Reached: ptr.To[int32](1), Abort: &revision.Abort{Reason: "an earlier one"}}
	with := func(change func(*revision.Record)) *revision.Record {
		record := known
		change(&record)
		return &record
	}
	retried, failed := decided("a", "b"), aborted("a", "b", time.Minute)
	retried.Begun.Retried = rt.At(time.Minute)
	failed.Abort.By, failed.Abort.Restored, failed.Reached = "alice", rt.At(2*time.Minute), ptr.To[int32](3)
	var troubles []ledger.Trouble
	for i := range 12 {
		troubles = append(troubles, ledger.Trouble{Cluster: fmt.Sprintf("c%02d", i), State: ledger.Failed, Reason: workv1alpha1.FailureDegraded, Message: "crash\nloop"})
	}
	troubles[1].Message = ""
	failed.SetTroubles(append(troubles, ledger.Trouble{Cluster: "denied", State: ledger.Rejected}))
	evidence := []string{"c00: Degraded: crash loop", "c01: Degraded"}
	for i := 2; i < 10; i++ {
		evidence = append(evidence, fmt.Sprintf("c%02d: Degraded: crash loop", i))
	}
	evidence = append(evidence, "and 2 more")
	complete := decided("b", "b")
	complete.Ended = rt.At(time.Minute)
	for name, tc := range map[string]struct {
		ledger ledger.Ledger
		want   *revision.Record
	}{
		"under way": {decided("a", "b"), with(func(r *revision.Record) { r.Began, r.Abort = rt.At(0), nil })},
		"retried":   {retried, with(func(r *revision.Record) { r.Began, r.Retried, r.Abort = rt.At(0), rt.At(time.Minute), nil })},
		"complete": {complete, with(func(r *revision.Record) {
			r.Began, r.Ended, r.Abort, r.Reached = rt.At(0), rt.At(time.Minute), nil, ptr.To[int32](2)
		})},
		"aborted": {failed, with(func(r *revision.Record) {
			r.Began, r.Reached = rt.At(0), ptr.To[int32](3) // As at the time of the decision: c9 returned before this record was written.
			r.Abort = &revision.Abort{At: rt.At(time.Minute), By: "alice", Reason: "c1 failed", Restored: rt.At(2 * time.Minute), Evidence: evidence}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			v := rolling(tc.ledger, nil, works...)
			require.Equal(t, tc.want, v.RecordOf(&tc.ledger, rev(v, known)))
		})
	}
	v := rolling(complete, nil, works...)
	more := v.RecordOf(&complete, rev(v, revision.Record{Reached: ptr.To[int32](9)}))
	require.Equal(t, int32(9), *more.Reached, "the most that it ever reached")
	earlier := aborted("a", "b", time.Minute)
	v = rolling(earlier, nil, works...)
	require.Nil(t, v.RecordOf(&earlier, rev(v, revision.Record{})).Reached, "an earlier release decided it: the number is unknown")
}
