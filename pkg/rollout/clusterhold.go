package rollout

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// The effects of a hold or a closed window of a cluster (R49):
//
//  1. Nothing is started on the cluster. A cluster that has the update revision, may have it, or has failed with it is not held back. Nor
//     is an edited work, or a cluster that a user retries.
//  2. A cluster on hold is treated like a skipped cluster: it counts toward no limit, and the rollout completes without it, because a hold
//     has no end.
//  3. A closed window opens later. Therefore, the rollout stays in progress, and decision groups wait for the cluster.
//  4. An abort, and a template that returns to the current revision, write to the cluster as usual.

// HeldCluster is a selected cluster that a hold or a closed window keeps from the update revision.
type HeldCluster struct {
	Cluster, Placement string
	placement.Hold
}

// keepsBack reports whether a hold or a closed window keeps a member from the update revision, and sets the phase of such a member.
func (s *Snapshot) keepsBack(m *member) bool {
	hold, known := s.Holds[m.cluster]
	_, again := s.Retried[m.cluster]
	edited := m.work != nil && m.work.Hash() == s.Update.Hash
	if !known || !hold.Holds(s.Now) || again || edited || !s.mayPassOver(m) {
		return false
	}
	if m.phase = held; !hold.Opens.IsZero() {
		m.phase, m.next = closed, hold.Opens
	}
	return true
}
