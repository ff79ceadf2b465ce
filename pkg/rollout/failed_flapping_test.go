package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestCrashLoop: a cluster that flaps fails if it has not settled within twice the sum of the deadline and the soak. The work was written
// at 0, the deadline is 5m, and the soak is 1m.
func TestCrashLoop(t *testing.T) {
	turned := func(state rt.WorkOption, more ...rt.WorkOption) work.Work {
		return rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb"), state}, more...)...)
	}
	long := rt.ConnectedSince(-hour)
	for name, tc := range map[string]struct {
		now, connected rt.SnapshotOption
		update         *work.Revision
		work           work.Work
		phase          rollout.Phase
		recheck        string
	}{
		"sick again, then":              {now: rt.Now(12 * minute), work: turned(rt.InFlight(11 * minute)), phase: rollout.PhaseFailed, recheck: "0s"},
		"well again, a second before":   {now: rt.Now(12*minute - second), work: turned(rt.Succeeded(11*minute+30*second), rt.SeenSucceeding(11*minute+30*second)), phase: rollout.PhaseSoaking, recheck: "1s"},
		"well again, then":              {now: rt.Now(12 * minute), work: turned(rt.Succeeded(11*minute+30*second), rt.Relapsed()), phase: rollout.PhaseFailed, recheck: "0s"},
		"well for the first time, then": {now: rt.Now(12 * minute), work: turned(rt.Succeeded(11*minute + 30*second)), phase: rollout.PhaseSoaking, recheck: "30s"},
		"an agent's clock is ahead":     {now: rt.Now(13 * minute), work: turned(rt.Succeeded(12*minute+30*second), rt.SeenSucceeding(12*minute)), phase: rollout.PhaseSoaking, recheck: "30s"},
		"it had settled, a retry later": {now: rt.Now(30 * minute), update: rt.Revision("bbb", rt.RetriedAt(10*minute)), work: turned(rt.InFlight(29*minute), rt.SettledAt(4*minute)), phase: rollout.PhaseFailed, recheck: "0s"},
		"a hub that came back since":    {now: rt.Now(12 * minute), connected: rt.ConnectedSince(11 * minute), work: turned(rt.InFlight(11 * minute)), phase: rollout.PhaseInFlight, recheck: "1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.connected == nil {
				tc.connected = long
			}
			if tc.update == nil {
				tc.update = rt.Revision("bbb")
			}
			ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Soak(minute), rt.AbortAll(), rt.Clusters("c1"))
			p := decide(tc.now, tc.connected, rt.Settle(3*second), rt.Updating(tc.update), rt.Refs(ref), rt.Works(tc.work))
			if p.Phases()["c1"] != tc.phase || p.Recheck.String() != tc.recheck {
				t.Errorf("%s, again after %s; want %s, %s", p.Phases()["c1"], p.Recheck, tc.phase, tc.recheck)
			}
			if aborted := p.Abort != nil; aborted != (tc.phase == rollout.PhaseFailed) {
				t.Errorf("abort %v", p.Abort)
			}
			if p.Abort != nil && !strings.Contains(p.Abort.Reason, "failed (c1): not settled within 12m0s") {
				t.Error(p.Abort.Reason)
			}
		})
	}
	for _, deadline := range []string{"None", "2000000h"} {
		t.Run(deadline, func(t *testing.T) {
			ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline(deadline), rt.Soak(2000000*hour), rt.Clusters("c1"))
			if p := decide(rt.Now(1000*hour), rt.Refs(ref), rt.Works(turned(rt.InFlight(minute)))); p.Refs[0].Failed {
				t.Error("it never fails")
			}
		})
	}
}

// TestReasonOfAFailureStays: the deadline that fires first is the reason, even after the other deadline has fired.
func TestReasonOfAFailureStays(t *testing.T) {
	for name, tc := range map[string]struct {
		work    work.Work
		looping bool
	}{
		"the longer one came first": {rt.Work("c1", rt.AtRevision("bbb"), rt.InFlight(11*minute)), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, now := range []rt.SnapshotOption{rt.Now(12 * minute), rt.Now(15 * minute), rt.Now(16 * minute), rt.Now(hour)} {
				ref := rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Soak(minute), rt.AbortAll(), rt.Clusters("c1"))
				p := decide(now, rt.Refs(ref), rt.Works(tc.work))
				if p.Abort == nil || strings.Contains(p.Abort.Reason, "not settled") != tc.looping {
					t.Errorf("%+v", p.Abort)
				}
			}
		})
	}
}

// TestSettledIsTold: a success that has settled is reported once, for the next snapshot.
func TestSettledIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		work work.Work
		want int
	}{
		"settled now":        {done("c1"), 1},
		"settled before":     {done("c1", rt.SettledAt(4*minute)), 0},
		"of another rollout": {done("c1", rt.SettledAt(minute)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if p := decide(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Clusters("c1"))), rt.Works(tc.work)); len(p.Settled) != tc.want {
				t.Error(fmt.Sprint(len(p.Settled)))
			}
		})
	}
}
