package view

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Cluster is one cluster of a ManifestWorkReplicaSet.
type Cluster struct {
	Name      string `json:"name"`
	Placement string `json:"placement,omitempty"`
	// Wrote is the revision that the hub wrote to the cluster's ManifestWork: its number, or its hash if the number is unknown. It is empty
	// if the cluster has no work.
	Wrote string `json:"wrote,omitempty"`
	// Confirmed is true if the agent reports that it applied the current generation of the work.
	Confirmed bool `json:"confirmed"`
	// State is the phase of the cluster. It is Failed for each cluster that counts against maxFailures.
	State State `json:"state"`
	// Since is the time when the state began. It is zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// ChangesAt is the time when the state changes without further events, and Then is the next state. Both are empty if the state does not
	// change.
	ChangesAt time.Time `json:"changesAt,omitzero"`
	Then      State     `json:"then,omitempty"`
	// WaitsFor names the event that the cluster waits for.
	WaitsFor rollout.Wait `json:"waitsFor,omitempty"`
	// Reason is the failure reason of a failed cluster.
	Reason workv1alpha1.FailureReason `json:"reason,omitempty"`
	// Message is the message from the agent or the API server. It is empty if the cluster succeeded or has no work.
	Message string `json:"message,omitempty"`
}

// states are the states of a cluster, the most urgent first.
var states = []State{
	rollout.PhaseFailed, StateRejected, StateRestoring, rollout.PhaseDegraded, rollout.PhaseTerminationTimedOut, rollout.PhaseCompleted,
	rollout.PhaseAgentUnknown, StateAway, rollout.PhaseInFlight, rollout.PhaseValidating, rollout.PhaseHandingOver, rollout.PhaseSoaking,
	rollout.PhaseTerminating, rollout.PhaseHeld, rollout.PhaseClosed, rollout.PhaseWaiting, rollout.PhaseSucceeded,
}

// States returns the states of a cluster, the most urgent first.
func States() []State { return slices.Clone(states) }

// rank returns the place of a state in the order of urgency.
func rank(s State) int { return slices.Index(states, s) }

// done reports whether the cluster succeeded. A cluster that ran to completion at another revision did not succeed: the rollout waits for
// it.
func (c *Cluster) done() bool { return c.State == rollout.PhaseSucceeded }

// Clusters returns the selected clusters and those that are away, the most urgent first. If the works could not be read or travel over a
// broker, it returns only the clusters in status.failures, status.rejections and status.away.
func Clusters(o *Objects) []Cluster {
	o = Prepared(o)
	clusters, _ := o.clusters()
	if len(o.ReplicaSet.Status.Away) == 0 || !o.ReplicaSet.DeletionTimestamp.IsZero() {
		return clusters
	}
	works, failures, all, counted := o.works(), o.failures(), slices.Clone(clusters), o.counting()
	for i := range o.ReplicaSet.Status.Away {
		away := &o.ReplicaSet.Status.Away[i]
		if slices.ContainsFunc(clusters, func(c Cluster) bool { return c.Name == away.Cluster }) {
			continue
		}
		c := Cluster{Name: away.Cluster, Placement: away.Placement, State: StateAway, WaitsFor: rollout.WaitSelection}
		if away.Skipped {
			c.WaitsFor = rollout.WaitAvailability
		}
		if away.Since != nil {
			c.Since = away.Since.Time
		}
		o.describe(&c, works[c.Name])
		if standing := counted[c.Name]; standing.Then == rollout.PhaseFailed {
			c.ChangesAt, c.Then = standing.ChangesAt, standing.Then
		}
		if gate := counted[c.Name].Gate; gate != "" {
			c.Message = status.GateMessage(works[c.Name].Object, gate)
		}
		if failure, failed := failures[c.Name]; failed && !o.aborted() {
			c.Reason, c.Message = failure.Reason, cmp.Or(failure.Message, c.Message)
		}
		all = append(all, c)
	}
	sortClusters(all)
	return all
}

// counting returns the clusters that count in a rollout that is in progress, by name. They include those that are away. It is
// empty if the clusters are unknown, the rollout is aborted, or no hub acts.
func (o *Objects) counting() map[string]rollout.Standing {
	found := map[string]rollout.Standing{}
	if _, known := o.clusters(); !known || o.aborted() || len(Alarms(o)) > 0 {
		return found
	}
	for _, standing := range rollout.ExplainAll(o.snapshot()) {
		found[standing.Cluster] = standing
	}
	return found
}

func sortClusters(clusters []Cluster) {
	slices.SortStableFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.Name, b.Name))
	})
}

// clusters returns the clusters that are not away, and reports whether they are all selected clusters.
func (o *Objects) clusters() ([]Cluster, bool) { return Prepared(o).known.clusters() }

func (o *Objects) locate() (clusters []Cluster, known bool) {
	switch known = o.explained(); {
	case !known:
		clusters = o.recorded()
	case !o.ReplicaSet.DeletionTimestamp.IsZero():
		clusters = o.leaving()
	default:
		clusters = o.standing()
	}
	sortClusters(clusters)
	return clusters, known
}

// works returns the works by cluster.
func (o *Objects) works() map[string]*work.Work {
	works := make(map[string]*work.Work, len(o.Works))
	for i := range o.Works {
		works[o.Works[i].Cluster()] = &o.Works[i]
	}
	return works
}

// leaving returns the clusters that still have a work while the object is being deleted.
func (o *Objects) leaving() []Cluster {
	clusters := make([]Cluster, 0, len(o.Works))
	for i := range o.Works {
		work := &o.Works[i]
		c := Cluster{Name: work.Cluster(), Placement: work.PlacementName(), State: rollout.PhaseTerminating, WaitsFor: rollout.WaitDeletion}
		o.describe(&c, work)
		c.Since, c.Message = o.ReplicaSet.DeletionTimestamp.Time, ""
		if !c.Confirmed {
			c.Message = "the agent has not confirmed the latest change to the ManifestWork"
		}
		if work.Deleting() {
			c.Since = work.Object.DeletionTimestamp.Time
		}
		clusters = append(clusters, c)
	}
	return clusters
}

// standing returns the clusters from rollout.Explain.
func (o *Objects) standing() []Cluster {
	works, failures, alarmed := o.works(), o.failures(), len(Alarms(o)) > 0
	clusters := []Cluster{}
	for _, standing := range rollout.Explain(o.snapshot()) {
		c := o.clusterOf(&standing, works[standing.Cluster], failures[standing.Cluster])
		if alarmed { // Nothing happens until a hub acts.
			c.ChangesAt, c.Then = time.Time{}, ""
		}
		clusters = append(clusters, c)
	}
	return clusters
}

// clusterOf returns a cluster that counts in the rollout. work is its work, and failure is its recorded failure; either may be nil.
func (o *Objects) clusterOf(standing *rollout.Standing, work *work.Work, failure *workv1alpha1.ClusterFailure) Cluster {
	c := Cluster{
		Name: standing.Cluster, Placement: standing.Placement, State: standing.Phase, Since: standing.Since,
		ChangesAt: standing.ChangesAt, Then: standing.Then, WaitsFor: standing.WaitsFor,
	}
	switch {
	case standing.Failed:
		c.State = rollout.PhaseFailed
	case standing.Rejection != "":
		c.State = StateRejected
	case c.State == rollout.PhaseHeld, c.State == rollout.PhaseClosed:
		c.Message = holdText(o.holds()[c.Name])
	}
	o.describe(&c, work)
	switch {
	case standing.Gate != "":
		c.Message = status.GateMessage(work.Object, standing.Gate)
	case c.State == StateAway:
		c.Message = "unavailable and skipped until it has been available for a minute"
	}
	c.Message = cmp.Or(standing.Rejection, c.Message)
	if c.State == rollout.PhaseWaiting {
		c.Message = cmp.Or(c.Message, o.sickAt(work))
	}
	if o.aborted() {
		c.restoring(o.ReplicaSet.Status.AbortedTime.Time, o.number(o.ReplicaSet.Status.CurrentRevision))
	} else if failure != nil {
		c.Reason, c.Message, c.Since = failure.Reason, cmp.Or(failure.Message, c.Message), failure.Since.Time
	}
	return c
}

// restoring changes a cluster that an abort returns to the current revision. An abort writes to every cluster at once, and has no deadline
// and no minSuccessTime.
func (c *Cluster) restoring(since time.Time, current string) {
	c.WaitsFor, c.ChangesAt, c.Then = rollout.WaitNothing, time.Time{}, ""
	if c.State == rollout.PhaseSoaking {
		c.State = rollout.PhaseSucceeded
	}
	if c.done() {
		return
	}
	if slices.Contains([]State{StateRejected, rollout.PhaseTerminating, rollout.PhaseTerminationTimedOut, rollout.PhaseCompleted}, c.State) {
		return
	}
	c.State, c.Since = StateRestoring, since
	switch {
	case c.Wrote != current:
		c.Message = "the hub has not written revision " + current
	case !c.Confirmed:
		c.Message = "the agent has not confirmed revision " + current
	}
}

// describe adds the information from a cluster's work.
func (o *Objects) describe(c *Cluster, work *work.Work) {
	if work == nil {
		return
	}
	c.Wrote = o.number(work.Hash())
	c.Confirmed = confirmed(work)
	if c.State == rollout.PhaseInFlight && c.WaitsFor == rollout.WaitAgent {
		c.Message = "the agent has not reported on revision " + c.Wrote
		return
	}
	switch c.State {
	case rollout.PhaseSucceeded, rollout.PhaseSoaking, rollout.PhaseWaiting, rollout.PhaseHeld, rollout.PhaseClosed:
	case rollout.PhaseCompleted:
		c.Message = "ran to completion at another revision, and its agent accepts no new revision: " +
			"delete its ManifestWork to roll out revision " + c.Wrote
	default:
		c.Message = status.AgentMessage(work.Object)
	}
}

// confirmed reports whether the agent has applied the current generation of a work.
func confirmed(w *work.Work) bool {
	applied := meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkApplied)
	return applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == w.Object.Generation
}

// recorded returns the clusters in status.failures and status.rejections.
func (o *Objects) recorded() []Cluster {
	var clusters []Cluster
	for _, list := range []struct {
		entries []workv1alpha1.ClusterFailure
		state   State
	}{{o.ReplicaSet.Status.Failures, rollout.PhaseFailed}, {o.ReplicaSet.Status.Rejections, StateRejected}} {
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
