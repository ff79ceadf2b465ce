package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Cluster is one cluster of a ManifestWorkReplicaSet.
type Cluster struct {
	Name      string
	Placement string
	// Wrote is the revision that the hub wrote to the cluster's ManifestWork: its number, or its hash if the number is unknown. It is empty
	// if the cluster has no work.
	Wrote string
	// Confirmed is true if the agent reports that it applied the current generation of the work.
	Confirmed bool
	// State is the phase of the cluster. It is Failed for each cluster that counts against maxFailures.
	State State
	// Since is the time when the state began. It is zero if unknown.
	Since time.Time
	// ChangesAt is the time when the state changes without further events, and Then is the next state. Both are empty if it does not.
	ChangesAt time.Time
	Then      State
	// WaitsFor names the event that the cluster waits for.
	WaitsFor rollout.Wait
	// Reason is the failure reason of a failed cluster.
	Reason workv1alpha1.FailureReason
	// Message is the message from the agent or the API server. It is empty if the cluster succeeded or has no work.
	Message string
}

// ranks lists the phases, the most urgent first. Phases that are not listed come after these, and finished clusters come last.
var ranks = []State{
	StateFailed, StateRejected, StateDegraded, StateTerminationTimedOut, StateAgentUnknown,
	StateInFlight, StateHandingOver, StateSoaking, StateTerminating, StateWaiting,
}

func (c *Cluster) rank() int {
	switch at := slices.Index(ranks, c.State); {
	case at >= 0:
		return at
	case c.done():
		return len(ranks) + 1
	}
	return len(ranks)
}

// done reports whether the cluster has finished.
func (c *Cluster) done() bool {
	return c.State == StateSucceeded || c.State == StateCompleted
}

// Clusters returns the selected clusters, the most urgent first. If some objects could not be read or the works travel over a broker, it
// returns only the clusters in status.failures and status.rejections.
func Clusters(o *Objects) []Cluster {
	clusters := o.standing()
	if clusters == nil {
		clusters = o.recorded()
	}
	slices.SortStableFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Name, b.Name))
	})
	return clusters
}

// standing returns the clusters from rollout.Explain, or nil if the objects are incomplete.
func (o *Objects) standing() []Cluster {
	s := o.snapshot()
	if s == nil || len(o.Missing) > 0 || o.overBroker() {
		return nil
	}
	works, numbers := map[string]*rollout.Work{}, o.numbers()
	for i := range o.Works {
		works[o.Works[i].Cluster()] = &o.Works[i]
	}
	failures := o.failures()
	clusters := []Cluster{}
	for _, standing := range rollout.Explain(s) {
		c := Cluster{
			Name: standing.Cluster, Placement: standing.Placement, State: states[standing.Phase], Since: standing.Since,
			ChangesAt: standing.ChangesAt, Then: states[standing.Then], WaitsFor: standing.WaitsFor,
		}
		if standing.Failed {
			c.State = StateFailed
		}
		c.describe(works[c.Name], numbers)
		if o.aborted() && !c.done() {
			c.WaitsFor = rollout.WaitNothing // An abort writes to every cluster at once.
		}
		if failure, failed := failures[c.Name]; failed && !o.aborted() {
			c.Reason, c.Message = failure.Reason, cmp.Or(failure.Message, c.Message)
			c.Since = failure.Since.Time
		}
		clusters = append(clusters, c)
	}
	return clusters
}

// describe adds the information from the cluster's work.
func (c *Cluster) describe(work *rollout.Work, numbers map[string]int64) {
	if work == nil {
		return
	}
	c.Wrote = numberOf(numbers, work.Hash())
	applied := meta.FindStatusCondition(work.Object.Status.Conditions, workv1.WorkApplied)
	c.Confirmed = applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == work.Object.Generation
	if !c.done() && c.State != StateSoaking && c.State != StateWaiting {
		c.Message = status.AgentMessage(work.Object)
	}
}

// recorded returns the clusters in status.failures and status.rejections.
func (o *Objects) recorded() []Cluster {
	var clusters []Cluster
	for _, list := range []struct {
		entries []workv1alpha1.ClusterFailure
		state   State
	}{{o.ReplicaSet.Status.Failures, StateFailed}, {o.ReplicaSet.Status.Rejections, StateRejected}} {
		for i := range list.entries {
			f := &list.entries[i]
			clusters = append(clusters, Cluster{
				Name: f.Cluster, Placement: f.Placement, State: list.state, Since: f.Since.Time, Reason: f.Reason, Message: f.Message,
			})
		}
	}
	return clusters
}

func (o *Objects) failures() map[string]*workv1alpha1.ClusterFailure {
	failures := map[string]*workv1alpha1.ClusterFailure{}
	for i := range o.ReplicaSet.Status.Failures {
		failures[o.ReplicaSet.Status.Failures[i].Cluster] = &o.ReplicaSet.Status.Failures[i]
	}
	return failures
}

// overBroker reports whether the works travel over a broker: the status counts works, but the API server has none.
func (o *Objects) overBroker() bool {
	return len(o.Works) == 0 && o.ReplicaSet.Status.Summary.Total > 0
}

// numbers returns the numbers of the revisions, by hash.
func (o *Objects) numbers() map[string]int64 {
	numbers := map[string]int64{}
	for _, rev := range Revisions(o) {
		numbers[rev.Hash] = rev.Number
	}
	return numbers
}

func numberOf(numbers map[string]int64, hash string) string {
	if number, known := numbers[hash]; known {
		return strconv.FormatInt(number, 10)
	}
	return hash
}
