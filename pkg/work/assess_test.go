package work_test

import (
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const (
	second = time.Second
	minute = time.Minute
)

// TestAssess checks the table of R10, row by row. Each work has bbb, written at 1m and at generation 2. The time is 10m.
func TestAssess(t *testing.T) {
	const older = int64(1)
	cases := map[string]struct {
		revision *work.Revision
		reports  []rt.WorkOption
		state    work.State
		since    time.Duration
	}{
		"Applied missing": {state: work.InFlight, since: minute},
		"Applied missing, whatever else is there": {
			reports: []rt.WorkOption{rt.Rests(3 * minute), rt.Available(3 * minute), rt.IsDegraded(3 * minute)},
			state:   work.InFlight, since: minute,
		},
		"Applied False": {
			reports: []rt.WorkOption{rt.NotApplied(2 * minute), rt.Rests(3 * minute), rt.Available(3 * minute)},
			state:   work.InFlight, since: 2 * minute,
		},
		"Applied False wins over Degraded": {
			reports: []rt.WorkOption{rt.NotApplied(2 * minute), rt.IsDegraded(3 * minute)},
			state:   work.InFlight, since: 2 * minute,
		},
		"Applied of an older generation": {
			reports: []rt.WorkOption{rt.Applied(2*minute, rt.Observed(older)), rt.Rests(2 * minute), rt.Available(2 * minute)},
			state:   work.InFlight, since: minute,
		},
		"Applied without a generation": {
			reports: []rt.WorkOption{rt.Applied(2*minute, rt.Observed(0)), rt.Rests(2 * minute), rt.Available(2 * minute)},
			state:   work.InFlight, since: minute,
		},
		"everything of an older generation": {
			reports: []rt.WorkOption{rt.Applied(2*minute, rt.Observed(older)), rt.Rests(2*minute, rt.Observed(older)),
				rt.Available(2*minute, rt.Observed(older)), rt.IsDegraded(2*minute, rt.Observed(older))},
			state: work.InFlight, since: minute,
		},

		"Degraded": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(4 * minute), rt.Rests(3 * minute), rt.Available(2 * minute)},
			state:   work.Degraded, since: 4 * minute,
		},
		"Degraded, and progressing for longer": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(4 * minute), rt.Progresses(3 * minute)},
			state:   work.Degraded, since: 3 * minute,
		},
		"Degraded, and progressing later": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(4 * minute), rt.Progresses(5 * minute)},
			state:   work.Degraded, since: 4 * minute,
		},
		"Degraded, and Progressing Unknown for longer": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(4 * minute), rt.MayProgress(3 * minute)},
			state:   work.Degraded, since: 4 * minute,
		},
		"Degraded since the older revision": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(0), rt.Rests(3 * minute)},
			state:   work.Degraded, since: minute,
		},
		"Degraded of an older generation": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(4*minute, rt.Observed(older)), rt.Rests(3 * minute), rt.Available(2 * minute)},
			state:   work.Succeeded, since: 3 * minute,
		},
		"Degraded on one manifest, and the work says False": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.NotDegraded(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute),
				rt.Manifest(), rt.Manifest(rt.ManifestDegraded(5 * minute))},
			state: work.Degraded, since: 5 * minute,
		},
		"Degraded on two manifests: since the first": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.IsDegraded(6 * minute), rt.Rests(3 * minute),
				rt.Manifest(rt.ManifestDegraded(5 * minute)), rt.Manifest(rt.ManifestDegraded(4 * minute))},
			state: work.Degraded, since: 4 * minute,
		},
		"Degraded on one manifest, of an older generation": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute),
				rt.Manifest(rt.ManifestDegraded(5*minute, rt.Observed(older)))},
			state: work.Succeeded, since: 3 * minute,
		},

		"Degraded of an older generation, and there is a rule for it": {
			revision: rt.Revision("bbb", rt.ReportsDegraded()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.NotDegraded(2*minute, rt.Observed(older)), rt.Rests(3 * minute), rt.Available(2 * minute)},
			state:    work.InFlight, since: minute,
		},
		"Degraded missing, and there is a rule for it": {
			revision: rt.Revision("bbb", rt.ReportsDegraded(), rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Available(2*minute, rt.Observed(0))},
			state:    work.InFlight, since: minute,
		},
		"Degraded missing, there is a rule for it, and progress": {
			revision: rt.Revision("bbb", rt.ReportsDegraded()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(3 * minute), rt.Available(2 * minute)},
			state:    work.InFlight, since: 3 * minute,
		},
		"not Degraded, and there is a rule for it": {
			revision: rt.Revision("bbb", rt.ReportsDegraded()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.NotDegraded(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute)},
			state:    work.Succeeded, since: 3 * minute,
		},

		"Progressing True": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(3 * minute), rt.Available(2 * minute)},
			state:   work.InFlight, since: 3 * minute,
		},
		"Progressing Unknown": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.MayProgress(3 * minute), rt.Available(2 * minute)},
			state:   work.InFlight, since: 3 * minute,
		},
		"Progressing missing, and there is a rule for it": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Available(3 * minute)},
			state:   work.InFlight, since: minute,
		},
		"Progressing of an older generation, and there is a rule for it": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3*minute, rt.Observed(older)), rt.Available(3 * minute)},
			state:   work.InFlight, since: minute,
		},
		"a rule on a manifest could not be evaluated": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute),
				rt.Manifest(rt.ManifestRests(4*minute, rt.Because(workv1.ConditionRuleExpressionError)))},
			state: work.InFlight, since: 4 * minute,
		},
		"a rule on a manifest could not be evaluated at an older generation": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute),
				rt.Manifest(rt.ManifestRests(4*minute, rt.Because(workv1.ConditionRuleExpressionError), rt.Observed(older)))},
			state: work.Succeeded, since: 3 * minute,
		},

		"Progressing False and Available True": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(4 * minute)},
			state:   work.Succeeded, since: 3 * minute,
		},
		"Progressing False and Available without a generation": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(4*minute, rt.Observed(0))},
			state:   work.Succeeded, since: 3 * minute,
		},
		"Progressing False since the older revision": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(0), rt.Available(0)},
			state:   work.Succeeded, since: minute,
		},
		"Progressing False and Available of an older generation": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(4*minute, rt.Observed(older))},
			state:   work.InFlight, since: minute,
		},
		"Progressing False and Available False": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.NotAvailable(4 * minute)},
			state:   work.InFlight, since: minute,
		},
		"Progressing False, Available missing": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute)},
			state:   work.InFlight, since: minute,
		},

		"no rule, and Available": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Available(3 * minute)},
			state:    work.Succeeded, since: 3 * minute,
		},
		"no rule, and Available without a generation": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Available(3*minute, rt.Observed(0))},
			state:    work.Succeeded, since: 3 * minute,
		},
		"no rule, and not Available": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.NotAvailable(3 * minute)},
			state:    work.InFlight, since: minute,
		},
		"no rule, and Degraded": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Available(2 * minute), rt.IsDegraded(4 * minute)},
			state:    work.Degraded, since: 4 * minute,
		},
		"no rule, and Progressing True nevertheless": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Available(2 * minute), rt.Progresses(4 * minute)},
			state:    work.InFlight, since: 4 * minute,
		},

		"a transition 59s ahead of the hub": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(10*minute + 59*second)},
			state:   work.InFlight, since: 10*minute + 59*second,
		},
		"a transition 61s ahead of the hub": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(10*minute + 61*second)},
			state:   work.InFlight, since: minute,
		},
		"a transition that was ahead when it was seen first": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(5 * minute), rt.ClockAhead()},
			state:   work.InFlight, since: minute,
		},
		"in flight again, as this process saw": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(2 * minute), rt.StateChangedAt(8 * minute)},
			state:   work.InFlight, since: 8 * minute,
		},
		"not available any more, as this process saw": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(2 * minute), rt.StateChangedAt(8 * minute)},
			state:   work.InFlight, since: 8 * minute,
		},
		"a success that this process saw begin": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(2 * minute), rt.Available(2 * minute), rt.StateChangedAt(8 * minute)},
			state:   work.Succeeded, since: 8 * minute,
		},
		"a turn that its agent dates later": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(9 * minute), rt.StateChangedAt(8 * minute)},
			state:   work.InFlight, since: 9 * minute,
		},
		"a success 61s ahead of the hub": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(10*minute + 61*second), rt.Available(2 * minute)},
			state:   work.Succeeded, since: minute,
		},

		// A deletion increments the generation. The agent's last report before the deletion is about the previous generation.
		"a success that is being taken away": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(3 * minute), rt.DeletedAt(9 * minute)},
			state:   work.Succeeded, since: 3 * minute,
		},
		"one that this process saw, and little is left of": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.NotAvailable(9*minute, rt.Observed(3)), rt.SeenSucceeding(4 * minute), rt.DeletedAt(9 * minute)},
			state:   work.Succeeded, since: 4 * minute,
		},
		"one that this process saw in an earlier rollout of the revision": {
			revision: rt.Revision("bbb", rt.ReusedAt(5*minute)),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(3 * minute), rt.SeenSucceeding(4 * minute), rt.DeletedAt(9 * minute)},
			state:    work.Succeeded, since: 5 * minute,
		},
		"one that this process did not see, and little is left of": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.NotAvailable(9*minute, rt.Observed(3)), rt.DeletedAt(8 * minute)},
			state:   work.InFlight, since: 8 * minute,
		},
		"no rule, and little is left of it": {
			revision: rt.Revision("bbb", rt.WithoutRules()),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.NotAvailable(9*minute, rt.Observed(3)), rt.DeletedAt(8 * minute)},
			state:    work.InFlight, since: 8 * minute,
		},
		"deleted by an API server whose clock is ahead": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(3 * minute), rt.NotAvailable(9*minute, rt.Observed(3)), rt.DeletedAt(11 * minute)},
			state:   work.InFlight, since: 10 * minute,
		},
		"in flight when it was deleted": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(3 * minute), rt.DeletedAt(8 * minute)},
			state:   work.InFlight, since: 3 * minute,
		},
		"in flight when it was deleted, and still": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(3*minute, rt.Observed(3)), rt.DeletedAt(8 * minute)},
			state:   work.InFlight, since: 3 * minute,
		},
		"degraded when it was deleted": {
			reports: []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(2 * minute), rt.IsDegraded(3 * minute), rt.DeletedAt(8 * minute)},
			state:   work.Degraded, since: 3 * minute,
		},
		"deleted before its agent answered": {
			reports: []rt.WorkOption{rt.Applied(2*minute, rt.Observed(older)), rt.Rests(2*minute, rt.Observed(older)),
				rt.Available(2*minute, rt.Observed(older)), rt.DeletedAt(8 * minute)},
			state: work.InFlight, since: minute,
		},
		"a generation that the work does not have yet": {
			reports: []rt.WorkOption{rt.Applied(2*minute, rt.Observed(3)), rt.Rests(2 * minute), rt.Available(2 * minute)},
			state:   work.InFlight, since: minute,
		},

		"an undo begins after it was written": {
			revision: rt.Revision("bbb", rt.ReusedAt(5*minute)),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(3 * minute)},
			state:    work.InFlight, since: 5 * minute,
		},
		"an undo, and the agent never answered": {
			revision: rt.Revision("bbb", rt.ReusedAt(5*minute)),
			state:    work.InFlight, since: 5 * minute,
		},
		"a retry: what it did before does not count": {
			revision: rt.Revision("bbb", rt.RetriedAt(5*minute)),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Rests(2 * minute), rt.Available(2 * minute), rt.IsDegraded(3 * minute)},
			state:    work.Degraded, since: 5 * minute,
		},
		"a retry: what it does since then counts": {
			revision: rt.Revision("bbb", rt.RetriedAt(5*minute)),
			reports:  []rt.WorkOption{rt.Applied(2 * minute), rt.Progresses(6 * minute)},
			state:    work.InFlight, since: 6 * minute,
		},

		"Complete of an older generation": {
			reports: []rt.WorkOption{rt.IsComplete(2*minute, rt.Observed(older)), rt.Applied(2*minute, rt.Observed(older))},
			state:   work.Completed, since: 2 * minute,
		},
		"Complete of the older object, under this generation": {
			reports: []rt.WorkOption{rt.IsComplete(2 * minute), rt.Applied(2*minute, rt.Observed(older)), rt.Rests(2 * minute), rt.Available(2 * minute)},
			state:   work.Completed, since: 2 * minute,
		},
		"Complete of this generation": {
			reports: []rt.WorkOption{rt.IsComplete(2 * minute), rt.Applied(2 * minute), rt.Rests(3 * minute), rt.Available(2 * minute)},
			state:   work.Succeeded, since: 3 * minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.revision == nil {
				tc.revision = rt.Revision("bbb")
			}
			w := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(minute), rt.Generation(2)}, tc.reports...)...)
			got := work.Assess(&w, tc.revision, rt.At(10*minute))
			if got.State != tc.state || !got.Since.Equal(rt.At(tc.since)) {
				t.Errorf("got %s since %s, want %s since %s", got.State, got.Since.Sub(rt.Epoch), tc.state, tc.since)
			}
		})
	}
}

// TestAt defines "at the desired revision".
func TestAt(t *testing.T) {
	for name, tc := range map[string]struct {
		work []rt.WorkOption
		want bool
	}{
		"hash, time and content":             {[]rt.WorkOption{rt.AtRevision("bbb")}, true},
		"another hash":                       {[]rt.WorkOption{rt.AtRevision("aaa"), rt.Holds("bbb")}, false},
		"no hash":                            {[]rt.WorkOption{rt.Holds("bbb")}, false},
		"edited":                             {[]rt.WorkOption{rt.AtRevision("bbb"), rt.Edited()}, false},
		"no time":                            {[]rt.WorkOption{rt.AtRevision("bbb"), rt.NeverWritten()}, false},
		"stored otherwise by the API server": {[]rt.WorkOption{rt.AtRevision("bbb"), rt.StoredOtherwise("bbb")}, true},
		"stored otherwise, asked for another revision": {[]rt.WorkOption{rt.AtRevision("bbb"), rt.StoredOtherwise("aaa")}, false},
		"stored differently, and it ran to completion": {[]rt.WorkOption{rt.AtRevision("bbb"), rt.Edited(), rt.IsComplete(0), rt.Applied(0)}, true},
		"another hash, and it ran to completion":       {[]rt.WorkOption{rt.AtRevision("aaa"), rt.IsComplete(0), rt.Applied(0)}, false},
		"no time, and it ran to completion":            {[]rt.WorkOption{rt.AtRevision("bbb"), rt.Edited(), rt.NeverWritten(), rt.IsComplete(0), rt.Applied(0)}, false},
		"edited after it ran to completion": {
			[]rt.WorkOption{rt.AtRevision("bbb"), rt.Edited(), rt.Generation(2), rt.IsComplete(0, rt.Observed(1)), rt.Applied(0, rt.Observed(1))}, false,
		},
		"edited after it ran to completion, stamped": {
			[]rt.WorkOption{rt.AtRevision("bbb"), rt.Edited(), rt.Generation(2), rt.IsComplete(0), rt.Applied(0, rt.Observed(1))}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := rt.Work("c1", tc.work...)
			if got := w.At(rt.Revision("bbb")); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	w := rt.Work("c1", rt.AtRevision("bbb"))
	if w.At(nil) {
		t.Error("a work is at no revision where there is none")
	}
}
