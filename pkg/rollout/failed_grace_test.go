package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestDeadlinesAfterAGap: after a gap, no deadline fires for as long as the gap lasted, and no longer.
func TestDeadlinesAfterAGap(t *testing.T) {
	hangs := rt.Work("c1", rt.AtRevision("bbb"))
	loops := rt.Work("c1", rt.AtRevision("bbb"), rt.InFlight(10*minute))
	for name, tc := range map[string]struct {
		work     work.Work
		now      time.Duration
		deadline string
		ended    time.Duration
		length   time.Duration
		failed   bool
		recheck  string
	}{
		"it ended a moment ago":        {hangs, 5*minute + second, "5m", 5 * minute, 3 * second, false, "2s"},
		"nor longer than the deadline": {hangs, 5*minute + 30*second, "30s", 5 * minute, hour, true, "0s"},
		"a crash loop":                 {loops, 10*minute + second, "5m", 10 * minute, 3 * second, false, "2s"},
		"a crash loop, as much later":  {loops, 10*minute + 3*second, "5m", 10 * minute, 3 * second, true, "0s"},
		"it makes no deadline earlier": {hangs, 5*minute - second, "5m", 4 * minute, second, false, "1s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rt.Snapshot(rt.Now(tc.now), rt.Refs(rt.Ref("p1", rt.Deadline(tc.deadline), rt.Clusters("c1"))), rt.Works(tc.work))
			s.Gap = rollout.Gap{End: rt.At(tc.ended), Length: tc.length}
			p := rollout.Decide(s)
			if p.Refs[0].Failed != tc.failed || p.Recheck.String() != tc.recheck {
				t.Errorf("failed %v, again after %s; want %v, %s", p.Refs[0].Failed, p.Recheck, tc.failed, tc.recheck)
			}
			if early := s.Now.Before(s.Gap.End.Add(min(tc.length, 2*minute))); s.BeganLately() != early {
				t.Errorf("began lately: %v, want %v", s.BeganLately(), early)
			}
			if s.AssumeSettled().BeganLately() {
				t.Error("a process that has watched for a long time")
			}
		})
	}
}

// TestTimesOfAClockThatWasAhead: if a hub's clock was an hour ahead, a time that it wrote counts from when this process first saw that
// time.
func TestTimesOfAClockThatWasAhead(t *testing.T) {
	retried := func(begins, seen time.Duration) *work.Revision {
		rev := rt.Revision("bbb", rt.RetriedAt(begins))
		rev.BeginSeen = rt.At(seen)
		return rev
	}
	deleted := func(w work.Work) work.Work {
		w.DeletionSeen = rt.At(2 * minute)
		return w
	}
	for name, tc := range map[string]struct {
		update *work.Revision
		work   work.Work
		want   rollout.Phase
	}{
		"the rollout began, it hangs":        {retried(hour, 4*minute), rt.Work("c1", rt.AtRevision("bbb"), rt.InFlight(0)), rollout.PhaseFailed},
		"the rollout began, it hangs, early": {retried(hour, 6*minute), rt.Work("c1", rt.AtRevision("bbb"), rt.InFlight(0)), rollout.PhaseInFlight},
		"the rollout began, it succeeds":     {retried(hour, 4*minute), rt.Work("c1", rt.AtRevision("bbb"), rt.Succeeded(0), rt.SeenSucceeding(0)), rollout.PhaseSucceeded},
		"the work was written":               {rt.Revision("bbb"), rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(hour), rt.WatchedSince(4*minute)), rollout.PhaseFailed},
		"the older work was deleted":         {rt.Revision("bbb"), deleted(rt.Work("c1", rt.AtRevision("aaa"), rt.DeletedAt(hour))), rollout.PhaseTerminationTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Updating(tc.update), rt.Works(tc.work),
				rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Soak(minute), rt.Clusters("c1"))))
			if p.Phases()["c1"] != tc.want {
				t.Errorf("%s, again after %s; want %s", p.Phases()["c1"], p.Recheck, tc.want)
			}
		})
	}

	silent := inFlight("c1", rt.WrittenAt(hour), rt.WatchedSince(9*minute))
	p := decide(rt.Now(10*minute), rt.Heard(0, "c2"), rt.Refs(rt.Ref("p1", rt.Deadline("None"), rt.Clusters("c1"))), rt.Works(silent))
	require.Equal(t, []string{"c1"}, p.AgentUnknown, "named")
	p = decide(rt.Now(10*minute), rt.Heard(hour, "c1"), rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.Clusters("c1"))), rt.Works(failed("c1")))
	if p.Phases()["c1"] != rollout.PhaseFailed {
		t.Errorf("heard by a clock that was set back since: %s, again after %s", p.Phases()["c1"], p.Recheck)
	}
}
