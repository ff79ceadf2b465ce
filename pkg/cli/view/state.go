package view

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// State is the state of a cluster: its phase, or one of the states below.
type State = rollout.Phase

const (
	// StateRejected means that the API server rejects the ManifestWork.
	StateRejected State = "Rejected"
	// StateRestoring means that the rollout was aborted, and that the cluster has not confirmed the current revision.
	StateRestoring State = "Restoring"
	// StateAway means that the cluster is unavailable, and that no Placement selects it or the rollout skips it. It keeps its ManifestWork.
	StateAway = rollout.PhaseSkipped
)

// levels are the levels of the states of ManifestWorkReplicaSets, of their revisions and of their clusters.
var levels = map[string]Level{
	string(workv1alpha1.StateComplete): LevelGood, string(workv1alpha1.StateRollingOut): LevelBusy,
	string(workv1alpha1.StatePaused): LevelWarn, string(workv1alpha1.StateDeleting): LevelWarn,
	string(workv1alpha1.StateStalled): LevelBad, string(workv1alpha1.StateWouldAbort): LevelBad, string(workv1alpha1.StateInvalid): LevelBad,
	string(workv1alpha1.StateAborting): LevelBad, string(workv1alpha1.StateAborted): LevelBad,

	string(workv1alpha1.RevisionAvailable): LevelGood, string(workv1alpha1.RevisionProgressing): LevelBusy,
	string(workv1alpha1.RevisionNotReady): LevelBusy,

	string(rollout.PhaseSucceeded): LevelGood, string(rollout.PhaseFailed): LevelBad, string(StateRejected): LevelBad,
	string(rollout.PhaseDegraded): LevelBad, string(rollout.PhaseTerminationTimedOut): LevelBad, string(rollout.PhaseCompleted): LevelBad,
	string(StateRestoring): LevelBusy, string(rollout.PhaseAgentUnknown): LevelBusy, string(StateAway): LevelBusy,
	string(rollout.PhaseInFlight): LevelBusy, string(rollout.PhaseValidating): LevelBusy, string(rollout.PhaseSoaking): LevelBusy,
	string(rollout.PhaseHandingOver): LevelBusy, string(rollout.PhaseHeld): LevelBusy, string(rollout.PhaseClosed): LevelBusy,
	string(rollout.PhaseTerminating): LevelBusy,
}

// LevelOf returns the level of a state of a ManifestWorkReplicaSet, a revision or a cluster; empty if the state is unremarkable. A cluster
// whose level is bad needs a user.
func LevelOf(state string) Level { return levels[state] }
