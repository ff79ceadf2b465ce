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
	// if there is no work.
	Wrote string
	// Confirmed is true if the agent reports that it applied the work as it is.
	Confirmed bool
	// State is the phase of the cluster; Failed for each cluster that counts against maxFailures.
	State rollout.Phase
	// Since is when the state began; zero if that is unknown.
	Since time.Time
	// ChangesAt is when the state changes by itself, and Then is the state after that; zero and empty if it does not.
	ChangesAt time.Time
	Then      rollout.Phase
	// WaitsFor is what the cluster waits for.
	WaitsFor rollout.Wait
	// Reason is why a failed cluster failed.
	Reason workv1alpha1.FailureReason
	// Message is what the agent or the API server reports; empty for a cluster that succeeded or has no work.
	Message string
}

// ranks is the order in which clusters matter to a person. A phase that is not in it comes last but one; a success comes last.
var ranks = []rollout.Phase{
	rollout.PhaseFailed, rollout.PhaseRejected, rollout.PhaseDegraded, rollout.PhaseTerminationTimedOut, rollout.PhaseAgentUnknown,
	rollout.PhaseInFlight, rollout.PhaseHandingOver, rollout.PhaseSoaking, rollout.PhaseTerminating, rollout.PhaseWaiting,
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

// done reports whether nothing more is expected of the cluster.
func (c *Cluster) done() bool {
	return c.State == rollout.PhaseSucceeded || c.State == rollout.PhaseCompleted
}

// Clusters returns the selected clusters, those that need attention first. Without the Placements or the works, it returns the clusters
// that the status names.
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

// standing returns the clusters as rollout.Explain has them; nil if the objects do not show them.
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
			Name: standing.Cluster, Placement: standing.Placement, State: standing.Phase, Since: standing.Since,
			ChangesAt: standing.ChangesAt, Then: standing.Then, WaitsFor: standing.WaitsFor,
		}
		if standing.Failed {
			c.State = rollout.PhaseFailed
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

// describe adds what a work shows.
func (c *Cluster) describe(work *rollout.Work, numbers map[string]int64) {
	if work == nil {
		return
	}
	c.Wrote = numberOf(numbers, work.Hash())
	applied := meta.FindStatusCondition(work.Object.Status.Conditions, workv1.WorkApplied)
	c.Confirmed = applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == work.Object.Generation
	if !c.done() && c.State != rollout.PhaseSoaking && c.State != rollout.PhaseWaiting {
		c.Message = status.AgentMessage(work.Object)
	}
}

// recorded returns the clusters of status.failures and status.rejections.
func (o *Objects) recorded() []Cluster {
	var clusters []Cluster
	for _, list := range []struct {
		entries []workv1alpha1.ClusterFailure
		state   rollout.Phase
	}{{o.ReplicaSet.Status.Failures, rollout.PhaseFailed}, {o.ReplicaSet.Status.Rejections, rollout.PhaseRejected}} {
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

// overBroker reports whether the works travel over a broker: the status counts works, and the API server has none.
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
