// Package metrics defines the metrics that the hub exposes to Prometheus about ManifestWorkReplicaSets.
// docs/monitoring.md explains each metric to users.
//
// Counters count an event once, when the write that records it has succeeded. A restart does not count an event again.
// The gauges of a ManifestWorkReplicaSet show the results of its last pass. No decision depends on a metric.
package metrics

import (
	"errors"
	"sync"
	"time"

	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// prefix is the prefix of the names of all these metrics: the short name of the resource.
const prefix = "mwrs"

// StartReason is the reason for a rollout.
type StartReason string

// The reasons for a rollout.
const (
	// Created means that the template had no revision yet.
	Created StartReason = "Created"
	// Found means that an earlier template returned: an undo.
	Found StartReason = "Found"
	// Retried means that a user cleared status.abortedTime.
	Retried StartReason = "Retried"
)

// Verb is the kind of write of a ManifestWork.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Patch  Verb = "patch"
	Delete Verb = "delete"
)

// WriteResult is the result of a write of a ManifestWork.
type WriteResult string

// The results of writes.
const (
	// Written means that the API server accepted the write.
	Written WriteResult = "success"
	// Conflict means that the work had changed since it was read. The next pass decides again.
	Conflict WriteResult = "conflict"
	// Refused means that the API server rejects the write until a user fixes the cause.
	Refused WriteResult = "refused"
	// Failed means that the API server was unreachable or overloaded. The write is retried.
	Failed WriteResult = "failed"
)

// PassResult is the result of a pass over a ManifestWorkReplicaSet.
type PassResult string

// The results of passes.
const (
	// Passed means that the pass succeeded.
	Passed PassResult = "success"
	// Behind means that nothing was done, because a cache had not caught up with this process's own writes.
	Behind PassResult = "behind"
	// Erred means that the pass failed. It is retried.
	Erred PassResult = "error"
)

// RolloutResult is the result of a rollout.
type RolloutResult string

// The results of rollouts.
const (
	// RolloutComplete means that the revision became the current revision, even if some clusters failed within maxFailures.
	RolloutComplete RolloutResult = "complete"
	// RolloutAborted means that the rollout was aborted, by the hub or by hand.
	RolloutAborted RolloutResult = "aborted"
)

var (
	rolloutResults = []RolloutResult{RolloutComplete, RolloutAborted}
	startReasons   = []StartReason{Created, Found, Retried}
	verbs          = []Verb{Create, Patch, Delete}
	writeResults   = []WriteResult{Written, Conflict, Refused, Failed}
	passResults    = []PassResult{Passed, Behind, Erred}
)

// restoreBuckets range from a fast agent to a fleet that takes half a day, in seconds.
var restoreBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600}

// rolloutBuckets range from a rollout in a sandbox to a rollout that takes a month.
var rolloutBuckets = []float64{
	10, 30, 60, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600,
}

// Metrics are the metrics of the hub. They may be set before they are registered, but count nothing until then. They
// are safe for concurrent use.
type Metrics struct {
	running   *k8smetrics.Gauge
	started   *k8smetrics.CounterVec
	completed *k8smetrics.Counter
	aborted   *k8smetrics.Counter
	degraded  *k8smetrics.Counter
	restored  *k8smetrics.Histogram
	took      *k8smetrics.HistogramVec
	writes    *k8smetrics.CounterVec
	passes    *k8smetrics.CounterVec
	clock     *k8smetrics.Gauge

	broker  *broker
	upgrade *upgrade

	replicaSets *replicaSets
}

// New returns metrics that are not registered.
func New() *Metrics {
	return &Metrics{
		running: k8smetrics.NewGauge(gauge("controller_running",
			"1 while this process leads, has filled its caches and reconciles ManifestWorkReplicaSets.")),
		started: k8smetrics.NewCounterVec(counter("rollouts_started_total",
			"Rollouts that began, by reason: Created (a new template), Found (an undo) "+
				"or Retried (after an abort)."), []string{"reason"}),
		completed: k8smetrics.NewCounter(counter("rollouts_completed_total", "Rollouts whose revision every selected cluster reached.")),
		aborted:   k8smetrics.NewCounter(counter("rollouts_aborted_total", "Rollouts that were aborted because clusters failed.")),
		degraded: k8smetrics.NewCounter(counter("rollouts_degraded_total",
			"Rollouts that stalled because clusters failed.")),
		restored: k8smetrics.NewHistogram(&k8smetrics.HistogramOpts{
			Namespace: prefix, Name: "abort_restore_duration_seconds", StabilityLevel: k8smetrics.ALPHA, Buckets: restoreBuckets,
			Help: "Time from the decision to abort until every selected cluster had confirmed the restored revision.",
		}),
		took: k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
			Namespace: prefix, Name: "rollout_duration_seconds", StabilityLevel: k8smetrics.ALPHA, Buckets: rolloutBuckets,
			Help: "Time from the start of a rollout until it was complete, or until the decision to abort it.",
		}, []string{"result"}),
		writes: k8smetrics.NewCounterVec(counter("work_writes_total",
			"Attempts to write a ManifestWork, by verb and result: success, conflict, refused (rejected by the API server) or "+
				"failed (retried)."),
			[]string{"verb", "result"}),
		passes: k8smetrics.NewCounterVec(counter("reconciles_total",
			"Passes over a ManifestWorkReplicaSet, by result: success, behind (the caches had not caught up, nothing was done) or error."),
			[]string{"result"}),
		clock: k8smetrics.NewGauge(gauge("clock_ahead_seconds",
			"How far the clock of this machine is ahead of the API server's, negative if it is behind; "+
				"0 while the two differ by at most 10 s.")),
		broker:      newBroker(),
		upgrade:     newUpgrade(),
		replicaSets: newReplicaSets(),
	}
}

func counter(name, help string) *k8smetrics.CounterOpts {
	return &k8smetrics.CounterOpts{Namespace: prefix, Name: name, Help: help, StabilityLevel: k8smetrics.ALPHA}
}

func gauge(name, help string) *k8smetrics.GaugeOpts {
	return &k8smetrics.GaugeOpts{Namespace: prefix, Name: name, Help: help, StabilityLevel: k8smetrics.ALPHA}
}

// number returns the value of a gauge that is 1 or 0.
func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// begin sets a counter with one label to 0 for each value of the label: a rate needs a value before the first event.
func begin[T ~string](counters *k8smetrics.CounterVec, values []T) {
	for _, value := range values {
		counters.WithLabelValues(string(value)).Add(0)
	}
}

// Default returns the metrics that the manager's endpoint serves, registered in the process's registry.
var Default = sync.OnceValue(func() *Metrics {
	m := New()
	if err := m.Register(legacy{}); err != nil {
		panic("registering the metrics of this very package: " + err.Error())
	}
	return m
})

// Registry is a registry of metrics, for example a KubeRegistry.
type Registry interface {
	Register(k8smetrics.Registerable) error
	CustomRegister(k8smetrics.StableCollector) error
}

type legacy struct{}

func (legacy) Register(r k8smetrics.Registerable) error { return legacyregistry.Register(r) }

func (legacy) CustomRegister(c k8smetrics.StableCollector) error {
	return legacyregistry.CustomRegister(c)
}

// Register registers the metrics once, and starts each counter at 0.
func (m *Metrics) Register(registry Registry) error {
	var errs []error
	for _, metric := range []k8smetrics.Registerable{
		m.running, m.started, m.completed, m.aborted, m.degraded, m.restored, m.took, m.writes, m.passes, m.clock,
	} {
		errs = append(errs, registry.Register(metric))
	}
	errs = append(errs, registry.CustomRegister(m.replicaSets), m.broker.register(registry), m.upgrade.register(registry))
	begin(m.started, startReasons)
	begin(m.passes, passResults)
	for _, result := range rolloutResults {
		m.took.WithLabelValues(string(result))
	}
	for _, verb := range verbs {
		for _, result := range writeResults {
			m.writes.WithLabelValues(string(verb), string(result)).Add(0)
		}
	}
	return errors.Join(errs...)
}

// Running records whether this process reconciles ManifestWorkReplicaSets.
func (m *Metrics) Running(yes bool) { m.running.Set(number(yes)) }

// ClockAhead records how far the machine's clock is ahead of the API server's clock; 0 while the two agree.
func (m *Metrics) ClockAhead(by time.Duration) { m.clock.Set(by.Seconds()) }

// RolloutStarted counts a rollout that began.
func (m *Metrics) RolloutStarted(reason StartReason) { m.started.WithLabelValues(string(reason)).Inc() }

// RolloutDegraded counts a rollout that stalled.
func (m *Metrics) RolloutDegraded() { m.degraded.Inc() }

// Restored records the time from the decision to abort until every cluster confirmed the restored revision.
func (m *Metrics) Restored(took time.Duration) { m.restored.Observe(max(took, 0).Seconds()) }

// RolloutEnded counts a rollout that is complete or whose abort is decided, and records the time that the rollout took.
func (m *Metrics) RolloutEnded(result RolloutResult, took time.Duration) {
	if result == RolloutAborted {
		m.aborted.Inc()
	} else {
		m.completed.Inc()
	}
	m.took.WithLabelValues(string(result)).Observe(max(took, 0).Seconds())
}

// WorkWrite counts an attempt to write a ManifestWork.
func (m *Metrics) WorkWrite(verb Verb, result WriteResult) {
	m.writes.WithLabelValues(string(verb), string(result)).Inc()
}

// Reconciled counts a pass.
func (m *Metrics) Reconciled(result PassResult) { m.passes.WithLabelValues(string(result)).Inc() }

// Observe replaces the observation of the ManifestWorkReplicaSet with this "namespace/name".
func (m *Metrics) Observe(key string, o Observation) { m.replicaSets.observe(key, o) }

// Forget drops the series of a deleted ManifestWorkReplicaSet.
func (m *Metrics) Forget(key string) { m.replicaSets.forget(key) }
