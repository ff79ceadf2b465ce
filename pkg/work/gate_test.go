package work_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestGated has each case of a work with success gates. Each work has bbb, written at 1m, at generation 2, and succeeded at 3m. The time is
// 10m.
func TestGated(t *testing.T) {
	const tested, passed, older = "Tested", "Passed", int64(1)
	gate := func(status metav1.ConditionStatus, since time.Duration, options ...rt.ConditionOption) rt.WorkOption {
		return rt.With(rt.Condition(tested, status, since, options...))
	}
	is := func(options ...rt.WorkOption) []rt.WorkOption { return options }
	progresses := rt.Progresses(3 * minute)
	plain, ruled := rt.Revision("bbb"), rt.Revision("bbb", rt.Rules(tested, "Progressing"))
	ambiguous := rt.Revision("bbb", rt.Rules(tested, "Progressing"), rt.Rules(tested))
	for name, tc := range map[string]struct {
		rev   *work.Revision
		work  []rt.WorkOption
		types []string
		state work.State
		since time.Duration
		// blocks is the gate, and next is the time at which a verdict of False counts.
		blocks string
		next   time.Duration
	}{
		"no gate":                           {types: []string{}, state: work.Succeeded, since: 3 * minute},
		"missing":                           {state: work.Validating, since: 3 * minute, blocks: tested},
		"missing, and not always watched":   {work: is(rt.WatchedSince(9 * minute)), state: work.Validating, since: 9 * minute, blocks: tested},
		"True":                              {work: is(gate("True", 5*minute)), state: work.Succeeded, since: 5 * minute},
		"True before the success":           {work: is(gate("True", 2*minute)), state: work.Succeeded, since: 3 * minute},
		"True since the older revision":     {work: is(gate("True", 0)), state: work.Succeeded, since: 3 * minute},
		"True of an older generation":       {work: is(gate("True", 5*minute, rt.Observed(older))), state: work.Validating, since: 3 * minute, blocks: tested},
		"True without a generation":         {work: is(gate("True", 5*minute, rt.Observed(0))), state: work.Validating, since: 3 * minute, blocks: tested},
		"Unknown":                           {work: is(gate("Unknown", 5*minute)), state: work.Validating, since: 5 * minute, blocks: tested},
		"False":                             {work: is(gate("False", 5*minute)), state: work.GateFailed, since: 5*minute + 3*second, blocks: tested},
		"False for a moment":                {work: is(gate("False", 10*minute-second)), state: work.Validating, since: 10*minute - second, blocks: tested, next: 10*minute + 2*second},
		"False of an older generation":      {work: is(gate("False", 5*minute, rt.Observed(older))), state: work.Validating, since: 3 * minute, blocks: tested},
		"False since the older revision":    {work: is(gate("False", 0)), state: work.Validating, since: 3 * minute, blocks: tested},
		"False, and the clock is ahead":     {work: is(gate("False", 5*minute), rt.ClockAhead()), state: work.Validating, since: minute, blocks: tested},
		"False in the future":               {work: is(gate("False", 12*minute)), state: work.Validating, since: 3 * minute, blocks: tested},
		"False while it progresses":         {work: is(gate("False", 5*minute), progresses), state: work.GateFailed, since: 5*minute + 3*second, blocks: tested},
		"False for a moment, progresses":    {work: is(gate("False", 10*minute-second), progresses), state: work.InFlight, since: 3 * minute, next: 10*minute + 2*second},
		"Unknown while it progresses":       {work: is(gate("Unknown", 5*minute), progresses), state: work.InFlight, since: 3 * minute},
		"by a rule: True":                   {rev: ruled, work: is(gate("True", 5*minute)), state: work.Succeeded, since: 5 * minute},
		"by a rule: False":                  {rev: ruled, work: is(gate("False", 5*minute)), state: work.GateFailed, since: 5*minute + 3*second, blocks: tested},
		"by a rule: False while progresses": {rev: ruled, work: is(gate("False", 5*minute), progresses), state: work.InFlight, since: 3 * minute},
		"by a rule: False may be not yet":   {rev: ambiguous, work: is(gate("False", 5*minute)), state: work.Validating, since: 5 * minute, blocks: tested},
		"one of two is open":                {types: []string{tested, passed}, work: is(gate("True", 5*minute)), state: work.Validating, since: 5 * minute, blocks: passed},
		"one of two is False": {
			types: []string{passed, tested}, work: is(gate("False", 5*minute)), state: work.GateFailed, since: 5*minute + 3*second, blocks: tested,
		},
		"both are open: since the later": {
			types: []string{passed, tested}, work: is(gate("True", 5*minute), rt.With(rt.Condition(passed, "True", 6*minute))),
			state: work.Succeeded, since: 6 * minute,
		},
		"removed after a success that this process saw": {work: is(rt.StateChangedAt(9 * minute)), state: work.Validating, since: 9 * minute, blocks: tested},
		"a deletion after a success":                    {work: is(rt.DeletedAt(9*minute), rt.SeenSucceeding(4*minute)), state: work.Succeeded, since: 4 * minute},
		"a deletion without a success":                  {work: is(rt.DeletedAt(9*minute), rt.JustSeenSucceeding()), state: work.Validating, since: 3 * minute, blocks: tested},
		"a deletion, then False":                        {work: is(rt.DeletedAt(5*minute), rt.JustSeenSucceeding(), gate("False", 5*minute)), state: work.Validating, since: 5 * minute, blocks: tested},
		"a deletion, then Unknown":                      {work: is(rt.DeletedAt(5*minute), rt.JustSeenSucceeding(), gate("Unknown", 8*minute)), state: work.Validating, since: 5 * minute, blocks: tested},
		"False, then a deletion":                        {work: is(rt.DeletedAt(6*minute), rt.JustSeenSucceeding(), gate("False", 5*minute)), state: work.GateFailed, since: 5*minute + 3*second, blocks: tested},
		"an older revision ran to completion":           {work: is(rt.IsComplete(0, rt.Observed(older))), state: work.Completed, since: minute},
	} {
		t.Run(name, func(t *testing.T) {
			rev := tc.rev
			if rev == nil {
				rev = plain
			}
			if tc.types == nil {
				tc.types = []string{tested}
			}
			var gates []work.Gate
			for _, conditionType := range tc.types {
				gates = append(gates, rev.Gate(conditionType))
			}
			options := append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(minute), rt.Generation(2), rt.Succeeded(3 * minute)}, tc.work...)
			w := rt.Work("c1", options...)
			found, blocks, next := work.Gated(&w, rev, gates, rt.At(10*minute), 3*second)
			require.Equal(t, work.Assessment{State: tc.state, Since: rt.At(tc.since)}, found)
			require.Equal(t, tc.blocks, blocks)
			if tc.next == 0 {
				require.Zero(t, next)
			} else {
				require.Equal(t, rt.At(tc.next), next)
			}
		})
	}
}

// TestGatedInHandover: the conditions of the revision's own manifests count, but those of the kept objects do not.
func TestGatedInHandover(t *testing.T) {
	const tested = "Tested"
	rev := rt.Revision("bbb", rt.Rules(tested, "Progressing"))
	manifest := func(status metav1.ConditionStatus) rt.WorkOption {
		return rt.Manifest(rt.Condition("Applied", "True", 2*minute), rt.Condition("Available", "True", 2*minute),
			rt.Condition("Progressing", "False", 3*minute), rt.Condition(tested, status, 5*minute, rt.Because("ConditionRuleEvaluated")))
	}
	for name, tc := range map[string]struct {
		own, kept metav1.ConditionStatus
		state     work.State
	}{
		"the kept one failed": {own: "True", kept: "False", state: work.Succeeded},
		"the own one failed":  {own: "False", kept: "True", state: work.GateFailed},
		"the own one is open": {own: "Unknown", kept: "True", state: work.Validating},
	} {
		t.Run(name, func(t *testing.T) {
			w := rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(minute), rt.Succeeded(3*minute), rt.With(rt.Condition(tested, tc.kept, 5*minute)),
				manifest(tc.own), manifest(tc.kept))
			w.Combined = &handover.Combined{Digest: w.Digest, Manifests: 1}
			w.Object.Status.ResourceStatus.Manifests = work.TrimHandover(w.Object.Status.ResourceStatus.Manifests)
			found, _, _ := work.Gated(&w, rev, []work.Gate{rev.Gate(tested)}, rt.At(10*minute), 3*second)
			require.Equal(t, tc.state, found.State)
		})
	}
}
