package view

import "github.com/open-cluster-management-io/work-rollback/pkg/rollout"

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
