package metrics

import (
	"strings"
	"sync"
	"time"

	k8smetrics "k8s.io/component-base/metrics"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// MaxReplicaSets is how many ManifestWorkReplicaSets have series of their own. What the others have is summed up in series
// whose labels namespace and name are empty, so that a hub with any number of them has a bounded number of series.
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
	rollout.PhaseRejected, rollout.PhaseFailed, rollout.PhaseAgentUnknown, rollout.PhaseCompleted, rollout.PhaseSucceeded, Restoring, Restored,
}

// Observation is what a pass found of a ManifestWorkReplicaSet.
type Observation struct {
	Stage status.Stage
	// Clusters is how many selected clusters are in each state; nil when that and Revisions are not known.
	Clusters map[rollout.Phase]int
	// Revisions is how many ControllerRevisions count as its own.
	Revisions int
	// Paused says that no work is written or deleted (R22).
	Paused bool
	// DeletingSince is when the first of the ManifestWorks that are being deleted was deleted; zero for none.
	DeletingSince time.Time
}

// replicaSets makes the series of ManifestWorkReplicaSets when Prometheus asks for them: what is gone leaves none behind.
type replicaSets struct {
	k8smetrics.BaseStableCollector
	stage, clusters, revisions, paused, deleting *k8smetrics.Desc

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
	paused    int
	// deleting is a Unix time in seconds; 0 for none.
	deleting int64
}

func newReplicaSets() *replicaSets {
	desc := func(name, help string, labels ...string) *k8smetrics.Desc {
		return k8smetrics.NewDesc(prefix+"_"+name, help, append([]string{"namespace", "name"}, labels...), nil, k8smetrics.ALPHA, "")
	}
	return &replicaSets{
		stage: desc("stage", "1 for the stage that a ManifestWorkReplicaSet is in: "+
			"RollingOut, Stalled, Complete, Aborting, Aborted, Invalid or Deleting.", "stage"),
		clusters: desc("clusters", "Selected clusters of a ManifestWorkReplicaSet, by state. While it is aborted: Restoring or Restored.",
			"state"),
		revisions: desc("revisions", "Revisions that are kept of a ManifestWorkReplicaSet."),
		paused: desc("paused",
			"1 for a ManifestWorkReplicaSet whose spec.paused is true: no ManifestWork of it is written or deleted. The others have no series."),
		deleting: desc("work_deletion_timestamp_seconds",
			"Unix time at which the first of the ManifestWorks that are being deleted was deleted. "+
				"A ManifestWorkReplicaSet without such works has no series."),
		known: map[string]*observed{},
	}
}

func (r *replicaSets) observe(key string, o Observation) {
	s := sample{revisions: o.Revisions, counted: o.Clusters != nil}
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
	if !o.DeletingSince.IsZero() {
		s.deleting = o.DeletingSince.Unix()
	}
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
	ch <- r.deleting
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

// snapshot is a copy: who reads the channel may be slow, and passes should not wait for that.
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
	if s.deleting == 0 || (other.deleting > 0 && other.deleting < s.deleting) {
		s.deleting = other.deleting
	}
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
	if s.deleting > 0 {
		gauge(r.deleting, int(s.deleting))
	}
	if !s.counted {
		return
	}
	for i, n := range s.clusters {
		gauge(r.clusters, n, string(states[i]))
	}
	gauge(r.revisions, s.revisions)
}
