package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// started names the clusters to which a plan writes the desired revision, in order.
func started(p *rollout.Plan) string {
	var names []string
	for _, w := range p.Writes {
		if w.Revision != nil && w.Action != rollout.Adopt && !w.StandIn {
			names = append(names, w.Cluster)
		}
	}
	return strings.Join(names, " ")
}

func decide(options ...rt.SnapshotOption) *rollout.Plan {
	return rollout.Decide(rt.Snapshot(options...))
}

// Works of the rollout from aaa to bbb at 10m. The deadline of the tests is 5m.
func old(cluster string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("aaa"), rt.Succeeded(0)}, more...)...)
}
func inFlight(cluster string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(8 * minute), rt.InFlight(8 * minute)}, more...)...)
}
func broken(cluster string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(8 * minute), rt.Degraded(8 * minute)}, more...)...)
}
func failed(cluster string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(2 * minute), rt.InFlight(2 * minute)}, more...)...)
}
func done(cluster string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(2 * minute), rt.Succeeded(3 * minute)}, more...)...)
}

// TestNextBatch: the clusters that are next.
func TestNextBatch(t *testing.T) {
	deadline := rt.Deadline("5m")
	threeGroups := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append(options, deadline, rt.Group("a", "c1", "c2"), rt.Group("b", "c3", "c4"), rt.Group("c", "c5", "c6"))...)
	}
	counting := func(selected int, ref placement.Ref) placement.Ref {
		rt.Expecting(selected)(&ref)
		return ref
	}
	for name, tc := range map[string]struct {
		ref   placement.Ref
		works []work.Work
		want  string
	}{
		"All: everyone at once": {
			ref: rt.Ref("p1", rt.Clusters("c1", "c2", "c3")), works: []work.Work{old("c1"), old("c3")}, want: "c1 c2 c3",
		},
		"All: a tolerated degraded cluster": {
			ref: rt.Ref("p1", rt.MaxFailures(1), rt.Clusters("c1", "c2")), works: []work.Work{broken("c1")}, want: "c2",
		},

		"Progressive: the first batch, in the order of the names": {
			ref: rt.Ref("p1", rt.Progressive(2), rt.Clusters("c3", "c2", "c1")), want: "c1 c2",
		},
		"Progressive: a percentage is rounded up": {
			ref: rt.Ref("p1", rt.Progressive("34%"), rt.Clusters("c1", "c2", "c3")), want: "c1 c2",
		},
		"Progressive: one in flight takes a slot": {
			ref: rt.Ref("p1", rt.Progressive(2), rt.Clusters("c1", "c2", "c3", "c4")), works: []work.Work{inFlight("c2")}, want: "c1",
		},
		"Progressive: a soaking success does not": {
			ref:   rt.Ref("p1", rt.Progressive(1), rt.Soak(8*minute), rt.Clusters("c1", "c2")),
			works: []work.Work{done("c1")}, want: "",
		},
		"Progressive: a tolerated failed cluster frees its slot": {
			ref:   rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures(1), rt.Clusters("c1", "c2")),
			works: []work.Work{failed("c1")}, want: "c2",
		},
		"Progressive: an edited work is put back in its turn": {
			ref:   rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1", "c2", "c3")),
			works: []work.Work{inFlight("c1"), done("c2", rt.Edited()), done("c3")}, want: "",
		},

		"quirk: nothing of the rest comes along in the mandatory phase": {
			ref:   rt.Ref("p1", rt.PerGroup(), deadline, rt.Mandatory("b"), rt.Group("a", "c1"), rt.Group("b", "c2", "c3")),
			works: []work.Work{inFlight("c2"), done("c3")}, want: "",
		},

		"PerGroup: the first group": {
			ref: threeGroups(rt.PerGroup()), want: "c1 c2",
		},
		"PerGroup: the next one when all have succeeded": {
			ref: threeGroups(rt.PerGroup()), works: []work.Work{done("c1"), done("c2")}, want: "c3 c4",
		},
		"PerGroup: the next one after a tolerated failure": {
			ref: threeGroups(rt.PerGroup(), rt.MaxFailures(1)), works: []work.Work{done("c1"), failed("c2")}, want: "c3 c4",
		},
		"PerGroup: nothing after a failure that is not tolerated": {
			ref: threeGroups(rt.PerGroup()), works: []work.Work{done("c1"), failed("c2")}, want: "",
		},
		"PerGroup: a mandatory group first": {
			ref: threeGroups(rt.PerGroup(), rt.Mandatory("b")), want: "c3 c4",
		},
		"PerGroup: then the rest, in order": {
			ref: threeGroups(rt.PerGroup(), rt.Mandatory("b")), works: []work.Work{done("c3"), done("c4")}, want: "c1 c2",
		},

		// A pass writes for at most half a second: the rest of a group is started while its first clusters are in flight.
		"PerGroup: the rest of a later group": {
			ref: threeGroups(rt.PerGroup()), works: []work.Work{done("c1"), done("c2"), inFlight("c3")}, want: "c4",
		},
		"PerGroup: not a later group, whatever is on its way in one after it": {
			ref: threeGroups(rt.PerGroup()), works: []work.Work{done("c1"), inFlight("c2"), inFlight("c5")}, want: "",
		},
		"PerGroup: no group before all are counted, as another may be the first": {
			ref: counting(2, threeGroups(rt.PerGroup())), want: "",
		},
		"Progressive: none of the rest before all are counted, as one may be mandatory": {
			ref: counting(2, threeGroups(rt.Progressive(1), rt.Mandatory("d"))), want: "",
		},
		"Progressive: without mandatory groups there is no order to keep": {
			ref: counting(2, threeGroups(rt.Progressive(1))), want: "c1",
		},

		"Progressive: mandatory groups one after the other, by index": {
			ref: threeGroups(rt.Progressive(1), rt.Mandatory("c", "b")), works: []work.Work{inFlight("c3"), done("c4")}, want: "",
		},
		"Progressive: the rest after the mandatory groups": {
			ref: threeGroups(rt.Progressive(3), rt.Mandatory("b")), works: []work.Work{done("c3"), done("c4")}, want: "c1 c2 c5",
		},
		"a work that is being deleted is not written": {
			ref: rt.Ref("p1", rt.Clusters("c1", "c2")), works: []work.Work{old("c1", rt.Deleting())}, want: "c2",
		},
		"a work that the API server stores otherwise is not written again": {
			ref: rt.Ref("p1", rt.Clusters("c1")), works: []work.Work{done("c1", rt.StoredOtherwise("bbb"))}, want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Refs(tc.ref), rt.Works(tc.works...))
			if err := p.Refs[0].Err; err != nil {
				t.Fatal(err)
			}
			if got := started(p); got != tc.want {
				t.Errorf("got %q, want %q; %v", got, tc.want, p.Phases())
			}
		})
	}
}

// TestSettle: a success counts after the settle time, and a pass is scheduled for that time.
func TestSettle(t *testing.T) {
	success := func(more ...rt.WorkOption) work.Work {
		return rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb"), rt.WrittenAt(0), rt.Succeeded(minute)}, more...)...)
	}
	for name, tc := range map[string]struct {
		work    work.Work
		soak    rt.RefOption
		phase   rollout.Phase
		recheck string
	}{
		"seen for long enough":         {success(rt.SeenSucceeding(10*minute - 3*second)), rt.Soak(0), rollout.PhaseSucceeded, "0s"},
		"seen for a moment":            {success(rt.SeenSucceeding(10*minute - second)), rt.Soak(0), rollout.PhaseSoaking, "2s"},
		"seen for the first time":      {success(rt.JustSeenSucceeding()), rt.Soak(0), rollout.PhaseSoaking, "3s"},
		"settled, not soaked":          {success(), rt.Soak(10 * minute), rollout.PhaseSoaking, "1m0s"},
		"soaked, not settled":          {success(rt.SeenSucceeding(10*minute - second)), rt.Soak(minute), rollout.PhaseSoaking, "2s"},
		"soaked to the instant":        {success(), rt.Soak(9 * minute), rollout.PhaseSucceeded, "0s"},
		"a success of before the undo": {success(rt.SeenSucceeding(9 * minute)), rt.Soak(2 * minute), rollout.PhaseSoaking, "1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			update := rt.Revision("bbb")
			if strings.Contains(name, "undo") {
				update = rt.Revision("bbb", rt.ReusedAt(9*minute))
			}
			p := decide(rt.Now(10*minute), rt.Settle(3*second), rt.Updating(update), rt.Works(tc.work),
				rt.Refs(rt.Ref("p1", rt.Progressive(1), tc.soak, rt.Clusters("c1"))))
			if p.Phases()["c1"] != tc.phase || p.Recheck.String() != tc.recheck {
				t.Errorf("got %s, again after %s; want %s, %s", p.Phases()["c1"], p.Recheck, tc.phase, tc.recheck)
			}
			if p.Complete != (tc.phase == rollout.PhaseSucceeded) {
				t.Errorf("complete is %v", p.Complete)
			}
		})
	}
}

func texts(p *rollout.Plan) []string {
	var out []string
	for _, w := range p.Writes {
		out = append(out, w.String())
	}
	for _, d := range p.Deletes {
		out = append(out, d.String())
	}
	return out
}

// TestPlanIsSorted: the order of the works does not change messages and writes.
func TestPlanIsSorted(t *testing.T) {
	works := []work.Work{failed("c3"), failed("c1"), broken("c2", rt.Deleting(), rt.InGroup("0/"))}
	ref := rt.Ref("p1", rt.Deadline("5m"), rt.Clusters("c3", "c1"))
	first := decide(rt.Now(10*minute), rt.Refs(ref), rt.Works(works...))
	slices.Reverse(works)
	second := decide(rt.Now(10*minute), rt.Refs(ref), rt.Works(works...))
	require.Equal(t, first.Failing, second.Failing)
}
