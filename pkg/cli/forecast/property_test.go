package forecast

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// judge checks the properties of docs/contributing/rules.md on what really happens in the simulated fleet, not on what the plan believes.
type judge struct {
	t           *rapid.T
	in          *Input
	concurrency int
	maxFailures int
	deadline    time.Duration
	soak        time.Duration
	mandatory   map[string]bool
	startedAt   map[string]time.Time
	// overdue are the clusters that were past their deadline at a pass: they have failed until a success has soaked.
	overdue map[string]bool
}

// busy reports whether a cluster has the newer revision without an outcome: it has neither soaked nor passed its deadline.
func (j *judge) busy(c *cluster, now time.Time) bool {
	at, started := j.startedAt[c.name]
	return started && !j.succeeded(c, now) && !j.failed(c, now) && !at.After(now)
}

func (j *judge) succeeded(c *cluster, now time.Time) bool {
	since := c.work.SucceededSince
	return c.work.Hash() == newer && !since.IsZero() && !now.Before(since.Add(max(j.soak, Settle)))
}

// failed reports whether a cluster was past its deadline without a success, and has not succeeded since.
func (j *judge) failed(c *cluster, now time.Time) bool {
	at, started := j.startedAt[c.name]
	if started && !j.succeeds(c) && j.deadline > 0 && !now.Before(later(at, j.degradedSince(c)).Add(j.deadline)) {
		j.overdue[c.name] = true
	}
	return j.overdue[c.name] && !j.succeeded(c, now)
}

func (j *judge) succeeds(c *cluster) bool {
	return c.work != nil && c.work.Hash() == newer && !c.work.SucceededSince.IsZero()
}

// degradedSince is when its agent reported Degraded for the newer revision.
func (j *judge) degradedSince(c *cluster) time.Time {
	for _, condition := range c.work.Object.Status.Conditions {
		isNew := condition.ObservedGeneration == c.work.Object.Generation && c.work.Hash() == newer
		if condition.Type == "Degraded" && condition.Status == metav1.ConditionTrue && isNew {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (j *judge) count(r *run, holds func(*cluster) bool) int {
	n := 0
	for i := range r.clusters {
		if holds(&r.clusters[i]) {
			n++
		}
	}
	return n
}

// check sees each plan before it is carried out.
func (j *judge) check(r *run, p *rollout.Plan) {
	j.count(r, func(c *cluster) bool { return j.failed(c, r.now) })
	if p.Abort != nil {
		failed := j.count(r, func(c *cluster) bool { return j.failed(c, r.now) })
		mandatory := j.count(r, func(c *cluster) bool { return j.failed(c, r.now) && j.mandatory[c.name] })
		if failed <= j.maxFailures && mandatory == 0 {
			j.t.Fatalf("aborted with %d failed clusters, maxFailures is %d", failed, j.maxFailures)
		}
	}
	if p.Complete && !r.s.Aborted {
		j.judgeComplete(r)
	}
	if p.Records.Adds(&r.s.Records) || p.Abort != nil {
		return // This plan is not carried out.
	}
	var started []string
	for i := range p.Writes {
		if w := &p.Writes[i]; w.Revision != nil && w.Revision.Hash == newer {
			started = append(started, w.Cluster)
		}
	}
	if len(started) == 0 {
		return
	}
	if r.s.Aborted {
		j.t.Fatalf("P1: the newer revision was written to %v after the abort", started)
	}
	j.judgeStarts(r, started)
	for _, cluster := range started {
		j.startedAt[cluster] = r.now
	}
}

// judgeStarts is P4.
func (j *judge) judgeStarts(r *run, started []string) {
	halting := func(c *cluster) bool {
		return j.failed(c, r.now) || c.work != nil && !j.degradedSince(c).IsZero() && !j.succeeds(c)
	}
	bad := j.count(r, halting)
	if bad > j.maxFailures {
		j.t.Fatalf("P4: %v were started while %d clusters have failed or are degraded, maxFailures is %d", started, bad, j.maxFailures)
	}
	openMandatory := j.count(r, func(c *cluster) bool { return j.mandatory[c.name] && (c.work == nil || !j.succeeded(c, r.now)) })
	others := slices.ContainsFunc(started, func(c string) bool { return !j.mandatory[c] })
	if others && openMandatory > 0 {
		j.t.Fatalf("P4: %v were started before the mandatory group has succeeded", started)
	}
	outside := func(c *cluster) bool { return !j.mandatory[c.name] }
	busy := j.count(r, func(c *cluster) bool { return outside(c) && j.busy(c, r.now) })
	for _, c := range started {
		if !j.mandatory[c] {
			busy++
		}
	}
	if others && busy > j.concurrency {
		j.t.Fatalf("P4: %d clusters in flight with %v, maxConcurrency is %d", busy, started, j.concurrency)
	}
}

// judgeComplete is P3.
func (j *judge) judgeComplete(r *run) {
	missing := j.count(r, func(c *cluster) bool { return c.work == nil || !j.succeeded(c, r.now) })
	failed := j.count(r, func(c *cluster) bool { return c.work != nil && j.failed(c, r.now) })
	if missing != failed || failed > j.maxFailures {
		j.t.Fatalf("P3: complete with %d clusters that have not succeeded, %d of them failed, maxFailures is %d", missing, failed, j.maxFailures)
	}
}

// judgeEnd is P1 and P2.
func (j *judge) judgeEnd(r *run, result Result) {
	switch result.Outcome {
	case Aborted:
		for i := range r.clusters {
			c := &r.clusters[i]
			if c.work == nil || c.work.Hash() != older {
				j.t.Fatalf("P1: after the abort, the work of %s is not at the older revision", c.name)
			}
			if c.fate != Offline && c.runs != older {
				j.t.Fatalf("P1: after the abort, %s runs %q", c.name, c.runs)
			}
			if c.wasReached && c.backAt.IsZero() {
				j.t.Fatalf("P1: %s never succeeded with the older revision", c.name)
			}
		}
	case Complete:
	default:
		if j.count(r, func(c *cluster) bool { return c.fate != Healthy }) == 0 {
			j.t.Fatalf("P2: all clusters are healthy, and the rollout is %s", result.Outcome)
		}
	}
	healthy := j.count(r, func(c *cluster) bool { return c.fate == Healthy }) == len(r.clusters)
	if healthy && j.deadline == 0 && (result.Outcome != Complete || result.Exposed != len(r.clusters)) {
		j.t.Fatalf("P2: all clusters are healthy, and %d of them have the newer revision: %s", result.Exposed, result.Outcome)
	}
}

// drawInput draws a rollout and its judge.
func drawInput(t *rapid.T) (*Input, *judge) {
	n := rapid.IntRange(1, 25).Draw(t, "clusters")
	j := &judge{t: t, mandatory: map[string]bool{}, startedAt: map[string]time.Time{}, overdue: map[string]bool{}}
	j.concurrency = rapid.IntRange(1, 10).Draw(t, "maxConcurrency")
	j.maxFailures = rapid.IntRange(0, 3).Draw(t, "maxFailures")
	j.soak = time.Duration(rapid.IntRange(0, 60).Draw(t, "soak")) * time.Second
	config := clusterv1alpha1.RolloutConfig{
		MaxFailures: intstr.FromInt(j.maxFailures), MinSuccessTime: metav1.Duration{Duration: j.soak}, ProgressDeadline: "None",
	}
	if seconds := rapid.IntRange(0, 300).Draw(t, "deadline"); seconds >= 20 {
		j.deadline = time.Duration(seconds) * time.Second
		config.ProgressDeadline = fmt.Sprintf("%ds", seconds)
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	set.Name = "web"
	ref := workv1alpha1.LocalPlacementReference{Name: "p"}
	ref.RolloutStrategy.Type = clusterv1alpha1.Progressive
	ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{RolloutConfig: config, MaxConcurrency: intstr.FromInt(j.concurrency)}
	if rapid.Bool().Draw(t, "abortAll") {
		ref.RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	}
	groups := []Group{{Size: n}}
	if first := rapid.IntRange(0, n-1).Draw(t, "mandatory"); first > 0 {
		groups = []Group{{"canary", first}, {"rest", n - first}}
		ref.RolloutStrategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups =
			[]clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
	}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref}
	pl := Clusters("p", groups...)
	if len(groups) > 1 {
		for _, c := range pl.Groups[0].Clusters {
			j.mandatory[c] = true
		}
	}
	share := func(name string) float64 { return float64(rapid.IntRange(0, 20).Draw(t, name)) / 100 }
	in := &Input{
		ReplicaSet: set, Placements: map[string]*placement.Placement{"p": pl}, Seed: rapid.Uint64().Draw(t, "seed"),
		First: rapid.IntRange(0, 4).Draw(t, "first") == 0, Rules: Rules{rapid.Bool().Draw(t, "progressing"), rapid.Bool().Draw(t, "degraded")},
		Agents: Agents{
			Apply: time.Minute, Spread: float64(rapid.IntRange(0, 10).Draw(t, "spread")) / 10, SlowFactor: 8,
			Slow: share("slow"), Fail: share("fail"), Hang: share("hang"), Offline: share("offline"),
		},
	}
	if rapid.IntRange(0, 3).Draw(t, "healthy") == 0 {
		in.Agents.Slow, in.Agents.Fail, in.Agents.Hang, in.Agents.Offline = 0, 0, 0, 0
	}
	j.in = in
	return in, j
}

// TestProperties: P1 to P4 hold in every simulated rollout. TestKilledHub checks P5.
func TestProperties(t *testing.T) {
	outcomes := map[Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		in, j := drawInput(t)
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		r := newRun(in, 0)
		r.watch = j.check
		result, err := r.play(always)
		if err != nil {
			t.Fatal(err)
		}
		j.judgeEnd(r, result)
		outcomes[result.Outcome]++
	})
	for _, wanted := range []Outcome{Complete, Aborted, Stalled, Waiting} {
		if outcomes[wanted] == 0 {
			t.Errorf("no story ended as %s: %v", wanted, outcomes)
		}
	}
}
