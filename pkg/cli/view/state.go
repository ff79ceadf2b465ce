package view

import "github.com/open-cluster-management-io/work-rollback/pkg/rollout"

// State is the state of a cluster: its phase, under the name that the API and the docs use.
type State string

// The states.
const (
	// StateWaiting means that the cluster does not have the revision yet.
	StateWaiting State = "Waiting"
	// StateTerminating means that a ManifestWork is being deleted first.
	StateTerminating State = "Terminating"
	// StateTerminationTimedOut means that the deletion takes longer than progressDeadline.
	StateTerminationTimedOut State = "TerminationTimedOut"
	// StateInFlight means that the cluster has the revision without a result.
	StateInFlight State = "InFlight"
	// StateValidating means that a success gate is not True yet.
	StateValidating State = "Validating"
	// StateSoaking means that the success has not lasted for minSuccessTime.
	StateSoaking State = "Soaking"
	// StateHandingOver means that dropped objects stay until the revision is available.
	StateHandingOver State = "HandingOver"
	// StateDegraded means that the agent reports the ManifestWork as degraded.
	StateDegraded State = "Degraded"
	// StateRejected means that the API server rejects the ManifestWork.
	StateRejected State = "Rejected"
	// StateFailed means that the cluster counts against maxFailures.
	StateFailed State = "Failed"
	// StateRestoring means that the rollout was aborted, and that the cluster has not confirmed the current revision.
	StateRestoring State = "Restoring"
	// StateAgentUnknown means that the hub has not heard the agent since the hub started.
	StateAgentUnknown State = "AgentUnknown"
	// StateAway means that the cluster is unavailable, and that no Placement selects it or the rollout skips it: it keeps its ManifestWork.
	StateAway State = "Away"
	// StateHeld means that a hold of the cluster keeps it from the revision, and StateClosed that no window of the cluster is open.
	StateHeld   State = "Held"
	StateClosed State = "Closed"
	// StateCompleted means that the ManifestWork ran to completion at another revision, and that its agent takes no new one.
	StateCompleted State = "Completed"
	// StateSucceeded means that the revision succeeded on the cluster.
	StateSucceeded State = "Succeeded"
)

var states = map[rollout.Phase]State{
	rollout.PhaseWaiting: StateWaiting, rollout.PhaseTerminating: StateTerminating,
	rollout.PhaseTerminationTimedOut: StateTerminationTimedOut, rollout.PhaseInFlight: StateInFlight,
	rollout.PhaseValidating: StateValidating,
	rollout.PhaseSoaking:    StateSoaking, rollout.PhaseHandingOver: StateHandingOver, rollout.PhaseDegraded: StateDegraded,
	rollout.PhaseFailed: StateFailed, rollout.PhaseAgentUnknown: StateAgentUnknown,
	rollout.PhaseCompleted: StateCompleted, rollout.PhaseSkipped: StateAway, rollout.PhaseHeld: StateHeld, rollout.PhaseClosed: StateClosed,
	rollout.PhaseSucceeded: StateSucceeded,
}
