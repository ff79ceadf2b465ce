package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestUnheard: over a broker, a cluster never counts as failed before this process has heard from its agent.
func TestUnheard(t *testing.T) {
	fleet := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append(options, rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3"))...)
	}
	for name, tc := range map[string]struct {
		heard   rt.SnapshotOption
		ref     placement.Ref
		works   []work.Work
		phase   rollout.Phase
		abort   bool
		halted  bool
		stalled bool
		started string
		named   []string
	}{
		"over the deadline": {
			heard: rt.Heard(0, "c2", "c3"), ref: fleet(), works: []work.Work{failed("c1"), done("c2"), done("c3")},
			phase: rollout.PhaseAgentUnknown, halted: true, stalled: true, named: []string{"c1"},
		},
		"over the deadline, and tolerated": {
			heard: rt.Heard(0, "c2", "c3"), ref: fleet(rt.Progressive(1), rt.MaxFailures(1)), works: []work.Work{failed("c1"), done("c2")},
			phase: rollout.PhaseAgentUnknown, started: "c3", named: []string{"c1"},
		},
		"written a moment ago": {
			heard: rt.Heard(0, "c2", "c3"), ref: fleet(rt.Progressive(1)),
			works: []work.Work{rt.Work("c1", rt.AtRevision("bbb"), rt.WrittenAt(10*minute-second)), done("c2")},
			phase: rollout.PhaseInFlight,
		},
		"heard for longer than the grace": {
			heard: rt.Heard(8*minute, "c1", "c2", "c3"), ref: fleet(), works: []work.Work{failed("c1"), done("c2"), done("c3")},
			phase: rollout.PhaseFailed, abort: true, halted: true,
		},
		"heard a moment ago": {
			heard: rt.Heard(8*minute+second, "c1", "c2", "c3"), ref: fleet(), works: []work.Work{failed("c1"), done("c2"), done("c3")},
			phase: rollout.PhaseInFlight,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rt.Snapshot(rt.Now(10*minute), rt.ConnectedSince(-hour), tc.heard, rt.Refs(tc.ref), rt.Works(tc.works...))
			p := rollout.Decide(s)
			if got := p.Phases()["c1"]; got != tc.phase {
				t.Errorf("c1 is %s, want %s", got, tc.phase)
			}
			if (p.Abort != nil) != tc.abort || p.Refs[0].Halted != tc.halted || p.Stalled != tc.stalled || started(p) != tc.started {
				t.Errorf("abort %v, halted %v, stalled %v, started %q; want %v, %v, %v, %q",
					p.Abort, p.Refs[0].Halted, p.Stalled, started(p), tc.abort, tc.halted, tc.stalled, tc.started)
			}
			require.Equal(t, tc.named, p.AgentUnknown, "named")
		})
	}
}

// TestMayBeInFlight: a cluster that may be in flight, because its agent has not reported, takes a slot before all others, so that no other
// cluster uses its slot (P4).
func TestMayBeInFlight(t *testing.T) {
	fleet := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append(options, rt.Deadline("5m"), rt.Clusters("c1", "c2", "c3", "c4"))...)
	}
	for name, tc := range map[string]struct {
		heard rt.SnapshotOption
		ref   placement.Ref
		works []work.Work
		want  string
	}{
		"it comes first":               {rt.Heard(0, "c1", "c2", "c3"), fleet(rt.Progressive(1)), []work.Work{old("c1"), old("c2"), old("c3")}, "c4"},
		"as many as there are slots":   {rt.Heard(0, "c1", "c2"), fleet(rt.Progressive(1)), []work.Work{old("c1"), old("c2")}, "c3"},
		"a write without an answer":    {unanswered("c3"), fleet(rt.Progressive(1)), []work.Work{old("c1"), old("c2"), old("c3"), old("c4")}, "c3"},
		"a creation without an answer": {unanswered("c4"), fleet(rt.Progressive(2)), []work.Work{inFlight("c1"), old("c2"), old("c3")}, "c4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := started(decide(rt.Now(10*minute), tc.heard, rt.Refs(tc.ref), rt.Works(tc.works...))); got != tc.want {
				t.Errorf("started %q, want %q", got, tc.want)
			}
		})
	}
}

func unanswered(cluster string) rt.SnapshotOption {
	return func(s *rollout.Snapshot) { s.Unanswered = map[string]bool{cluster: true} }
}

// TestNamedUnheardIsLookedAtAgain: a cluster that is named because its agent has not reported is checked again after a while, because a
// report from the agent does not always change a work.
func TestNamedUnheardIsLookedAtAgain(t *testing.T) {
	ref := rt.Ref("p1", rt.Deadline("None"), rt.Clusters("c1", "c2"))
	p := decide(rt.Now(10*minute), rt.Heard(0, "c2"), rt.Refs(ref), rt.Works(inFlight("c1"), done("c2")))
	require.Equal(t, []string{"c1"}, p.AgentUnknown, "named")
	require.Equal(t, minute, p.Recheck)
}

// TestInvalidNameIsNotAwaited: no agent ever reports under a name that is not a valid namespace, so a complete rollout is not rechecked
// for such a name.
func TestInvalidNameIsNotAwaited(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Heard(0, "c1"), rt.Works(done("c1")),
		rt.Refs(rt.Ref("p1", rt.All(), rt.MaxFailures(1), rt.Group("", "c1", `"no_such"`))))
	require.True(t, p.Complete)
	require.Zero(t, p.Recheck)
}
