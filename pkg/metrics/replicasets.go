package metrics

import (
	"maps"
	"strings"
	"sync"
	"time"

	k8smetrics "k8s.io/component-base/metrics"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// MaxReplicaSets is the maximum number of ManifestWorkReplicaSets with their own series. The values of the others are
// summed up in series with empty labels mwrs_namespace and name, so the number of series is bounded.
const MaxReplicaSets = 1000

// The states of clusters during an abort. Otherwise the states are those of package rollout.
const (
	// Restoring means that the cluster has not confirmed the restored revision yet.
	Restoring rollout.Phase = "Restoring"
	// Restored means that the cluster has confirmed the restored revision.
	Restored rollout.Phase = "Restored"
)

var states = [...]rollout.Phase{
	rollout.PhaseWaiting, rollout.PhaseTerminating, rollout.PhaseTerminationTimedOut, rollout.PhaseInFlight,
	rollout.PhaseValidating, rollout.PhaseSoaking,
	rollout.PhaseDegraded, rollout.PhaseFailed, rollout.PhaseAgentUnknown, rollout.PhaseCompleted, rollout.PhaseSkipped,
	rollout.PhaseHeld, rollout.PhaseClosed,
	rollout.PhaseSucceeded, Restoring, Restored,
}

// Observation holds the findings of a pass over a ManifestWorkReplicaSet.
type Observation struct {
	Stage status.Stage
	// WouldAbort is true if AbortAll would have aborted the rollout, but ReportAbort did not.
	WouldAbort bool
	// Clusters is the number of selected clusters in each state; nil if this and Revisions are unknown.
	Clusters map[rollout.Phase]int
	// Revisions is the number of ControllerRevisions that count as the object's own.
	Revisions int
	// Paused is true if no work is written or deleted.
	Paused bool
	// Lost is the number of clusters without a work from whose agents the hub hears over a broker, if a pause holds
	// back the work.
	Lost int
	// AwaitingApproval is the number of decision groups that wait for an approval.
	AwaitingApproval int
	// Started is the time at which the rollout in progress began; zero for none.
	Started time.Time
	// Problems prevent the hub from processing the object completely. Each is listed once.
	Problems []Problem
	// Placements are the counts of its placementRefs, in spec order.
	Placements []Placement
	// DeletingSince is the earliest deletion time of the ManifestWorks that are being deleted; zero for none.
	DeletingSince time.Time
}

// Problem is an issue that an administrator must resolve before the hub can process a ManifestWorkReplicaSet completely.
type Problem string

// The problems.
const (
	// OlderCRD means that the API server drops status.ledger.
	OlderCRD Problem = "OlderCRD"
	// HistoryUnavailable means that the hub has no permission to read ControllerRevisions, so nothing is aborted.
	HistoryUnavailable Problem = "HistoryUnavailable"
)

// MaxPlacements is the maximum number of placementRefs of a ManifestWorkReplicaSet with series.
const MaxPlacements = 10

// Placement holds the numbers of clusters of a placementRef.
type Placement struct {
	Name string
	// Selected is the number of selected clusters, Updated the number that have succeeded at the update revision, and
	// Failing the number that are failing. Updated is 0 after an abort.
	Selected, Updated, Failing int
}

// replicaSets builds the series of ManifestWorkReplicaSets on each scrape, so deleted objects do not leave series behind.
type replicaSets struct {
	k8smetrics.BaseStableCollector
	stage, wouldAbort, clusters, revisions, paused, lost, approvals, deleting, started, problem, placement *k8smetrics.Desc

	mu    sync.Mutex
	known map[string]*observed
	// own is the number of known objects with their own series.
	own int
}

type observed struct {
	own bool
	Observation
}

func newReplicaSets() *replicaSets {
	desc := func(name, help string, labels ...string) *k8smetrics.Desc {
		return k8smetrics.NewDesc(prefix+"_"+name, help, append([]string{"mwrs_namespace", "name"}, labels...), nil, k8smetrics.ALPHA, "")
	}
	return &replicaSets{
		stage: desc("stage", "1 for the stage of a ManifestWorkReplicaSet: "+
			"RollingOut, Stalled, Complete, Aborting, Aborted, Invalid or Deleting.", "stage"),
		wouldAbort: desc("would_abort", "1 for a ManifestWorkReplicaSet with failureStrategy ReportAbort whose rollout AbortAll would have "+
			"aborted. Others have no series."),
		clusters: desc("clusters", "Selected clusters of a ManifestWorkReplicaSet, by state. After an abort: Restoring or Restored.",
			"state"),
		revisions: desc("revisions", "Stored revisions of a ManifestWorkReplicaSet."),
		paused: desc("paused",
			"1 for a ManifestWorkReplicaSet whose spec.paused is true: none of its ManifestWorks is written or deleted. Others have no series."),
		lost: desc("clusters_without_work", "Selected clusters that have no ManifestWork during a pause, although their agents report over a "+
			"broker. If an agent had one and lost it, it removes the objects after a while. Objects without such clusters have no series."),
		approvals: desc("approvals_pending",
			"Decision groups of a ManifestWorkReplicaSet that wait for an approval. Objects without such groups have no series."),
		deleting: desc("work_deletion_timestamp_seconds",
			"Unix time of the earliest deletion among the terminating ManifestWorks. "+
				"A ManifestWorkReplicaSet without such works has no series."),
		started: desc("rollout_start_timestamp_seconds",
			"Unix time at which the rollout in progress began. A ManifestWorkReplicaSet without one has no series."),
		problem: desc("problem", "1 for a problem with a ManifestWorkReplicaSet that an administrator must solve: "+
			"OlderCRD or HistoryUnavailable. Other problems have no series.", "problem"),
		placement: desc("placement_clusters", "Clusters of a placementRef: Selected, Updated or Failing.",
			"placement", "state"),
		known: map[string]*observed{},
	}
}

func (r *replicaSets) observe(key string, o Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[key]
	if known == nil {
		known = &observed{}
		r.known[key] = known
	}
	if !known.own && r.own < MaxReplicaSets { // Another object may have been deleted.
		known.own = true
		r.own++
	}
	o.Clusters = maps.Clone(o.Clusters)
	known.Observation = o
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
	for _, desc := range []*k8smetrics.Desc{
		r.stage, r.wouldAbort, r.clusters, r.revisions, r.paused, r.lost, r.approvals, r.deleting, r.started, r.problem, r.placement,
	} {
		ch <- desc
	}
}

// CollectWithStability implements StableCollector.
func (r *replicaSets) CollectWithStability(ch chan<- k8smetrics.Metric) {
	emit := func(desc *k8smetrics.Desc, n int64, labels ...string) {
		ch <- k8smetrics.NewLazyConstMetric(desc, k8smetrics.GaugeValue, float64(n), labels...)
	}
	type series struct {
		desc  *k8smetrics.Desc
		label string
	}
	rest := map[series]int64{}
	for key, known := range r.snapshot() {
		if known.own {
			namespace, name, _ := strings.Cut(key, "/")
			r.values(&known.Observation, func(desc *k8smetrics.Desc, n int64, labels ...string) {
				emit(desc, n, append([]string{namespace, name}, labels...)...)
			})
			continue
		}
		known.Placements = nil
		r.values(&known.Observation, func(desc *k8smetrics.Desc, n int64, labels ...string) {
			of := series{desc, strings.Join(labels, "")} // Without placementRefs, there is at most one label.
			sum, more := rest[of]
			switch {
			case desc != r.deleting && desc != r.started:
				n += sum
			case more:
				n = min(n, sum)
			}
			rest[of] = n
		})
	}
	for of, n := range rest {
		labels := []string{"", ""}
		if of.label != "" {
			labels = append(labels, of.label)
		}
		emit(of.desc, n, labels...)
	}
}

// snapshot returns a copy, because the reader of the channel may be slow, and passes should not wait for it.
func (r *replicaSets) snapshot() map[string]observed {
	r.mu.Lock()
	defer r.mu.Unlock()
	snapshot := make(map[string]observed, len(r.known))
	for key, known := range r.known {
		snapshot[key] = *known
	}
	return snapshot
}

// values calls add with each value of an observation, and with its labels except mwrs_namespace and name.
func (r *replicaSets) values(o *Observation, add func(desc *k8smetrics.Desc, n int64, labels ...string)) {
	if o.Stage != "" {
		add(r.stage, 1, string(o.Stage))
	}
	if o.WouldAbort {
		add(r.wouldAbort, 1)
	}
	if o.Paused {
		add(r.paused, 1)
	}
	if o.Lost > 0 {
		add(r.lost, int64(o.Lost))
	}
	if o.AwaitingApproval > 0 {
		add(r.approvals, int64(o.AwaitingApproval))
	}
	if !o.DeletingSince.IsZero() {
		add(r.deleting, o.DeletingSince.Unix())
	}
	if !o.Started.IsZero() {
		add(r.started, o.Started.Unix())
	}
	for _, problem := range o.Problems {
		add(r.problem, 1, string(problem))
	}
	for _, p := range o.Placements[:min(len(o.Placements), MaxPlacements)] {
		add(r.placement, int64(p.Selected), p.Name, "Selected")
		add(r.placement, int64(p.Updated), p.Name, "Updated")
		add(r.placement, int64(p.Failing), p.Name, "Failing")
	}
	if o.Clusters == nil {
		return
	}
	for _, state := range states {
		n := o.Clusters[state]
		if state == rollout.PhaseSoaking {
			n += o.Clusters[rollout.PhaseHandingOver] // The success of these clusters does not count yet either.
		}
		add(r.clusters, int64(n), string(state))
	}
	add(r.revisions, int64(o.Revisions))
}
