package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

var now = rt.At(time.Hour)

// A rollout continues, or begins in one of three ways. The rollout of a template that never had a revision is New, regardless of which hub
// created the revision.
func TestBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		before ledger.Ledger
		update string
		how    ledger.How
		undo   bool
	}{
		"it goes on":                      {before: decided("a", "b"), update: "b"},
		"a new template":                  {before: decided("a", "a"), update: "c", how: ledger.New},
		"a new template in the middle":    {before: decided("a", "b"), update: "c", how: ledger.New},
		"the first one":                   {before: ledger.Ledger{}, update: "c", how: ledger.New},
		"at first sight, what was stable": {before: ledger.Ledger{Current: named("a")}, update: "a", how: ledger.New},
		"one that never was complete":     {before: decided("a", "c"), update: "b", how: ledger.Found},
		"an undo":                         {before: decided("b", "b", "a"), update: "a", how: ledger.Returned, undo: true},
		"an undo in the middle":           {before: decided("b", "c", "a"), update: "a", how: ledger.Returned, undo: true},
		"back to the stable one":          {before: decided("a", "b"), update: "a", how: ledger.Returned},
		"a redo after an undo":            {before: decided("a", "a"), update: "b", how: ledger.Found},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(tc.update, tc.before, object("a", 1, amended(began)), object("b", 2, amended(began)), object("c", 3))
			d := begin(v)
			require.Empty(t, d.Events)
			require.Equal(t, hashOf(tc.update), d.Update.Hash)
			require.Equal(t, tc.undo, d.Snapshot.Undo)
			require.False(t, d.Snapshot.FastUndo)
			if tc.how == "" {
				require.True(t, d.Ledger.Equal(&tc.before))
				return
			}
			want := ledger.Ledger{
				Format: tc.before.Format, Owner: tc.before.Owner, Seq: tc.before.Seq, Current: tc.before.Current, Former: tc.before.Former,
				Update: named(tc.update), Begun: ledger.Beginning{At: now, How: tc.how},
			}
			require.Equal(t, want, d.Ledger)
			again := tc.how != ledger.New
			require.Equal(t, again, d.Snapshot.Update.Reused)
			require.Equal(t, again, d.Snapshot.Update.CountsFrom.Equal(now))
			require.Equal(t, again, d.Snapshot.Update.BeginSeen.Equal(now), "it begins in this pass")
			require.True(t, d.Snapshot.Update.Underway)
		})
	}
}

// Begin does not change the ledger of the View.
func TestBeginChangesNoView(t *testing.T) {
	v := view("b", decided("a", "b"), object("a", 1), object("b", 2))
	v.Before.SetTroubles([]ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Since: rt.At(0)}})
	before := v.Before.Clone()
	v.Commands = ledger.Commands{RetryClusters: []string{"c1"}, Abort: &revision.Abort{At: rt.At(time.Minute)}}
	d := begin(v)
	require.False(t, d.Ledger.Equal(&before))
	require.True(t, v.Before.Equal(&before))
}

// When the hub first sees a rollout in progress, it does not know which clusters have failed.
func TestBeginAtFirstSight(t *testing.T) {
	for name, tc := range map[string]struct {
		before ledger.Ledger
		works  []work.Work
		lost   bool
	}{
		"no work":                       {},
		"a work of another revision":    {works: []work.Work{ours("c1", "a", rt.WrittenAt(0))}},
		"a work of another hub":         {works: []work.Work{theirs("c1", "b")}},
		"a work that no hub wrote":      {works: []work.Work{ours("c1", "b", rt.NeverWritten())}},
		"a work":                        {works: []work.Work{ours("c1", "b", rt.WrittenAt(0))}, lost: true},
		"a work, and it is not unknown": {before: decided("a", "a"), works: []work.Work{ours("c1", "b", rt.WrittenAt(0))}},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", tc.before, object("a", 1), object("b", 2))
			v.Notes.Works = tc.works
			d := begin(v)
			require.Equal(t, tc.lost, d.Ledger.Lost)
			require.Equal(t, tc.lost, d.Snapshot.Records.Lost)
		})
	}
}

// An undo within the rollback window reaches every cluster at once, unless the last rollout of its revision was aborted.
func TestRollbackWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		before ledger.Ledger
		update string
		window int32
		atOnce bool
	}{
		"no window":              {decided("c", "c", "b", "a"), "b", 0, false},
		"the last one":           {decided("c", "c", "b", "a"), "b", 1, true},
		"one before":             {decided("c", "c", "b", "a"), "a", 1, false},
		"one before, and two do": {decided("c", "c", "b", "a"), "a", 2, true},
		"it was aborted last":    {decided("c", "c", "d"), "d", 9, false},
		"it was never stable":    {decided("c", "c", "a"), "b", 9, false},
		"the stable one itself":  {decided("a", "b"), "a", 9, false},
		"in the middle":          {decided("c", "d", "b"), "b", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(tc.update, tc.before, object("a", 1, amended(began)), object("b", 2, amended(began)), object("c", 3), object("d", 4, amended(wasAborted)))
			v.Object.Spec.RollbackWindow = &workv1alpha1.RollbackWindow{Revisions: ptr.To(tc.window)}
			d := begin(v)
			require.Equal(t, tc.atOnce, d.Ledger.Begun.AtOnce)
			require.Equal(t, tc.atOnce, d.Snapshot.FastUndo)
		})
	}
}

// A new template that arrives together with a user's abort of the previous rollout waits for that abort.
func TestAbortByHandBeforeANewTemplate(t *testing.T) {
	v := view("c", decided("a", "b"), object("a", 1), object("b", 2), object("c", 3))
	v.Commands.Abort = &revision.Abort{}
	v.Notes.Works = []work.Work{ours("c1", "b")}
	d := begin(v)
	require.NotNil(t, d.Ledger.Abort)
	require.Equal(t, named("b"), d.Ledger.Update)
	require.Equal(t, hashOf("b"), d.Update.Hash)
	require.True(t, d.Snapshot.Aborted)
}

// A user aborts the rollout by setting status.abortedTime. If there is nothing to abort, an event gives the reason.
func TestAbortByHand(t *testing.T) {
	command := revision.Abort{By: "alice", Said: "leaks\nmemory"}
	look := func(before ledger.Ledger) *lifecycle.Observation {
		v := view("b", before, object("a", 1), object("b", 2))
		v.Commands.Abort = &command
		return v
	}
	fast := decided("c", "b", "b")
	fast.Begun.AtOnce = true
	for name, before := range map[string]ledger.Ledger{"a rollout": decided("a", "b"), "an undo": decided("a", "b", "b")} {
		d := begin(look(before))
		want := command
		want.At = now // The clock of the user does not count.
		want.Reason = "alice set status.abortedTime: leaks memory"
		require.Equal(t, &want, d.Ledger.Abort, name)
		require.Empty(t, d.Events, name)
		require.True(t, d.Snapshot.Aborted, name)
		require.Equal(t, hashOf("a"), d.Snapshot.Current.Hash, name)
	}
	undo := look(fast)
	undo.History = history(object("b", 2), object("c", 3))
	require.False(t, begin(undo).Ledger.Begun.AtOnce, "it goes back step by step")
	require.Empty(t, command.Reason, "the command stays as it was")

	byTool := look(decided("a", "b"))
	byTool.Object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "ui", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:abortedTime":{}}}`)}}}
	require.Equal(t, "alice set status.abortedTime (field manager ui): leaks memory", begin(byTool).Ledger.Abort.Reason)
	byTool.Commands.Abort = &revision.Abort{}
	require.Equal(t, "field manager ui set status.abortedTime", begin(byTool).Ledger.Abort.Reason)
	byTool.Object.ManagedFields = nil
	require.Equal(t, "status.abortedTime was set", begin(byTool).Ledger.Abort.Reason)

	for name, tc := range map[string]struct {
		before ledger.Ledger
		change func(*lifecycle.Observation)
		why    string
	}{
		"it is complete":            {before: decided("b", "b", "a"), why: "revision " + nameOf("b") + " is already the current revision"},
		"it goes back to that":      {before: func() ledger.Ledger { l := decided("b", "b"); l.Ended = time.Time{}; return l }(), why: "is already the current revision"},
		"nothing was complete":      {before: decided("", "b"), why: "no rollout has completed yet"},
		"the stable one is deleted": {before: decided("z", "b"), why: "no ControllerRevision " + nameOf("z")},
		"there is no history": {before: decided("a", "b"), why: "no permission", change: func(v *lifecycle.Observation) {
			v.NoHistory, v.HistoryNote = true, "no permission"
		}},
		"the stable one was on one cluster": {before: func() ledger.Ledger { l := decided("a", "b"); l.OnlyOn = "c1"; return l }(), why: "was found only on cluster c1"},
	} {
		t.Run(name, func(t *testing.T) {
			v := look(tc.before)
			if tc.change != nil {
				tc.change(v)
			}
			d := begin(v)
			require.Nil(t, d.Ledger.Abort)
			require.Len(t, d.Events, 1)
			require.Equal(t, workv1alpha1.EventAbortIgnored, d.Events[0].Reason)
			require.True(t, d.Events[0].Warning)
			require.Contains(t, d.Events[0].Note, "alice set status.abortedTime: leaks memory, and the hub removed it: ")
			require.Contains(t, d.Events[0].Note, tc.why)
			require.False(t, d.Snapshot.Aborted)
		})
	}
}

// A user retries clusters by removing their failures. Such a cluster gets a new deadline. If the API server rejects its work, the cluster
// is in flight again.
func TestRetryOfClusters(t *testing.T) {
	at := rt.At(time.Minute)
	failed := func(cluster string, reason workv1alpha1.FailureReason) ledger.Trouble {
		return ledger.Trouble{Cluster: cluster, State: ledger.Failed, Placement: "p1", Since: at, Reason: reason, Message: "denied"}
	}
	v := view("b", decided("a", "b"), object("a", 1), object("b", 2))
	v.Before.SetTroubles([]ledger.Trouble{
		failed("c1", workv1alpha1.FailureDegraded), failed("c2", workv1alpha1.FailureRejected), failed("c3", workv1alpha1.FailureDegraded),
		{Cluster: "c4", State: ledger.Rejected, Since: at},
	})
	v.Commands.RetryClusters = []string{"c1", "c2", "c4", "gone"}
	d := begin(v)
	require.Empty(t, d.Events)
	rejected := failed("c2", workv1alpha1.FailureRejected)
	rejected.State, rejected.Since = ledger.Rejected, now
	require.Equal(t, []ledger.Trouble{
		{Cluster: "c1", State: ledger.TriedAgain, Placement: "p1", Since: now}, rejected, failed("c3", workv1alpha1.FailureDegraded),
		{Cluster: "c4", State: ledger.Rejected, Since: at},
	}, d.Ledger.Troubles)
	require.Equal(t, map[string]time.Time{"c1": now}, d.Snapshot.Retried)
	require.Len(t, d.Snapshot.Records.Failures, 1)
	require.Equal(t, now, d.Snapshot.Records.Rejections["c2"].Since)

	v.Commands = ledger.Commands{WithoutFailures: true}
	d = begin(v)
	require.True(t, d.Ledger.Equal(&v.Before), "an older CRD may have dropped the list")
	require.Equal(t, "RetryIgnored: status.failures was removed, and the hub restored it: to retry clusters, remove their entries; to retry all, set an empty list", notes(d))
	require.True(t, d.Events[0].Once)
}

// A user can name the stable revision while the rollout is not complete: a revision that was stable before or, if no revision was stable,
// any revision in the history.
func TestNameTheStableRevision(t *testing.T) {
	complete := decided("b", "b", "a")
	for name, tc := range map[string]struct {
		before ledger.Ledger
		name   string
		why    string
	}{
		"one that was stable":             {before: decided("c", "b", "a"), name: hashOf("a")},
		"any, where none is stable":       {before: decided("", "b"), name: hashOf("c")},
		"in an abort":                     {before: func() ledger.Ledger { l := aborted("c", "b", 0); l.Former = []ledger.Named{named("a")}; return l }(), name: hashOf("a")},
		"one that never was stable":       {before: decided("a", "b"), name: hashOf("c"), why: "revision " + nameOf("c") + " was never the current revision"},
		"none":                            {before: decided("a", "b"), why: "it was the current one when the field was removed"},
		"one that is not in the history":  {before: decided("a", "b"), name: "zzz", why: "no revision in the history has the hash zzz"},
		"one that can't be read":          {before: decided("", "b"), name: hashOf("d"), why: "no revision in the history has the hash " + hashOf("d")},
		"the one that is rolled out":      {before: decided("a", "b"), name: hashOf("b"), why: "the rollout of revision " + nameOf("b") + " is not complete"},
		"the rollout is complete":         {before: complete, name: hashOf("a"), why: "the rollout of revision " + nameOf("b") + " is complete"},
		"complete, and it was not stable": {before: complete, name: hashOf("c"), why: "the rollout of revision " + nameOf("b") + " is complete"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", tc.before, object("a", 1), object("b", 2), object("c", 3), object("d", 4, broken))
			v.Commands.Names, v.Commands.Name = true, tc.name
			d := begin(v)
			if tc.why == "" {
				require.Empty(t, d.Events)
				require.Equal(t, tc.name, d.Ledger.Current.Hash)
				require.NotEmpty(t, d.Ledger.Current.Digest)
				require.Equal(t, tc.name, d.Snapshot.Current.Hash)
				return
			}
			require.Equal(t, tc.before.Current, d.Ledger.Current)
			require.Contains(t, notes(d), "CurrentRevisionIgnored: status.currentRevision is \""+tc.name+"\", and the hub restored \""+tc.before.Current.Hash+"\": "+tc.why)
		})
	}
	v := view("b", decided("a", "b"), object("a", 1), object("b", 2))
	v.NoHistory, v.Commands.Names, v.Commands.Name = true, true, hashOf("a")
	require.Contains(t, notes(begin(v)), "no revision in the history has the hash", "without a history, none can be named")
}

// Once the annotation's time is reached, the hub retries the aborts and failures from before that time.
func TestRetryByAnnotation(t *testing.T) {
	const minute = time.Minute
	stamp := func(at time.Duration) string { return rt.At(at).Format(time.RFC3339) }
	failed := func(l ledger.Ledger, at time.Duration) ledger.Ledger {
		l.SetTroubles([]ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Since: rt.At(at)}, {Cluster: "c2", State: ledger.Rejected, Since: rt.At(at)}})
		l.Halted = map[string]time.Time{"p1": rt.At(at)}
		return l
	}
	retried := aborted("a", "b", 30*minute)
	retried.Begun.Retried = rt.At(50 * minute)
	for name, tc := range map[string]struct {
		before     ledger.Ledger
		annotation string
		retries    bool
		// failures is the number of failures, rejections and halts that the plan still sees.
		failures int
		event    string
	}{
		"no annotation":                    {before: aborted("a", "b", 30*minute)},
		"it was aborted before":            {before: aborted("a", "b", 30*minute), annotation: stamp(40 * minute), retries: true},
		"in the same second":               {before: aborted("a", "b", 30*minute+time.Millisecond), annotation: stamp(30 * minute), retries: true},
		"in another zone":                  {before: aborted("a", "b", 30*minute), annotation: "2030-01-01T14:40:00+02:00", retries: true},
		"it was aborted since":             {before: aborted("a", "b", 50*minute), annotation: stamp(40 * minute), event: "the rollout was aborted after this time, at 2030-01-01T12:50:00Z"},
		"it began since":                   {before: aborted("a", "b", 30*minute), annotation: stamp(-minute)},
		"it was retried since":             {before: retried, annotation: stamp(40 * minute)},
		"it will come":                     {before: aborted("a", "b", 30*minute), annotation: stamp(time.Hour + 30*time.Second)},
		"it will come late":                {before: aborted("a", "b", 30*minute), annotation: stamp(2 * time.Hour), event: "this time is in the future"},
		"no time":                          {before: aborted("a", "b", 30*minute), annotation: "now\n", event: `annotation work.open-cluster-management.io/retry: "now\n": not a time: use RFC 3339`},
		"a failure before":                 {before: failed(decided("a", "b"), 30*minute), annotation: stamp(40 * minute)},
		"a failure since":                  {before: failed(decided("a", "b"), 50*minute), annotation: stamp(40 * minute), failures: 3},
		"a failure before what will come":  {before: failed(decided("a", "b"), 30*minute), annotation: stamp(time.Hour + 30*time.Second), failures: 3},
		"a failure, and the rollout began": {before: failed(decided("a", "b"), 30*minute), annotation: stamp(-minute), failures: 3},
	} {
		t.Run(name, func(t *testing.T) {
			v := view("b", tc.before, object("a", 1), object("b", 2))
			if tc.annotation != "" {
				v.Object.Annotations = map[string]string{workv1alpha1.AnnotationRetry: tc.annotation}
			}
			d := begin(v)
			require.Equal(t, tc.retries, d.Ledger.Begun.Retried.Equal(now))
			require.Equal(t, tc.retries || tc.before.Abort == nil, !d.Snapshot.Aborted)
			records := &d.Snapshot.Records
			require.Equal(t, tc.failures, len(records.Failures)+len(records.Rejections)+len(records.Halted))
			if tc.event == "" {
				require.Empty(t, d.Events)
				return
			}
			require.Len(t, d.Events, 1)
			require.True(t, d.Events[0].Once)
			require.Equal(t, workv1alpha1.EventRetryIgnored, d.Events[0].Reason)
			require.Contains(t, d.Events[0].Note, tc.event)
		})
	}
}

// An annotation does not retry a user's later abort, or the rollout of a template that waits for an abort.
func TestRetryByAnnotationWaits(t *testing.T) {
	v := view("c", aborted("a", "b", time.Minute), object("a", 1), object("b", 2), object("c", 3))
	v.Object.Annotations = map[string]string{workv1alpha1.AnnotationRetry: rt.At(30 * time.Minute).Format(time.RFC3339)}
	v.Notes.Works = []work.Work{ours("c1", "b")}
	d := begin(v)
	require.True(t, d.Pending)
	require.NotNil(t, d.Ledger.Abort)

	v = view("b", decided("a", "b"), object("a", 1), object("b", 2))
	v.Object.Annotations = map[string]string{workv1alpha1.AnnotationRetry: rt.At(30 * time.Minute).Format(time.RFC3339)}
	v.Commands.Abort = &revision.Abort{}
	require.NotNil(t, begin(v).Ledger.Abort)
}
