package forecast

import (
	"fmt"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// How a run goes:
//
//  1. A pass of the hub delivers the reports that are due, asks rollout.Decide, and carries the plan out: it records failures, persists an
//     abort, and writes to clusters.
//  2. An agent that is online applies a write at once. Its report about the outcome comes later (fates.go). The resolution batches reports.
//  3. The clock jumps to the next time at which something can change: a success settles, an agent reports Degraded, a deadline passes, or
//     the plan asks for a look.
//  4. The run ends when the rollout is complete, when all online clusters are back after an abort, or when nothing can change any more.

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Complete Outcome = "Complete"
	Aborted  Outcome = "Aborted"
	// Stalled means that too many clusters failed, and that nothing aborts the rollout.
	Stalled Outcome = "Stalled"
	// Waiting means that the rollout waits without an end: a cluster reports no outcome, and it has no deadline.
	Waiting Outcome = "Waiting"
)

// Result is the outcome of one run.
type Result struct {
	Outcome Outcome
	// Duration is the time until the rollout was complete or aborted, or until nothing changed any more.
	Duration time.Duration
	// Exposed is how many clusters ran the newer revision at any time before the rollout ended or was aborted.
	Exposed int
	// Restore is the time from the abort until the last of these ran the older revision successfully; zero without an abort.
	Restore time.Duration
	// NeverReached is how many clusters the newer revision was never written to.
	NeverReached int
	// Unnoticed is how many clusters count as succeeded although the newer revision does not work there.
	Unnoticed int
	// Passes is how often the hub decided.
	Passes int
}

// maxPasses and maxSteps, the passes times the clusters, end a run that does not end by itself.
const (
	maxPasses = 1_000_000
	maxSteps  = 10_000_000_000
)

type run struct {
	*stage
	*fleet
	now       time.Time
	s         rollout.Snapshot
	abortedAt time.Time
	exposed   int
	passes    int
	// watch sees each plan before it is carried out; nil in product code.
	watch func(*run, *rollout.Plan)
	// killed reports whether the hub's process dies after the write that it has just made, and another one starts; nil in product code.
	killed func() bool
}

// Run simulates one run. The index selects its random numbers. The input must be valid.
func Run(in *Input, index int) (Result, error) { return newRun(in, index).play(always) }

// always lets runs go on.
func always() bool { return true }

func newRun(in *Input, index int) *run {
	r := newStage(in).newRun()
	r.begin(index)
	return r
}

// newRun returns the memory of a run, which begin fills. One after the other, any number of runs can use it.
func (st *stage) newRun() *run {
	r := &run{stage: st, fleet: st.newFleet()}
	r.s.Works = make([]work.Work, 0, len(r.clusters))
	return r
}

// begin sets the state in which run number index begins: each cluster has a work that has succeeded with the older revision, if there is
// one.
func (r *run) begin(index int) {
	r.now, r.abortedAt, r.exposed, r.passes = epoch, time.Time{}, 0, 0
	r.s = r.snapshot(r.s.Works[:0])
	r.draw(r.in, index)
	r.s.Clusters = placement.Clusters{}
	for i := range r.clusters {
		if c := &r.clusters[i]; c.fate == Offline { // Matters only with unavailableClusters: Skip.
			r.s.Clusters[c.name] = placement.Cluster{}
		}
	}
	if r.s.Current == nil {
		return
	}
	owner, before := work.NewOwnerMetadata(r.s.Owner, r.s.Labels, false), epoch.Add(-time.Hour)
	for i := range r.clusters {
		c := &r.clusters[i]
		w := rollout.Write{Action: rollout.Create, Cluster: c.name, Placement: r.s.Refs[c.ref].Name, Revision: r.s.Current, Owner: owner}
		r.create(c, before)
		c.apply(&w, before)
		c.runs, c.says, c.reportAt = older, success, before
		c.deliver(r.in.Rules)
		c.backAt = time.Time{}
	}
}

func (r *run) create(c *cluster, now time.Time) {
	c.empty(now)
	r.s.Works = append(r.s.Works, work.Work{DeletionCounts: true, Object: &c.object}) // The capacity suffices: pointers to works stay valid.
	c.work = &r.s.Works[len(r.s.Works)-1]
}

// play plays the run to its end. It asks before each pass whether to go on.
func (r *run) play(alive func() bool) (Result, error) {
	for r.passes < maxPasses && r.passes*len(r.clusters) < maxSteps {
		if !alive() {
			return Result{}, errStopped
		}
		plan := r.pass()
		if plan.Complete && !r.s.Aborted {
			return r.result(Complete), nil
		}
		next := r.next(plan)
		switch {
		case !next.IsZero():
			r.now = next
		case r.s.Aborted:
			return r.result(Aborted), nil
		case plan.Stalled:
			return r.result(Stalled), nil
		default:
			return r.result(Waiting), nil
		}
	}
	return Result{}, fmt.Errorf("the simulated rollout does not end within %d passes of the hub: "+
		"use a larger --apply or a smaller fleet", r.passes)
}

// pass is one pass of the hub, with the passes that follow at the same time.
func (r *run) pass() *rollout.Plan {
	for i := range r.clusters {
		if c := &r.clusters[i]; c.says != nothing && !c.reportAt.After(r.now) {
			c.deliver(r.in.Rules)
		}
	}
	r.s.Now = r.now
	for {
		plan := rollout.Decide(&r.s)
		r.passes++
		if r.watch != nil {
			r.watch(r, plan)
		}
		for _, work := range plan.Settled {
			work.SettledAt = r.now
		}
		recorded := plan.Records.Adds(&r.s.Records)
		r.s.Records = plan.Records
		switch {
		case plan.Abort != nil:
			r.s.Aborted, r.abortedAt, r.exposed = true, r.now, r.countExposed()
			r.survives()
		case recorded:
			r.survives()
		case r.act(plan):
			return plan
		}
	}
}

// act performs the writes of a plan. It reports whether the process lived to the end of the plan.
func (r *run) act(plan *rollout.Plan) bool {
	for i := range plan.Writes {
		w := &plan.Writes[i]
		c := &r.clusters[r.index[w.Cluster]]
		if c.work == nil {
			r.create(c, r.now)
		}
		c.apply(w, r.now)
		if w.Revision != nil {
			r.start(c, w.Revision)
		}
		if !r.survives() {
			return false
		}
	}
	return true
}

// survives reports whether the process lives on after a write. Otherwise its successor starts at once: it has what is stored, and none of
// what the process had seen.
func (r *run) survives() bool {
	if r.killed == nil || !r.killed() {
		return true
	}
	r.s.Gap = rollout.UnknownGap(r.now)
	for i := range r.clusters {
		c := &r.clusters[i]
		if c.work == nil {
			continue
		}
		c.work.WatchedSince, c.work.SettledAt = r.now, time.Time{}
		if !c.work.SucceededSince.IsZero() {
			c.work.SucceededSince = r.now
		}
	}
	return false
}

// start lets the agent of a cluster apply what was written, and schedules its report.
func (r *run) start(c *cluster, rev *work.Revision) {
	says := c.answerTo(r.in.Rules)
	if rev.Hash == newer {
		c.written = true
	} else {
		says = c.answerBack(r.in.Rules)
	}
	c.says, c.reportAt, c.wakeAt = nothing, time.Time{}, time.Time{}
	if c.fate != Offline {
		c.runs = rev.Hash
		c.wasReached = c.wasReached || rev.Hash == newer
	}
	if says.says == nothing {
		return
	}
	soak := time.Duration(0)
	if says.says == success {
		soak = max(r.s.Settle, r.limits[c.ref].Soak)
	}
	c.says = says.says
	c.wakeAt = r.look(r.now.Add(says.after + soak))
	c.reportAt = c.wakeAt.Add(-soak)
	if r.s.Aborted || !c.reportAt.After(r.now) { // No report comes before the write. After an abort, there is nothing to decide.
		c.reportAt = r.now.Add(max(says.after, time.Nanosecond))
		c.wakeAt = c.reportAt.Add(soak)
	}
}

// look returns the look of the hub that is nearest to a time.
func (r *run) look(at time.Time) time.Time {
	return epoch.Add(at.Sub(epoch).Round(r.resolution))
}

// next returns when something can change next; zero if nothing can.
func (r *run) next(plan *rollout.Plan) time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if at.After(r.now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for i := range r.clusters {
		if !r.s.Aborted {
			sooner(r.clusters[i].wakeAt)
		} else if at := r.clusters[i].wakeAt; at.After(next) {
			next = at // Nothing is decided any more: the hub looks when the last cluster is back.
		}
	}
	if r.s.Aborted {
		if next.After(r.now) {
			return next
		}
		return time.Time{}
	}
	if plan.Recheck > 0 {
		sooner(r.now.Add(plan.Recheck))
	}
	for i := range plan.Writes { // The plan does not know the deadlines of what it starts.
		if deadline := r.limits[r.sites[r.index[plan.Writes[i].Cluster]].ref].Deadline; deadline > 0 {
			sooner(r.now.Add(deadline))
		}
	}
	return next
}

func (r *run) countExposed() int {
	n := 0
	for i := range r.clusters {
		if r.clusters[i].wasReached {
			n++
		}
	}
	return n
}

func (r *run) result(outcome Outcome) Result {
	result := Result{Outcome: outcome, Duration: r.now.Sub(epoch), Exposed: r.countExposed(), Passes: r.passes}
	if r.s.Aborted {
		result.Duration, result.Exposed = r.abortedAt.Sub(epoch), r.exposed
	}
	for i := range r.clusters {
		c := &r.clusters[i]
		if !c.written {
			result.NeverReached++
		}
		if c.fate.broken() && c.runs == newer && !c.work.SucceededSince.IsZero() {
			result.Unnoticed++
		}
		if r.s.Aborted && c.wasReached {
			result.Restore = max(result.Restore, c.backAt.Sub(r.abortedAt))
		}
	}
	return result
}
