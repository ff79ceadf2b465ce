package metrics

import (
	"slices"
	"strings"
	"sync"
	"time"

	k8smetrics "k8s.io/component-base/metrics"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// MaxReplicaSets is how many ManifestWorkReplicaSets have series of their own. What the others have is summed up in series
// whose labels mwrs_namespace and name are empty, so that a hub with any number of them has a bounded number of series.
const MaxReplicaSets = 1000

// Invalid is the stage of a ManifestWorkReplicaSet whose spec can't be rolled out.
const Invalid status.Stage = "Invalid"

// Deleting is the stage of a ManifestWorkReplicaSet whose deletion waits, for agents or for the API server.
const Deleting status.Stage = "Deleting"

var stages = [...]status.Stage{
	status.RollingOut, status.Stalled, status.Complete, status.Aborting, status.Aborted, Invalid, Deleting,
}

// The states of clusters while their ManifestWorkReplicaSet is aborted; otherwise they are those of package rollout.
const (
	// Restoring means that the cluster has not confirmed the revision that it goes back to.
	Restoring rollout.Phase = "Restoring"
	// Restored means that it has.
	Restored rollout.Phase = "Restored"
)

var states = [...]rollout.Phase{
	rollout.PhaseWaiting, rollout.PhaseTerminating, rollout.PhaseTerminationTimedOut, rollout.PhaseInFlight, rollout.PhaseSoaking,
	rollout.PhaseDegraded,
	rollout.PhaseFailed, rollout.PhaseAgentUnknown, rollout.PhaseCompleted, rollout.PhaseSucceeded, Restoring, Restored,
}

// Observation is what a pass found about a ManifestWorkReplicaSet.
type Observation struct {
	Stage status.Stage
	// Clusters is how many selected clusters are in each state; nil when that and Revisions are not known.
	Clusters map[rollout.Phase]int
	// Revisions is how many ControllerRevisions count as its own.
	Revisions int
	// Paused is true if no work is written or deleted.
	Paused bool
	// Lost is the number of clusters without a work that a pause keeps from getting one, although their agents are heard over a broker.
	Lost int
	// Started is when the rollout that is in progress began; zero if none is.
	Started time.Time
	// Problems are what keeps the hub from doing its whole work for it.
	Problems []Problem
	// Placements are the counts of its placementRefs, in spec order.
	Placements []Placement
	// DeletingSince is when the first of the ManifestWorks that are being deleted was deleted; zero for none.
	DeletingSince time.Time
}

// Problem is something that an administrator must settle before the hub can do its whole work for a ManifestWorkReplicaSet.
type Problem string

// The problems.
const (
	// FieldsLost means that an older CRD dropped fields of the spec.
	FieldsLost Problem = "FieldsLost"
	// OlderCRD means that the API server drops status.ledger.
	OlderCRD Problem = "OlderCRD"
	// HistoryUnavailable means that the hub may not read ControllerRevisions: nothing is aborted.
	HistoryUnavailable Problem = "HistoryUnavailable"
)

var problems = [...]Problem{FieldsLost, OlderCRD, HistoryUnavailable}

// MaxPlacements is how many placementRefs of a ManifestWorkReplicaSet have series. The others have none.
const MaxPlacements = 10

// Placement is how many clusters of a placementRef are where.
type Placement struct {
	Name string
	// Selected clusters, those of them that have succeeded at the update revision, and those that fail. Updated is 0 after an abort.
	Selected, Updated, Failing int
}

// replicaSets makes the series of ManifestWorkReplicaSets when Prometheus asks for them: what is gone leaves none behind.
type replicaSets struct {
	k8smetrics.BaseStableCollector
	stage, clusters, revisions, paused, lost, deleting, started, problem, placement *k8smetrics.Desc

	mu    sync.Mutex
	known map[string]*observed
	// own is how many of the known have series of their own.
	own int
}

type observed struct {
	own bool
	sample
}

// sample holds numbers in the order of stages and states.
type sample struct {
	stages    [len(stages)]int
	clusters  [len(states)]int
	counted   bool
	revisions int
	// paused and lost are 0 or 1, and the number of clusters without a work; they are sums if several objects share the series.
	paused, lost int
	// deleting and started are Unix times in seconds; 0 for none.
	deleting, started int64
	problems          [len(problems)]int
	placements        []Placement
}

func newReplicaSets() *replicaSets {
	desc := func(name, help string, labels ...string) *k8smetrics.Desc {
		return k8smetrics.NewDesc(prefix+"_"+name, help, append([]string{"mwrs_namespace", "name"}, labels...), nil, k8smetrics.ALPHA, "")
	}
	return &replicaSets{
		stage: desc("stage", "1 for the stage of a ManifestWorkReplicaSet: "+
			"RollingOut, Stalled, Complete, Aborting, Aborted, Invalid or Deleting.", "stage"),
		clusters: desc("clusters", "Selected clusters of a ManifestWorkReplicaSet, by state. After an abort: Restoring or Restored.",
			"state"),
		revisions: desc("revisions", "Stored revisions of a ManifestWorkReplicaSet."),
		paused: desc("paused",
			"1 for a ManifestWorkReplicaSet whose spec.paused is true: no ManifestWork of it is written or deleted. The others have no series."),
		lost: desc("clusters_without_work", "Selected clusters that have no ManifestWork during a pause, although their agents are heard over a "+
			"broker. If an agent had one and lost it, it removes the objects after a while. The others have no series."),
		deleting: desc("work_deletion_timestamp_seconds",
			"Unix time of the earliest deletion among the terminating ManifestWorks. "+
				"A ManifestWorkReplicaSet without such works has no series."),
		started: desc("rollout_start_timestamp_seconds",
			"Unix time at which the rollout in progress began. A ManifestWorkReplicaSet without one has no series."),
		problem: desc("problem", "1 for a problem of a ManifestWorkReplicaSet that an administrator must solve: "+
			"FieldsLost, OlderCRD or HistoryUnavailable. Other problems have no series.", "problem"),
		placement: desc("placement_clusters", "Clusters of a placementRef: Selected, Updated or Failing.",
			"placement", "state"),
		known: map[string]*observed{},
	}
}

func (r *replicaSets) observe(key string, o Observation) {
	s := o.sample()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[key]
	if known == nil {
		known = &observed{}
		r.known[key] = known
	}
	known.sample = s
	if !known.own && r.own < MaxReplicaSets {
		known.own = true
		r.own++
	}
}

// sample returns the numbers of an observation.
func (o *Observation) sample() sample {
	s := sample{
		revisions: o.Revisions, counted: o.Clusters != nil, lost: o.Lost, deleting: seconds(o.DeletingSince), started: seconds(o.Started),
	}
	for i, stage := range stages {
		if stage == o.Stage {
			s.stages[i] = 1
		}
	}
	for i, state := range states {
		s.clusters[i] = o.Clusters[state]
		if state == rollout.PhaseSoaking {
			s.clusters[i] += o.Clusters[rollout.PhaseHandingOver] // Its success does not count yet, either.
		}
	}
	if o.Paused {
		s.paused = 1
	}
	for i, problem := range problems {
		if slices.Contains(o.Problems, problem) {
			s.problems[i] = 1
		}
	}
	s.placements = o.Placements[:min(len(o.Placements), MaxPlacements)]
	return s
}

// seconds returns a Unix time; 0 for none.
func seconds(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}

func (r *replicaSets) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[key]; known != nil && known.own {
		r.own--
	}
	delete(r.known, key)
}

// DescribeWithStability implements StableCollector.
func (r *replicaSets) DescribeWithStability(ch chan<- *k8smetrics.Desc) {
	ch <- r.stage
	ch <- r.clusters
	ch <- r.revisions
	ch <- r.paused
	ch <- r.lost
	ch <- r.deleting
	ch <- r.started
	ch <- r.problem
	ch <- r.placement
}

// CollectWithStability implements StableCollector.
func (r *replicaSets) CollectWithStability(ch chan<- k8smetrics.Metric) {
	var rest sample
	others := 0
	for key, known := range r.snapshot() {
		if known.own {
			namespace, name, _ := strings.Cut(key, "/")
			r.emit(ch, namespace, name, &known.sample)
			continue
		}
		rest.add(&known.sample)
		others++
	}
	if others > 0 {
		r.emit(ch, "", "", &rest)
	}
}

// snapshot is a copy: the reader of the channel may be slow, and passes should not wait for it.
func (r *replicaSets) snapshot() map[string]observed {
	r.mu.Lock()
	defer r.mu.Unlock()
	snapshot := make(map[string]observed, len(r.known))
	for key, known := range r.known {
		snapshot[key] = *known
	}
	return snapshot
}

func (s *sample) add(other *sample) {
	for i, n := range other.stages {
		s.stages[i] += n
	}
	for i, n := range other.clusters {
		s.clusters[i] += n
	}
	s.counted = s.counted || other.counted
	s.revisions += other.revisions
	s.paused += other.paused
	s.lost += other.lost
	for i, n := range other.problems {
		s.problems[i] += n
	}
	s.deleting = earlier(s.deleting, other.deleting)
	s.started = earlier(s.started, other.started)
}

// earlier returns the earlier of two times; 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// emit makes the series of one sample. Of the stages only those that something is in: it is in one of them.
func (r *replicaSets) emit(ch chan<- k8smetrics.Metric, namespace, name string, s *sample) {
	gauge := func(desc *k8smetrics.Desc, n int, labels ...string) {
		ch <- k8smetrics.NewLazyConstMetric(desc, k8smetrics.GaugeValue, float64(n), append([]string{namespace, name}, labels...)...)
	}
	for i, n := range s.stages {
		if n > 0 {
			gauge(r.stage, n, string(stages[i]))
		}
	}
	if s.paused > 0 {
		gauge(r.paused, s.paused)
	}
	if s.lost > 0 {
		gauge(r.lost, s.lost)
	}
	if s.deleting > 0 {
		gauge(r.deleting, int(s.deleting))
	}
	if s.started > 0 {
		gauge(r.started, int(s.started))
	}
	for i, n := range s.problems {
		if n > 0 {
			gauge(r.problem, n, string(problems[i]))
		}
	}
	for _, p := range s.placements {
		gauge(r.placement, p.Selected, p.Name, "Selected")
		gauge(r.placement, p.Updated, p.Name, "Updated")
		gauge(r.placement, p.Failing, p.Name, "Failing")
	}
	if !s.counted {
		return
	}
	for i, n := range s.clusters {
		gauge(r.clusters, n, string(states[i]))
	}
	gauge(r.revisions, s.revisions)
}
