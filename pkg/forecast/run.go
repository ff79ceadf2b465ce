package forecast

import (
	"cmp"
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

// maxPasses ends a run that does not end by itself.
const maxPasses = 1_000_000

type run struct {
	*fleet
	in     *Input
	now    time.Time
	s      rollout.Snapshot
	limits []rollout.Limits
	// resolution is the distance between looks at the reports.
	resolution time.Duration
	abortedAt  time.Time
	exposed    int
	passes     int
	// watch sees each plan before it is carried out; nil in product code.
	watch func(*run, *rollout.Plan)
}

// Run simulates one run. The index selects its random numbers. The input must be valid.
func Run(in *Input, index int) (Result, error) { return newRun(in, index).play() }

func newRun(in *Input, index int) *run {
	r := &run{in: in, now: epoch, fleet: newFleet(in, index), resolution: in.Resolution}
	switch {
	case r.resolution > 0:
	case in.Agents.Spread == 0: // All clusters need the same time: nothing would be saved, and the rounding would not cancel out.
		r.resolution = time.Millisecond
	default:
		r.resolution = max(in.Agents.Apply/3, time.Millisecond)
	}
	r.s = rollout.Snapshot{Settle: cmp.Or(in.Settle, Settle), Owner: "simulated.simulated", Works: make([]work.Work, 0, len(r.clusters))}
	r.s.Update, r.s.Current = revisionsOf(in)
	if r.s.Current == nil {
		r.s.Absent = &rollout.Absence{Cause: rollout.NeverComplete}
	}
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		ref := &in.ReplicaSet.Spec.PlacementRefs[i]
		r.s.Refs = append(r.s.Refs, placement.Ref{
			Name: ref.Name, Field: fmt.Sprintf("spec.placementRefs[%d]", i), Strategy: ref.RolloutStrategy, Placement: in.Placements[ref.Name],
		})
	}
	r.s.Now = r.now
	r.limits = rollout.LimitsOf(&r.s)
	r.beginAtOlder()
	return r
}

// beginAtOlder gives each cluster a work that has succeeded with the older revision, if there is one.
func (r *run) beginAtOlder() {
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
	r.s.Works = append(r.s.Works, newWork(c, now)) // The capacity suffices, so pointers to works stay valid.
	c.work = &r.s.Works[len(r.s.Works)-1]
}

func (r *run) play() (Result, error) {
	for r.passes < maxPasses {
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
		"use a larger --apply or a smaller fleet", maxPasses)
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
		case !recorded:
			r.act(plan)
			return plan
		}
	}
}

func (r *run) act(plan *rollout.Plan) {
	for i := range plan.Writes {
		w := &plan.Writes[i]
		c := r.byName[w.Cluster]
		if c.work == nil {
			r.create(c, r.now)
		}
		c.apply(w, r.now)
		if w.Revision != nil {
			r.start(c, w.Revision)
		}
	}
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
		if deadline := r.limits[r.byName[plan.Writes[i].Cluster].ref].Deadline; deadline > 0 {
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
