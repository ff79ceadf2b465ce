package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const required = workv1alpha1.ApprovalRequired

// ringStates returns the states of the listed groups of a plan in one line.
func ringStates(p *rollout.Plan) string {
	var states []string
	for i := range p.Groups {
		g := &p.Groups[i]
		text := g.Group + " " + string(g.State)
		if g.For != "" {
			text += " for " + g.For
		}
		if !g.Until.IsZero() {
			text += " until " + g.Until.Sub(rt.Epoch).String()
		}
		if len(g.Unfinished) > 0 {
			text += fmt.Sprint(" ", g.Unfinished)
		}
		states = append(states, text)
	}
	return strings.Join(states, ", ")
}

// ringed is a placementRef with the groups a (c1, c2), b (c3, c4) and c (c5, c6).
func ringed(options ...rt.RefOption) placement.Ref {
	groups := []rt.RefOption{rt.Group("a", "c1", "c2"), rt.Group("b", "c3", "c4"), rt.Group("c", "c5", "c6")}
	return rt.Ref("p1", append(options, groups...)...)
}

// fleet returns a work for each of the six clusters: o for the older revision, f for in flight, x for failed, b for broken, d for done
// 3m ago.
func fleet(states string) rt.SnapshotOption {
	var works []work.Work
	for i, state := range strings.ReplaceAll(states, " ", "") {
		cluster := fmt.Sprintf("c%d", i+1)
		in := rt.InGroup([]string{"0/a", "0/a", "1/b", "1/b", "2/c", "2/c"}[i])
		switch state {
		case 'o':
			works = append(works, old(cluster, in))
		case 'f':
			works = append(works, inFlight(cluster, in))
		case 'x':
			works = append(works, failed(cluster, in))
		case 'b':
			works = append(works, broken(cluster, in))
		case 'd':
			works = append(works, done(cluster, in, rt.SettledAt(3*minute)))
		}
	}
	return rt.Works(works...)
}

// TestRings: the clusters that are next if rolloutStrategy.groups lists groups, and the reason why other clusters wait. A gate keeps the
// rollout in progress. The time is 10m.
func TestRings(t *testing.T) {
	listed, progressive, deadline := rt.Listed, rt.Progressive(6), rt.Deadline("5m")
	tolerant := rt.MaxFailures(6)
	canary := listed(rt.Ring("b", 10*minute))
	for name, tc := range map[string]struct {
		ref    placement.Ref
		states string
		with   []rt.SnapshotOption
		next   string
		groups string
		check  func(t *testing.T, p *rollout.Plan)
	}{
		"the list goes first, in its order, whatever the indices": {ref: ringed(progressive, deadline, listed(rt.Ring("c"), rt.Ring("a"))),
			states: "oo oo oo", next: "c5 c6", groups: "c Running [c5 c6], a Waiting for c [c1 c2]"},
		"by index": {ref: ringed(progressive, deadline, listed(rt.RingAt(1))), states: "oo oo oo", next: "c3 c4", groups: "1 Running [c3 c4]"},
		"the next one begins when the first is done": {ref: ringed(progressive, deadline, listed(rt.Ring("c"), rt.Ring("a"))),
			states: "oo oo dd", next: "c1 c2", groups: "c Done, a Running [c1 c2]"},
		"one cluster in flight holds the next one": {ref: ringed(progressive, deadline, listed(rt.Ring("c"), rt.Ring("a"))),
			states: "oo oo df", groups: "c Running [c6], a Waiting for c [c1 c2]"},
		"the others begin after the last one": {ref: ringed(progressive, deadline, listed(rt.Ring("c"), rt.Ring("a"))),
			states: "dd oo dd", next: "c3 c4", groups: "c Done, a Done"},
		"ProgressivePerGroup": {ref: ringed(rt.PerGroup(), deadline, listed(rt.Ring("c"))),
			states: "oo oo dd", next: "c1 c2", groups: "c Done"},
		"ProgressivePerGroup, by the list": {ref: ringed(rt.PerGroup(), deadline, listed(rt.Ring("c"), rt.Ring("b"))),
			states: "oo oo dd", next: "c3 c4", groups: "c Done, b Running [c3 c4]"},
		"a failure within maxFailures": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("a"))),
			states: "dx oo oo", next: "c3 c4 c5 c6", groups: "a Done"},
		"a failure above maxFailures": {ref: ringed(progressive, deadline, listed(rt.Ring("a"))),
			states: "dx oo oo", groups: "a Done", check: halted},
		"every cluster fails within maxFailures": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("a", 10*minute), rt.Ring("b", required))),
			states: "xx oo oo", groups: "a Failed, b Waiting for a [c3 c4]", check: stalled},
		"every cluster that is not skipped fails": {ref: ringed(progressive, tolerant, skip, deadline, listed(rt.Ring("a"))),
			states: "xo oo oo", with: options(rt.Unavailable(0, "c2")), groups: "a Failed", check: stalled},
		"the clusters after the group that fails are skipped": {ref: ringed(progressive, tolerant, skip, deadline, listed(rt.Ring("b"), rt.Ring("a"))),
			states: "xx dd oo", with: options(rt.Unavailable(0, "c5", "c6")), groups: "b Done, a Failed", check: stalled},
		"nothing comes after the group that fails": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("b"), rt.Ring("a"), rt.Ring("c"))),
			states: "dd dd xx", check: complete},
		"a cluster of the group that fails is on hold": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("b"), rt.Ring("a"), rt.Ring("c"))),
			states: "dd dd xo", with: options(func(s *rollout.Snapshot) { s.Holds = map[string]placement.Hold{"c6": {Reason: "maintenance"}} }), check: complete},
		"a degraded cluster": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("a"))),
			states: "db oo oo", groups: "a Running [c2]"},
		"a skipped cluster": {ref: ringed(progressive, skip, deadline, listed(rt.Ring("a"))),
			states: "do oo oo", with: options(rt.Unavailable(0, "c2")), next: "c3 c4 c5 c6", groups: "a Done"},
		"a cluster that is away without the revision": {
			ref:    rt.Ref("p1", progressive, deadline, listed(rt.Ring("a")), rt.Group("a", "c1"), rt.Group("b", "c3", "c4"), rt.Group("c", "c5", "c6")),
			states: "do oo oo", with: options(rt.Unavailable(0, "c2")), next: "c3 c4 c5 c6", groups: "a Done"},

		"it bakes": {ref: ringed(progressive, deadline, canary), states: "oo dd oo", groups: "b Baking until 13m0s", check: rechecks(3 * minute)},
		"it has baked": {ref: ringed(progressive, deadline, canary), states: "oo dd oo", with: options(rt.Now(13 * minute)),
			next: "c1 c2 c5 c6", groups: "b Done"},
		"the next one waits for the bakeTime": {ref: ringed(progressive, deadline, listed(rt.Ring("b", 10*minute), rt.Ring("a"))),
			states: "oo dd oo", groups: "b Baking until 13m0s, a Waiting for b [c1 c2]"},
		"a failure that is tolerated does not stop the clock": {ref: ringed(progressive, tolerant, deadline, canary),
			states: "oo dx oo", groups: "b Baking until 13m0s", check: inProgress},
		"the ledger knows a later success": {ref: ringed(progressive, deadline, canary), states: "oo dd oo",
			with: options(rt.Baking("b", 8*minute)), groups: "b Baking until 18m0s"},
		"the works know a later success": {ref: ringed(progressive, deadline, canary), states: "oo dd oo",
			with: options(rt.Baking("b", time.Minute)), groups: "b Baking until 13m0s"},
		"a record in the future": {ref: ringed(progressive, deadline, canary), states: "oo dd oo",
			with: options(rt.Baking("b", hour)), groups: "b Baking until 13m0s"},
		"everything bakes, and the rollout is complete": {ref: ringed(progressive, deadline, canary), states: "dd dd dd", check: complete},

		"it waits for its approval": {ref: ringed(progressive, deadline, listed(rt.Ring("a", required))), states: "oo oo oo",
			groups: "a Unapproved [c1 c2]", check: rechecks(0)},
		"it is approved": {ref: ringed(progressive, deadline, listed(rt.Ring("a", required))), states: "oo oo oo", with: options(rt.Approved("a")),
			next: "c1 c2", groups: "a Running [c1 c2]"},
		"another one is approved": {ref: ringed(progressive, deadline, listed(rt.Ring("a", required), rt.Ring("b", required))), states: "oo oo oo",
			with: options(rt.Approved("b")), groups: "a Unapproved [c1 c2], b Waiting for a [c3 c4]"},
		"it is approved by its index": {ref: ringed(progressive, deadline, listed(rt.RingAt(2, required))), states: "oo oo oo",
			with: options(rt.Approved("2")), next: "c5 c6", groups: "2 Running [c5 c6]"},
		"nobody decides for it if all are skipped": {ref: ringed(progressive, skip, deadline, listed(rt.Ring("a", required))), states: "oo oo oo",
			with: options(rt.Unavailable(0, "c1", "c2")), groups: "a Unapproved", check: inProgress},
		"an approval beside a failure": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("a"), rt.Ring("b", required))),
			states: "dx oo oo", groups: "a Done, b Unapproved [c3 c4]", check: inProgress},

		"a group that does not exist": {ref: ringed(progressive, deadline, listed(rt.Ring("canari"), rt.Ring("b"))), states: "oo oo oo",
			groups: "canari Missing, b Waiting for canari [c3 c4]", check: stalled},
		"it may be written yet": {ref: ringed(progressive, deadline, listed(rt.Ring("canari"))), states: "oo oo oo", with: options(rt.Began(5 * minute)),
			groups: "canari Missing until 15m0s", check: rechecks(5 * minute)},
		"only its last cluster has left": {ref: rt.Ref("p1", progressive, deadline, listed(rt.Ring("a")), rt.GroupAt(1, "b", "c3", "c4"), rt.GroupAt(2, "c", "c5", "c6")),
			states: "oo oo oo", groups: "a Running [c1 c2]"},
		"an index that a name has taken": {ref: ringed(progressive, deadline, listed(rt.Ring("a"), rt.RingAt(0))), states: "dd oo oo",
			groups: "a Done, 0 Missing", check: stalled},

		"a limit of its own": {ref: ringed(progressive, deadline, listed(rt.Ring("b", rt.RingConcurrency(1)))), states: "oo oo oo",
			next: "c3", groups: "b Running [c3 c4]"},
		"a limit of its own in percent": {ref: ringed(rt.PerGroup(), deadline, listed(rt.Ring("b", rt.RingConcurrency("50%")))), states: "oo do oo",
			next: "c4", groups: "b Running [c4]"},
		"a larger limit than the strategy's": {ref: ringed(rt.Progressive(1), deadline, listed(rt.Ring("b", rt.RingConcurrency("100%")))), states: "oo oo oo",
			next: "c3 c4", groups: "b Running [c3 c4]"},
		"its slots are its own": {ref: ringed(rt.Progressive(1), tolerant, deadline, listed(rt.Ring("a", rt.RingConcurrency(2)))),
			states: "fd oo oo", with: options(rt.Ended()), next: "c3"},
		"the strategy's limit, which all others share": {ref: ringed(rt.Progressive("34%"), deadline, listed(rt.Ring("b"))), states: "oo oo oo",
			next: "c3 c4", groups: "b Running [c3 c4]"},
		"a maxFailures of its own": {ref: ringed(progressive, deadline, listed(rt.Ring("b", rt.RingFailures("50%")))), states: "oo dx oo",
			next: "c1 c2 c5 c6", groups: "b Done"},
		"a stricter maxFailures": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("b", rt.RingFailures(0)))), states: "oo dx oo",
			groups: "b Done", check: halted},
		"failures in the others do not count there": {ref: ringed(progressive, tolerant, deadline, listed(rt.Ring("b", rt.RingFailures(0)))), states: "xx dd oo",
			next: "c5 c6", groups: "b Done"},
		"its clusters are not in the base of the others": {ref: ringed(progressive, rt.MaxFailures("25%"), deadline, listed(rt.Ring("b", rt.RingFailures(2)))),
			states: "xx dd oo", groups: "b Done", check: halted},

		"a cluster joins a group that was done": {ref: ringed(progressive, deadline, listed(rt.Ring("a"))), states: "do oo oo",
			next: "c2", groups: "a Running [c2]"},
		"a cluster relapses":                     {ref: ringed(progressive, deadline, listed(rt.Ring("a"))), states: "df do oo", groups: "a Running [c2]"},
		"after the completion nothing is held":   {ref: ringed(progressive, deadline, canary), states: "oo oo oo", with: options(rt.Ended()), next: "c3 c4 c1 c2 c5 c6"},
		"a return to the current revision":       {ref: ringed(progressive, deadline, listed(rt.Ring("a", required))), states: "oo dd oo", with: options(returns), next: "c3 c4"},
		"an undo at once":                        {ref: ringed(progressive, deadline, listed(rt.Ring("a", required))), states: "oo oo oo", with: options(fastUndo), next: "c1 c2 c3 c4 c5 c6"},
		"OCM has not counted its decisions":      {ref: ringed(progressive, deadline, listed(rt.Ring("a")), rt.Expecting(5)), states: "dd oo oo", groups: "a Running"},
		"a new cluster without a work stands in": {ref: ringed(progressive, deadline, canary), states: "oo dd o", groups: "b Baking until 13m0s", check: standsIn("c6")},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(append([]rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(tc.ref), fleet(tc.states)}, tc.with...)...)
			require.Equal(t, tc.next, started(p))
			require.Equal(t, tc.groups, ringStates(p))
			if tc.check != nil {
				tc.check(t, p)
			}
		})
	}
}

func options(of ...rt.SnapshotOption) []rt.SnapshotOption { return of }

func skip(ref *placement.Ref) { ref.Strategy.UnavailableClusters = workv1alpha1.SkipUnavailable }

// returns makes the template return to the current revision during another rollout; fastUndo makes the rollout an undo at once.
func returns(s *rollout.Snapshot) {
	s.Update, s.Current = rt.Revision("aaa"), rt.Revision("aaa")
	s.Update.Underway = true
}
func fastUndo(s *rollout.Snapshot) { s.Undo, s.FastUndo = true, true }

func inProgress(t *testing.T, p *rollout.Plan) {
	t.Helper()
	require.False(t, p.Complete || p.Stalled || p.Refs[0].Halted)
}

func halted(t *testing.T, p *rollout.Plan) {
	t.Helper()
	require.True(t, p.Refs[0].Halted)
}

func stalled(t *testing.T, p *rollout.Plan) {
	t.Helper()
	require.True(t, p.Stalled)
}

func complete(t *testing.T, p *rollout.Plan) {
	t.Helper()
	require.True(t, p.Complete)
	require.Empty(t, p.Groups)
}

// rechecks checks that the rollout is in progress, and the time of the next pass; zero for none.
func rechecks(recheck time.Duration) func(*testing.T, *rollout.Plan) {
	return func(t *testing.T, p *rollout.Plan) {
		t.Helper()
		inProgress(t, p)
		require.Equal(t, recheck, p.Recheck)
	}
}

// standsIn checks that only one cluster gets the current revision.
func standsIn(cluster string) func(*testing.T, *rollout.Plan) {
	return func(t *testing.T, p *rollout.Plan) {
		t.Helper()
		require.Len(t, p.Writes, 1)
		require.Equal(t, cluster, p.Writes[0].Cluster)
		require.True(t, p.Writes[0].StandIn)
	}
}

// TestFailedGroupStandsIn: after a group that failed everywhere, a new cluster gets the current revision, although another placementRef keeps
// the rollout from stalling.
func TestFailedGroupStandsIn(t *testing.T) {
	fails := rt.Ref("p1", rt.Progressive(6), rt.MaxFailures(6), rt.Deadline("5m"), rt.Listed(rt.Ring("a")), rt.Group("a", "c1", "c2"), rt.Group("b", "c3"))
	waits := rt.Ref("p2", rt.Progressive(6), rt.Deadline("5m"), rt.Listed(rt.Ring("d", workv1alpha1.ApprovalRequired)), rt.Group("d", "c4"))
	p := decide(rt.Now(10*minute), rt.Refs(fails, waits),
		rt.Works(failed("c1", rt.InGroup("0/a")), failed("c2", rt.InGroup("0/a")), old("c4", rt.OfPlacement("p2"), rt.InGroup("0/d"))))
	require.False(t, p.Stalled)
	standsIn("c3")(t, p)
}

// TestRingsExplained: the Wait of each cluster.
func TestRingsExplained(t *testing.T) {
	ref := func(rings ...workv1alpha1.RolloutGroup) placement.Ref {
		return ringed(rt.Progressive(1), rt.Deadline("5m"), rt.Listed(rings...))
	}
	for name, tc := range map[string]struct {
		ref    placement.Ref
		states string
		waits  []rollout.Wait
	}{
		"the first group runs": {ref(rt.Ring("a"), rt.Ring("b")), "oo oo oo", []rollout.Wait{"", rollout.WaitSlot, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup}},
		"an approval": {ref(rt.Ring("a", required), rt.Ring("b")), "oo oo oo",
			[]rollout.Wait{rollout.WaitApproval, rollout.WaitApproval, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup}},
		"a bakeTime": {ref(rt.Ring("a", hour), rt.Ring("b")), "dd oo oo", []rollout.Wait{"", "", rollout.WaitBake, rollout.WaitBake, rollout.WaitBake, rollout.WaitBake}},
		"a missing group": {ref(rt.Ring("d")), "oo oo oo",
			[]rollout.Wait{rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup, rollout.WaitGroup}},
	} {
		t.Run(name, func(t *testing.T) {
			var found []rollout.Wait
			for _, standing := range rollout.Explain(rt.Snapshot(rt.Now(10*minute), rt.Refs(tc.ref), fleet(tc.states))) {
				found = append(found, standing.WaitsFor)
			}
			require.Equal(t, tc.waits, found)
		})
	}
}

// TestBakeTimeIsRecorded: the ledger gets the time of the last success when a group is done. After a restart, a success whose time no
// agent reports counts from when this process saw it, so the wait is never shorter than the bakeTime.
func TestBakeTimeIsRecorded(t *testing.T) {
	ref := ringed(rt.Progressive(6), rt.Deadline("5m"), rt.Listed(rt.Ring("a", 10*minute)))
	// The agent reports no transition: the objects were available before.
	silent := func(cluster string, seen time.Duration) work.Work {
		return rt.Work(cluster, rt.AtRevision("bbb"), rt.WrittenAt(2*minute), rt.Succeeded(0), rt.SeenSucceeding(seen))
	}
	others := rt.Works(old("c3"), old("c4"), old("c5"), old("c6"))
	for name, tc := range map[string]struct {
		works []work.Work
		with  rt.SnapshotOption
		baked time.Duration // Negative for no record.
	}{
		"by the agent":                         {works: []work.Work{done("c1"), done("c2")}, baked: 3 * minute},
		"one is not done":                      {works: []work.Work{done("c1"), inFlight("c2")}, baked: -1},
		"the record stays while one joins":     {works: []work.Work{done("c1"), old("c2")}, with: rt.Baking("a", 4*minute), baked: 4 * minute},
		"by this process":                      {works: []work.Work{silent("c1", 9*minute), done("c2")}, baked: 9 * minute},
		"after a restart, by the ledger":       {works: []work.Work{silent("c1", 10*minute), done("c2")}, with: rt.Baking("a", 9*minute), baked: 9 * minute},
		"after a restart, one has joined":      {works: []work.Work{silent("c1", 10*minute), done("c2")}, with: rt.Baking("a", minute), baked: 10 * minute},
		"the clock was set back":               {works: []work.Work{done("c1"), done("c2")}, with: rt.Baking("a", hour), baked: 3 * minute},
		"after the completion it stays":        {works: []work.Work{done("c1"), done("c2")}, with: func(s *rollout.Snapshot) { rt.Ended()(s); rt.Baking("a", minute)(s) }, baked: minute},
		"after the completion none is written": {works: []work.Work{done("c1"), done("c2")}, with: rt.Ended(), baked: -1},
	} {
		t.Run(name, func(t *testing.T) {
			all := []rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(ref), rt.Works(tc.works...), others}
			if tc.with != nil {
				all = append(all, tc.with)
			}
			want := map[string]time.Time{}
			if tc.baked >= 0 {
				want["p1/a"] = rt.At(tc.baked)
			}
			require.Equal(t, want, decide(all...).Records.Baking)
		})
	}
}

// TestRingFailsByItsOwnLimit: more failures than a group's own maxFailures abort the rollout, and the reason names the group.
func TestRingFailsByItsOwnLimit(t *testing.T) {
	ref := ringed(rt.Progressive(6), rt.Deadline("5m"), rt.MaxFailures(6), rt.AbortAll(), rt.Listed(rt.Ring("b", rt.RingFailures(1))))
	p := decide(rt.Now(10*minute), rt.Refs(ref), fleet("oo dx oo"))
	require.Nil(t, p.Abort)
	p = decide(rt.Now(10*minute), rt.Refs(ref), fleet("oo xx oo"))
	require.NotNil(t, p.Abort)
	require.Contains(t, p.Abort.Reason, "(c3, c4): not successful within progressDeadline 5m0s, maxFailures of group b is 1")
	limits := rollout.LimitsOf(rt.Snapshot(rt.Now(10*minute), rt.Refs(ref), fleet("oo xx oo")))[0]
	require.Equal(t, rollout.GroupLimits{Name: "b", Index: 1, Total: 2, MaxFailures: 1, Own: true}, limits.Groups[0])
	require.Equal(t, 1, limits.Excess)
}

// TestInvalidRingsStartNothing: groups that can't be followed start no cluster, and the error names the field.
func TestInvalidRingsStartNothing(t *testing.T) {
	for text, ref := range map[string]placement.Ref{
		".groups: they have no effect with type All":                   ringed(rt.All(), rt.Listed(rt.Ring("a"))),
		".groups: they can't be combined with mandatoryDecisionGroups": ringed(rt.Progressive(1), rt.Mandatory("a"), rt.Listed(rt.Ring("a"))),
		".groups[0]: set either groupName or groupIndex":               ringed(rt.Progressive(1), rt.Listed(rt.Ring(""))),
		`.groups[1]: "a" is listed twice`:                              ringed(rt.Progressive(1), rt.Listed(rt.Ring("a"), rt.Ring("a"))),
		".groups[0].bakeTime: use a duration":                          ringed(rt.Progressive(1), rt.Listed(rt.Ring("a", 721*hour))),
		".groups[0].maxFailures: -1 is negative":                       ringed(rt.Progressive(1), rt.Listed(rt.Ring("a", rt.RingFailures(-1)))),
		`.groups[0].maxConcurrency: "2" is neither`:                    ringed(rt.Progressive(1), rt.Listed(rt.Ring("a", rt.RingConcurrency("2")))),
	} {
		p := decide(rt.Now(10*minute), rt.Refs(ref), fleet("oo oo oo"))
		require.Empty(t, started(p), text)
		require.Error(t, p.Refs[0].Err, text)
		require.ErrorContains(t, p.Refs[0].Err, "spec.placementRefs[0].rolloutStrategy"+text)
	}
}
