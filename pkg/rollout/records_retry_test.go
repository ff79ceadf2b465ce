package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestRetriedUntil: a cluster that had failed by the time of a retry gets one new deadline; no other cluster does. The works were written
// at 0, the deadline is 5m, and the time is minute 21.
func TestRetriedUntil(t *testing.T) {
	const until = 20 * time.Minute
	at := func(state rt.WorkOption, more ...rt.WorkOption) work.Work {
		return rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb"), state}, more...)...)
	}
	for name, tc := range map[string]struct {
		work     work.Work
		deadline string
		until    time.Duration
		phase    rollout.Phase
		renewed  bool
	}{
		"it was overdue":               {work: at(rt.InFlight(0)), phase: rollout.PhaseInFlight, renewed: true},
		"it was degraded for too long": {work: at(rt.Degraded(10 * time.Minute)), phase: rollout.PhaseDegraded, renewed: true},
		"it flapped":                   {work: at(rt.InFlight(19 * time.Minute)), phase: rollout.PhaseInFlight, renewed: true},
		"it was not overdue yet":       {work: at(rt.InFlight(18*time.Minute), rt.SettledAt(time.Minute)), phase: rollout.PhaseInFlight},
		"it failed since":              {work: at(rt.InFlight(15*time.Minute+time.Second), rt.SettledAt(time.Minute)), phase: rollout.PhaseFailed},
		"it succeeded":                 {work: at(rt.Succeeded(time.Minute), rt.SeenSucceeding(time.Minute)), phase: rollout.PhaseSucceeded},
		"the retry is to come":         {work: at(rt.InFlight(0)), until: 22 * time.Minute, phase: rollout.PhaseFailed},
		"without a deadline, degraded": {work: at(rt.Degraded(0)), deadline: "None", phase: rollout.PhaseDegraded, renewed: true},
		"without a deadline, since":    {work: at(rt.Degraded(20*time.Minute + time.Second)), deadline: "None", phase: rollout.PhaseDegraded},
		"without a deadline":           {work: at(rt.InFlight(0)), deadline: "None", phase: rollout.PhaseInFlight},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.deadline == "" {
				tc.deadline = "5m"
			}
			if tc.until == 0 {
				tc.until = until
			}
			ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline(tc.deadline), rt.Clusters("c1"))
			s := rt.Snapshot(rt.Now(21*time.Minute), rt.ConnectedSince(-time.Hour), rt.Settle(3*time.Second), rt.Rolling("aaa", "bbb"), rt.Refs(ref), rt.Works(tc.work))
			s.RetriedUntil = rt.At(tc.until)
			p := rollout.Decide(s)
			require.Equal(t, tc.phase, p.Phases()["c1"])
			renewed := 0
			for _, write := range p.Writes {
				if write.Retry {
					renewed++
				}
			}
			require.Equal(t, tc.renewed, renewed == 1, "%v", p.Writes)
			if tc.until > 21*time.Minute {
				require.Equal(t, time.Minute, p.Recheck, "the next pass is then")
			}
		})
	}
}
