package rollout_test

import (
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestFailed: whether a cluster, or its ref, has failed.
func TestFailed(t *testing.T) {
	deadline := rt.Deadline("5m")
	four := rt.Clusters("c1", "c2", "c3", "c4")
	twoGroups := func(options ...rt.RefOption) placement.Ref {
		return rt.Ref("p1", append(options, deadline, rt.Group("a", "c1", "c2"), rt.Group("b", "c3", "c4"))...)
	}
	for name, tc := range map[string]struct {
		ref            placement.Ref
		works          []work.Work
		failed, halted bool
	}{
		"nothing failed":                              {ref: rt.Ref("p1", deadline, four), works: []work.Work{inFlight("c1"), done("c2"), old("c3")}},
		"in flight past the deadline":                 {ref: rt.Ref("p1", deadline, four), works: []work.Work{failed("c1")}, failed: true, halted: true},
		"degraded before the deadline":                {ref: rt.Ref("p1", deadline, four), works: []work.Work{broken("c1")}, halted: true},
		"no deadline":                                 {ref: rt.Ref("p1", four), works: []work.Work{failed("c1")}},
		"deadline None":                               {ref: rt.Ref("p1", rt.Deadline("None"), four), works: []work.Work{failed("c1")}},
		"All: as many as tolerated":                   {ref: rt.Ref("p1", deadline, rt.MaxFailures(1), four), works: []work.Work{failed("c1")}},
		"All: one more":                               {ref: rt.Ref("p1", deadline, rt.MaxFailures(1), four), works: []work.Work{failed("c1"), failed("c2")}, failed: true, halted: true},
		"All: failed and degraded":                    {ref: rt.Ref("p1", deadline, rt.MaxFailures(1), four), works: []work.Work{failed("c1"), broken("c2")}, halted: true},
		"Progressive: a percentage is rounded up":     {ref: rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures("26%"), four), works: []work.Work{failed("c1"), failed("c2")}},
		"Progressive: beyond the percentage":          {ref: rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures("25%"), four), works: []work.Work{failed("c1"), failed("c2")}, failed: true, halted: true},
		"Progressive: 0%":                             {ref: rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures("0%"), four), works: []work.Work{failed("c1")}, failed: true, halted: true},
		"Progressive: 100%":                           {ref: rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures("100%"), four), works: []work.Work{failed("c1"), failed("c2"), failed("c3"), failed("c4")}},
		"maxFailures larger than the fleet":           {ref: rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures(9), four), works: []work.Work{failed("c1"), failed("c2"), failed("c3"), failed("c4")}},
		"Progressive: over all groups":                {ref: twoGroups(rt.Progressive(4), rt.MaxFailures(1)), works: []work.Work{failed("c1"), failed("c3")}, failed: true, halted: true},
		"PerGroup: one in each":                       {ref: twoGroups(rt.PerGroup(), rt.MaxFailures(1)), works: []work.Work{failed("c1"), failed("c3")}},
		"PerGroup: two in one":                        {ref: twoGroups(rt.PerGroup(), rt.MaxFailures(1)), works: []work.Work{failed("c3"), failed("c4")}, failed: true, halted: true},
		"PerGroup: a percentage of each group":        {ref: twoGroups(rt.PerGroup(), rt.MaxFailures("50%")), works: []work.Work{failed("c1"), failed("c3")}},
		"PerGroup: not one in a mandatory":            {ref: twoGroups(rt.PerGroup(), rt.MaxFailures(2), rt.Mandatory("a")), works: []work.Work{failed("c1")}, failed: true, halted: true},
		"PerGroup: in the rest beside it":             {ref: twoGroups(rt.PerGroup(), rt.MaxFailures(1), rt.Mandatory("a")), works: []work.Work{failed("c3")}},
		"Progressive: not one in a mandatory":         {ref: twoGroups(rt.Progressive(1), rt.MaxFailures(4), rt.MandatoryAt(0)), works: []work.Work{failed("c1")}, failed: true, halted: true},
		"Progressive: a degraded mandatory one":       {ref: twoGroups(rt.Progressive(1), rt.MaxFailures(4), rt.Mandatory("a")), works: []work.Work{broken("c1")}, halted: true},
		"who completed an older revision":             {ref: rt.Ref("p1", deadline, four), works: []work.Work{rt.Work("c1", rt.AtRevision("bbb"), rt.Generation(2), rt.IsComplete(0, rt.Observed(1)))}},
		"another revision has no deadline":            {ref: rt.Ref("p1", rt.Progressive(0), deadline, four), works: []work.Work{rt.Work("c1", rt.AtRevision("aaa"), rt.IsDegraded(0), rt.Applied(0))}},
		"a late success heals":                        {ref: rt.Ref("p1", deadline, four), works: []work.Work{failed("c1", rt.Rests(9*minute), rt.Available(9*minute))}},
		"degraded for the deadline":                   {ref: rt.Ref("p1", deadline, four), works: []work.Work{failed("c1", rt.IsDegraded(4*minute), rt.Rests(3*minute))}, failed: true, halted: true},
		"an edited work is not there, nor has failed": {ref: rt.Ref("p1", deadline, four), works: []work.Work{failed("c1", rt.Edited())}},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Refs(tc.ref), rt.Works(tc.works...))
			if p.Refs[0].Failed != tc.failed || p.Refs[0].Halted != tc.halted {
				t.Errorf("failed %v, halted %v; want %v, %v; %v", p.Refs[0].Failed, p.Refs[0].Halted, tc.failed, tc.halted, p.Phases())
			}
		})
	}
}

// TestDeadline: a deadline fires exactly on time, but not before the agents have had time to report.
func TestDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		deadline  string
		connected rt.SnapshotOption
		now       rt.SnapshotOption
		failed    bool
		recheck   string
	}{
		"a moment before":                         {"5m", rt.ConnectedSince(-hour), rt.Now(5*minute - 1), false, "1ms"},
		"a second before":                         {"5m", rt.ConnectedSince(-hour), rt.Now(5*minute - second), false, "1s"},
		"then":                                    {"5m", rt.ConnectedSince(-hour), rt.Now(5 * minute), true, "0s"},
		"the hub came back a minute ago":          {"5m", rt.ConnectedSince(9 * minute), rt.Now(10 * minute), false, "1m0s"},
		"the hub came back two minutes ago":       {"5m", rt.ConnectedSince(8 * minute), rt.Now(10 * minute), true, "0s"},
		"no longer than the deadline itself":      {"30s", rt.ConnectedSince(9 * minute), rt.Now(10 * minute), true, "0s"},
		"the grace of a short deadline":           {"30s", rt.ConnectedSince(10*minute - 10*second), rt.Now(10 * minute), false, "20s"},
		"the grace does not lengthen a later one": {"20m", rt.ConnectedSince(9 * minute), rt.Now(20 * minute), true, "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(tc.now, tc.connected, rt.Refs(rt.Ref("p1", rt.Deadline(tc.deadline), rt.Clusters("c1"))),
				rt.Works(rt.Work("c1", rt.AtRevision("bbb"))))
			if p.Refs[0].Failed != tc.failed || p.Recheck.String() != tc.recheck {
				t.Errorf("failed %v, again after %s; want %v, %s", p.Refs[0].Failed, p.Recheck, tc.failed, tc.recheck)
			}
		})
	}
}
