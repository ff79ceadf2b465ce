package forecast

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A run:
//
//  1. A pass of the hub delivers the reports that are due, calls rollout.Decide, and executes the plan: it records failures, persists an
//     abort, and writes to clusters.
//  2. An agent that is online applies a write at once. Its report about the outcome comes later (fates.go). The resolution batches reports.
//  3. The clock jumps to the next time at which something can change: a success settles, an agent reports Degraded, a deadline passes, or
//     the plan requests another pass.
//  4. The run ends when the rollout is complete, when all online clusters have returned after an abort, or when nothing can change any
//     more.

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Complete Outcome = "Complete"
	Aborted  Outcome = "Aborted"
	// Stalled means that too many clusters failed and nothing aborts the rollout.
	Stalled Outcome = "Stalled"
	// Waiting means that the rollout waits forever: a cluster reports no outcome and has no deadline.
	Waiting Outcome = "Waiting"
)

// Result is the outcome of one run.
type Result struct {
	Outcome Outcome
	// Duration is the time until the rollout was complete or aborted, or until nothing changed any more.
	Duration time.Duration
	// Exposed is the number of clusters that ran the newer revision at any time before the rollout ended or was aborted.
	Exposed int
	// Restore is the time from the abort until the last of the exposed clusters ran the older revision successfully; zero without an abort.
	Restore time.Duration
	// NeverReached is the number of clusters to which the newer revision was never written.
	NeverReached int
	// Unnoticed is the number of clusters that count as succeeded although the newer revision does not work there.
	Unnoticed int
	// Passes is the number of passes of the hub.
	Passes int
}

// maxPasses and maxSteps end a run that does not end by itself. A pass over n clusters counts as n steps.
const (
	maxPasses = 1_000_000
	maxSteps  = 10_000_000_000
)

type run struct {
	*stage
	// clusters are in the order of the sites.
	clusters  []cluster
	now       time.Time
	s         rollout.Snapshot
	abortedAt time.Time
	// windowsChange is the next time when a window opens or closes.
	windowsChange time.Time
	exposed       int
	passes        int
}

// newRun returns the memory of a run, which begin fills. Any number of runs can use it, one after the other.
func (st *stage) newRun() *run {
	r := &run{stage: st, clusters: make([]cluster, len(st.sites))}
	r.s.Works = make([]work.Work, 0, len(r.clusters))
	return r
}

// begin draws the clusters of run number index, and sets its initial state: each cluster has a work that has succeeded with the older
// revision, if there is one.
func (r *run) begin(index int) {
	r.now, r.abortedAt, r.windowsChange, r.exposed, r.passes = epoch, time.Time{}, time.Time{}, 0, 0
	r.s = r.snapshot(r.s.Works[:0])
	r.s.Clusters, r.s.Holds = placement.Clusters{}, map[string]placement.Hold{}
	random := rand.New(rand.NewPCG(r.in.Seed, uint64(index))) //nolint:gosec // a simulation must be reproducible
	for i := range r.clusters {
		c := &r.clusters[i]
		*c = cluster{site: r.sites[i], draw: r.in.Agents.draw(random, r.sites[i].name), object: c.object}
		switch c.fate {
		case Offline: // This matters only with unavailableClusters: Skip.
			r.s.Clusters[c.name] = placement.Cluster{}
		case Held:
			r.s.Holds[c.name] = placement.Hold{Reason: "simulated"}
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
	r.s.Works = append(r.s.Works, work.Work{DeletionCounts: true, Object: &c.object}) // No reallocation: pointers to works stay valid.
	c.work = &r.s.Works[len(r.s.Works)-1]
}

// play plays the run to its end. It calls alive before each pass, and stops if alive returns false.
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

// pass runs one pass of the hub and the passes that follow at the same time.
func (r *run) pass() *rollout.Plan {
	for i := range r.clusters {
		if c := &r.clusters[i]; c.says != nothing && !c.reportAt.After(r.now) {
			c.deliver(r.in.Rules)
		}
	}
	r.s.Now = r.now
	r.closeWindows()
	for {
		plan := rollout.Decide(&r.s)
		r.passes++
		for _, work := range plan.Settled {
			work.SettledAt = r.now
		}
		recorded := plan.Records.Adds(&r.s.Records)
		r.s.Records = plan.Records
		switch {
		case plan.Abort != nil:
			r.s.Aborted, r.abortedAt = true, r.now
		case !recorded:
			r.act(plan)
			return plan
		}
	}
}

// closeWindows holds the clusters whose windows are closed.
func (r *run) closeWindows() {
	if len(r.in.Windows) == 0 || r.now.Before(r.windowsChange) {
		return
	}
	r.windowsChange = time.Time{}
	clock := r.in.Begin.Add(r.now.Sub(epoch))
	for i := range r.s.Refs {
		windows := r.in.Windows[r.s.Refs[i].Name]
		if windows == nil {
			continue
		}
		open, changes := windows.At(clock)
		at := r.now.Add(changes.Sub(clock))
		if r.windowsChange.IsZero() || at.Before(r.windowsChange) {
			r.windowsChange = at
		}
		for c := range r.clusters {
			if !open && r.clusters[c].ref == i && r.clusters[c].fate != Held {
				r.s.Holds[r.clusters[c].name] = placement.Hold{Opens: at}
			}
		}
	}
}

// act performs the writes of a plan.
func (r *run) act(plan *rollout.Plan) {
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
	}
}

// start lets the agent of a cluster apply the written revision, and schedules its report.
func (r *run) start(c *cluster, rev *work.Revision) {
	c.written = c.written || rev.Hash == newer
	if c.fate != Offline {
		c.runs = rev.Hash
		if rev.Hash == newer && !c.wasReached {
			c.wasReached = true
			r.exposed++
		}
	}
	var after, soak time.Duration
	c.says, after = c.answer(r.in.Rules, rev.Hash, c.gated)
	c.reportAt, c.wakeAt = time.Time{}, time.Time{}
	switch c.says {
	case nothing:
		return
	case success:
		soak = max(r.s.Settle, r.limits[c.ref].Soak)
	}
	c.wakeAt = epoch.Add(r.now.Add(after + soak).Sub(epoch).Round(r.resolution)) // The nearest pass of the hub.
	c.reportAt = c.wakeAt.Add(-soak)
	if r.s.Aborted || !c.reportAt.After(r.now) { // A report never precedes the write. After an abort, there is nothing to decide.
		c.reportAt = r.now.Add(max(after, time.Nanosecond))
		c.wakeAt = c.reportAt.Add(soak)
	}
}

// next returns the time at which something can change next; zero if nothing can.
func (r *run) next(plan *rollout.Plan) time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		// After an abort, nothing is left to decide: the next pass is due when the last cluster has returned.
		if at.After(r.now) && (next.IsZero() || at.Before(next) != r.s.Aborted) {
			next = at
		}
	}
	for i := range r.clusters {
		sooner(r.clusters[i].wakeAt)
	}
	if r.s.Aborted {
		return next
	}
	if plan.Recheck > 0 {
		sooner(r.now.Add(plan.Recheck))
	}
	for i := range plan.Writes { // The plan does not include the deadlines of the clusters that it starts.
		if deadline := r.limits[r.sites[r.index[plan.Writes[i].Cluster]].ref].Deadline; deadline > 0 {
			sooner(r.now.Add(deadline))
		}
	}
	return next
}

func (r *run) result(outcome Outcome) Result {
	result := Result{Outcome: outcome, Duration: r.now.Sub(epoch), Exposed: r.exposed, Passes: r.passes}
	if r.s.Aborted {
		result.Duration = r.abortedAt.Sub(epoch)
	}
	for i := range r.clusters {
		c := &r.clusters[i]
		if !c.written {
			result.NeverReached++
		}
		if (c.fate == Fails || c.fate == Hangs) && c.runs == newer && !c.work.SucceededSince.IsZero() {
			result.Unnoticed++
		}
		if r.s.Aborted && c.wasReached {
			result.Restore = max(result.Restore, c.backAt.Sub(r.abortedAt))
		}
	}
	return result
}
