package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// whenAvailable sets pruneStrategy WhenAvailable. Each revision has an object of its own.
func whenAvailable(s *rollout.Snapshot) {
	s.Handover = &rollout.Handover{Combine: combine}
	s.Settle = 3 * time.Second
}

// keeping means that the work holds objects of another revision beside its own objects.
func keeping(kept string) rt.WorkOption {
	return func(w *work.Work) {
		rt.Annotated(workv1alpha1.AnnotationKeptRevision, kept)(w)
		w.Combined = combine(rt.Revision(w.Hash()), rt.Revision(kept)).Combined
		w.Digest = w.Combined.Digest
	}
}

// reporting is the agent's report about a work that keeps an object that can't be applied any more.
func reporting(r report, at time.Duration) rt.WorkOption {
	return func(w *work.Work) {
		for _, option := range beside(r, at) {
			option(w)
		}
	}
}

// TestServedLast: a work keeps the objects of the revision that the cluster served last, and no others.
func TestServedLast(t *testing.T) {
	for name, tc := range map[string]struct {
		work work.Work
		want []string
	}{
		"whatever its label says":               {rt.Work("c1", rt.AtRevision("aaa"), rt.Holds("bbb")), []string{"Update c1 to ccc keeping bbb: its turn in p1"}},
		"as the API server accepted it":         {rt.Work("c1", rt.AtRevision("aaa"), rt.StoredOtherwise("aaa")), []string{"Update c1 to ccc keeping aaa: its turn in p1"}},
		"a handover that never was available":   {rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa")), []string{"Update c1 to ccc keeping aaa: its turn in p1"}},
		"one that is available":                 {rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), reporting(succeeding, minute), rt.SeenSucceeding(minute)), []string{"Update c1 to ccc keeping bbb: its turn in p1"}},
		"one that was, as this process saw":     {rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), reporting(degraded, minute), rt.SettledAt(minute)), []string{"Update c1 to ccc keeping bbb: its turn in p1"}},
		"one that may be available":             {rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), reporting(succeeding, minute), rt.SeenSucceeding(10*minute-second)), nil},
		"edited by hand in a handover":          {rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), rt.Edited()), []string{"Update c1 to ccc keeping aaa: its turn in p1"}},
		"edited by hand":                        {rt.Work("c1", rt.AtRevision("bbb"), rt.Edited()), []string{"Update c1 to ccc keeping bbb: its turn in p1"}},
		"edited by hand at the update revision": {rt.Work("c1", rt.AtRevision("ccc"), rt.Edited()), []string{"Update c1 to ccc: restored: the content differs from what was written"}},
		"back to what is kept":                  {rt.Work("c1", rt.AtRevision("bbb"), keeping("ccc")), []string{"Update c1 to ccc: its turn in p1"}},
		"back to what is kept from what may be": {rt.Work("c1", rt.AtRevision("bbb"), keeping("ccc"), reporting(succeeding, minute), rt.SeenSucceeding(10*minute-second)), nil},
		"a revision that is gone":               {rt.Work("c1", rt.AtRevision("ddd")), []string{"Update c1 to ccc: its turn in p1"}},
		"somebody removed when it was written": {
			rt.Work("c1", rt.AtRevision("ccc"), keeping("aaa"), reporting(succeeding, minute), rt.NeverWritten()),
			[]string{"Update c1 to ccc keeping aaa: restored: the content differs from what was written"},
		},
		"somebody removed when an older revision was written": {
			rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), reporting(succeeding, minute), rt.NeverWritten()),
			[]string{"Update c1 to ccc keeping aaa: its turn in p1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{rt.Now(10 * minute), rt.Rolling("aaa", "ccc"), rt.Older("bbb"), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), rt.Works(tc.work), whenAvailable}
			p := decide(options...)
			require.Equal(t, tc.want, texts(p))
			if tc.want == nil {
				require.Equal(t, 1, p.Deferred)
				require.Equal(t, 2*second, p.Recheck)
				require.False(t, p.Stalled)
			}
		})
	}
	edited := decide(rt.Rolling("aaa", "ccc"), rt.Older("bbb"), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), rt.Works(rt.Work("c1", rt.AtRevision("aaa"), rt.Holds("bbb"))), whenAvailable)
	require.True(t, edited.Hashes().Has("bbb"), "no work names it yet, and it is not pruned (R5)")
	joined := decide(rt.Rolling("aaa", "ccc"), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), whenAvailable)
	require.Equal(t, []string{"Create c1 to ccc: selected by p1"}, texts(joined), "a cluster that joins never gets old objects")
}

// TestHandoverIsJudged: the availability of the new revision depends on the agent's report about its own manifests. The kept objects make
// no difference, even though the work as a whole is broken here.
func TestHandoverIsJudged(t *testing.T) {
	is := func(conditionType string, status metav1.ConditionStatus, options ...rt.ConditionOption) metav1.Condition {
		return rt.Condition(conditionType, status, 2*minute, options...)
	}
	applied, available := is(workv1.ManifestApplied, metav1.ConditionTrue), is(workv1.ManifestAvailable, metav1.ConditionTrue, rt.Observed(0))
	rests, sick := is(workv1.ManifestProgressing, metav1.ConditionFalse), is(workv1.ManifestDegraded, metav1.ConditionTrue)
	looked := rt.NotAvailable(0)
	for name, tc := range map[string]struct {
		own  []metav1.Condition
		work rt.WorkOption
		want work.State
	}{
		"well":                          {[]metav1.Condition{applied, available, rests}, looked, work.Succeeded},
		"not applied":                   {[]metav1.Condition{is(workv1.ManifestApplied, metav1.ConditionFalse), available, rests}, looked, work.InFlight},
		"applied at an older time":      {[]metav1.Condition{is(workv1.ManifestApplied, metav1.ConditionTrue, rt.Observed(3)), available, rests}, looked, work.InFlight},
		"not available":                 {[]metav1.Condition{applied, is(workv1.ManifestAvailable, metav1.ConditionFalse, rt.Observed(0)), rests}, looked, work.InFlight},
		"not looked at yet":             {[]metav1.Condition{applied, available, rests}, rt.NotAvailable(0, rt.Observed(3)), work.InFlight},
		"no rule was evaluated":         {[]metav1.Condition{applied, available}, looked, work.InFlight},
		"under way":                     {[]metav1.Condition{applied, available, is(workv1.ManifestProgressing, metav1.ConditionTrue)}, looked, work.InFlight},
		"degraded":                      {[]metav1.Condition{applied, available, rests, sick}, looked, work.Degraded},
		"degraded at an older time":     {[]metav1.Condition{applied, available, rests, is(workv1.ManifestDegraded, metav1.ConditionTrue, rt.Observed(3))}, looked, work.Succeeded},
		"a rule could not be evaluated": {[]metav1.Condition{applied, available, is(workv1.ManifestProgressing, metav1.ConditionFalse, rt.Because(workv1.ConditionRuleExpressionError))}, looked, work.InFlight},
		"nothing is reported":           {nil, looked, work.InFlight},
	} {
		t.Run(name, func(t *testing.T) {
			w := rt.Work("c1", rt.AtRevision("bbb"), keeping("aaa"), rt.Generation(4), rt.NotApplied(0), rt.IsDegraded(0), tc.work,
				rt.Manifest(tc.own...), rt.Manifest(is(workv1.ManifestApplied, metav1.ConditionFalse), sick))
			require.Equal(t, tc.want, work.Assess(&w, rt.Revision("bbb"), rt.At(10*minute)).State)
			trimmed := w
			trimmed.Object = w.Object.DeepCopy()
			trimmed.Object.Status.ResourceStatus.Manifests = work.TrimHandover(w.Object.Status.ResourceStatus.Manifests)
			require.Equal(t, work.Assess(&w, rt.Revision("bbb"), rt.At(10*minute)), work.Assess(&trimmed, rt.Revision("bbb"), rt.At(10*minute)), "a cache keeps what decides")
		})
	}
}

// TestTrim: when a work is trimmed, its kept objects are deleted.
func TestTrim(t *testing.T) {
	ready := func(cluster, hash, kept string) work.Work {
		return rt.Work(cluster, rt.AtRevision(hash), keeping(kept), reporting(succeeding, minute), rt.SeenSucceeding(minute))
	}
	failing := rt.Work("c2", rt.AtRevision("bbb"), keeping("aaa"), reporting(progressing, 0))
	ref := func(options ...rt.RefOption) rt.SnapshotOption {
		return rt.Refs(rt.Ref("p1", append(append([]rt.RefOption{rt.Progressive(1), rt.Deadline("5m")}, options...), rt.Clusters("c1", "c2"))...))
	}
	const trim = "Update c1 to bbb: it is available: the kept objects are removed"

	p := decide(rt.Now(10*minute), ref(), rt.Works(ready("c1", "bbb", "aaa"), old("c2")), whenAvailable)
	require.Equal(t, []string{trim}, texts(p), "it keeps its slot")
	require.True(t, p.Writes[0].Trim)
	require.Equal(t, map[rollout.Phase]int{rollout.PhaseHandingOver: 1, rollout.PhaseWaiting: 1}, p.Counts)
	require.Zero(t, p.Updated())
	require.False(t, p.Complete)

	soaking := decide(rt.Now(70*second), ref(rt.Soak(minute)), rt.Works(ready("c1", "bbb", "aaa"), old("c2")), whenAvailable)
	require.Empty(t, texts(soaking), "not before it has soaked")

	halted := decide(rt.Now(10*minute), ref(), rt.Works(ready("c1", "bbb", "aaa"), failing), whenAvailable)
	require.Empty(t, texts(halted), "a halted ref trims nothing")
	require.True(t, halted.Stalled)

	refused := decide(rt.Now(10*minute), ref(), rt.Works(ready("c1", "bbb", "aaa"), old("c2")), rt.Rejected("c1", 9*minute, 10*minute), whenAvailable)
	require.Equal(t, 1, refused.Counts[rollout.PhaseInFlight])
	require.Equal(t, []string{trim}, texts(refused))

	both := decide(rt.Now(10*minute), ref(), rt.Works(ready("c1", "bbb", "aaa"), ready("c2", "bbb", "aaa")), whenAvailable)
	require.Equal(t, []string{trim}, texts(both), "one that is trimmed is in flight again")
	require.False(t, both.Stalled)

	complete := decide(rt.Now(10*minute), ref(), rt.Works(ready("c1", "bbb", "aaa"), done("c2")), whenAvailable)
	require.False(t, complete.Complete, "only the exact revision is complete")

	aborted := decide(rt.Now(10*minute), rt.Aborted(), ref(), rt.Works(ready("c1", "aaa", "bbb"), failing), whenAvailable)
	require.Equal(t, []string{"Update c1 to aaa: it is available: the kept objects are removed", "Update c2 to aaa: aborted"}, texts(aborted))
	require.Equal(t, []int{1, 0}, []int{aborted.Behind, aborted.Confirmed}, "carried out is written in either form, restored is exact")
}

// TestNotKeptIsNamed: Progressing reports the objects that are deleted at once.
func TestNotKeptIsNamed(t *testing.T) {
	refuses := func(s *rollout.Snapshot) {
		s.Handover = &rollout.Handover{Combine: func(*work.Revision, *work.Revision) handover.Result {
			return handover.Result{NotKept: []string{"x: why"}}
		}}
	}
	broker := func(s *rollout.Snapshot) { s.Handover = &rollout.Handover{Problem: "a broker"} }
	ref := rt.Refs(rt.Ref("p1", rt.Clusters("c1")))
	p := decide(ref, rt.Works(old("c1")), refuses)
	require.Equal(t, []string{"Update c1 to bbb: its turn in p1"}, texts(p))
	require.Equal(t, []string{"x: why"}, p.NotKept)
	require.Equal(t, []string{"a broker"}, decide(ref, rt.Works(old("c1")), broker).NotKept)
	require.Equal(t, []string{"Update c1 to bbb: its turn in p1"}, texts(decide(ref, rt.Works(old("c1")), broker)))
	require.Empty(t, decide(ref, rt.Works(old("c1"))).NotKept)
	require.Len(t, decide(ref, rt.Works(rt.Work("c1", rt.AtRevision("ddd"))), whenAvailable).NotKept, 1, "a revision that can't be read")
	for _, now := range []time.Duration{10 * minute, 11 * minute} {
		refused := decide(rt.Now(now), ref, rt.Works(rt.Work("c1", rt.AtRevision("ddd"))), rt.Rejected("c1", 9*minute, 10*minute), whenAvailable)
		require.Len(t, refused.NotKept, 1, "the same between two retries of a write that the API server rejects (P7)")
	}
	require.Empty(t, decide(rt.Rolling("bbb", "bbb"), ref, rt.Works(done("c1")), refuses).NotKept)
}

// report is the agent's report about the work's generation.
type report string

const (
	silent      report = "nothing"
	unapplied   report = "not applied"
	progressing report = "progress"
	degraded    report = "degraded"
	succeeding  report = "success"
)

// combine replaces package handover: each revision has one manifest, and no other revision has it.
func combine(to, from *work.Revision) handover.Result {
	return handover.Result{Combined: &handover.Combined{
		Template: to.Template, Digest: rt.DigestOf(to.Hash + "+" + from.Hash), Manifests: 1, Kept: []string{"ConfigMap default/" + from.Hash},
	}}
}

// beside is the agent's report about a work that also holds a kept object, which can't be applied.
func beside(r report, at time.Duration) []rt.WorkOption {
	is := func(conditionType string, value bool) metav1.Condition {
		status := metav1.ConditionFalse
		if value {
			status = metav1.ConditionTrue
		}
		return rt.Condition(conditionType, status, at)
	}
	own := []metav1.Condition{is(workv1.ManifestApplied, r != unapplied)}
	if r == silent {
		return nil
	}
	if r != unapplied {
		available := is(workv1.ManifestAvailable, r != progressing)
		available.ObservedGeneration = 0
		own = append(own, available, is(workv1.ManifestProgressing, r == progressing), is(workv1.ManifestDegraded, r == degraded))
	}
	return []rt.WorkOption{
		rt.NotApplied(at), rt.NotAvailable(at), rt.Manifest(own...), rt.Manifest(is(workv1.ManifestApplied, false), is(workv1.ManifestAvailable, false)),
	}
}
