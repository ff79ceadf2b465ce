package v1alpha1

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// SkipsUnavailable reports whether rollouts skip unavailable clusters.
func (s *RolloutStrategy) SkipsUnavailable() bool { return s.UnavailableClusters == SkipUnavailable }

// SkipsUnavailable reports whether any placementRef skips unavailable clusters.
func (s *ManifestWorkReplicaSetSpec) SkipsUnavailable() bool {
	for i := range s.PlacementRefs {
		if s.PlacementRefs[i].RolloutStrategy.SkipsUnavailable() {
			return true
		}
	}
	return false
}

// ListsGroups reports whether a placementRef lists decision groups that roll out first.
func (s *ManifestWorkReplicaSetSpec) ListsGroups() bool {
	for i := range s.PlacementRefs {
		if len(s.PlacementRefs[i].RolloutStrategy.Groups) > 0 {
			return true
		}
	}
	return false
}

// HasFailureStrategy reports whether any placementRef has the given failureStrategy.
func (s *ManifestWorkReplicaSetSpec) HasFailureStrategy(strategy FailureStrategy) bool {
	return slices.ContainsFunc(s.PlacementRefs, func(ref LocalPlacementReference) bool { return ref.RolloutStrategy.FailureStrategy == strategy })
}

// Label returns the name of a group, or its index as text, as in status.approvals. It is empty if the group has neither.
func (g *RolloutGroup) Label() string {
	if g.GroupName != "" || g.GroupIndex == nil {
		return g.GroupName
	}
	return strconv.Itoa(int(*g.GroupIndex))
}

// NeedsApproval reports whether a group waits for an approval.
func (g *RolloutGroup) NeedsApproval() bool { return g.Approval == ApprovalRequired }

// Bake returns the bakeTime of a group.
func (g *RolloutGroup) Bake() time.Duration { return ptr.Deref(g.BakeTime, metav1.Duration{}).Duration }
