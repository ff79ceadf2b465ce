package forecast

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Variant is an input with one change.
type Variant struct {
	// Change describes the change.
	Change string
	Input  *Input
}

// Variants returns the changes that may improve a rollout. Each variant has one change; the clusters and the seed stay the same.
func Variants(in *Input) []Variant {
	var found []Variant
	for _, propose := range []func(*Input) string{
		func(in *Input) string { return addRule(&in.Rules.Progressing, "Progressing") },
		func(in *Input) string { return addRule(&in.Rules.Degraded, "Degraded") },
		addAbort, addCanary, halveConcurrency, halveDeadline,
	} {
		changed := in.clone()
		if change := propose(changed); change != "" && changed.Validate() == nil {
			found = append(found, Variant{Change: change, Input: changed})
		}
	}
	return found
}

// clone copies what a variant changes.
func (in *Input) clone() *Input {
	changed := *in
	changed.ReplicaSet = in.ReplicaSet.DeepCopy()
	changed.Placements = maps.Clone(in.Placements)
	return &changed
}

func addRule(rule *bool, condition string) string {
	if *rule {
		return ""
	}
	*rule = true
	return "a condition rule for " + condition
}

func addAbort(in *Input) string {
	changed := false
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		ref := &in.ReplicaSet.Spec.PlacementRefs[i]
		if ref.RolloutStrategy.FailureStrategy != workv1alpha1.AbortAll {
			ref.RolloutStrategy.FailureStrategy, changed = workv1alpha1.AbortAll, true
		}
	}
	if !changed || in.First {
		return ""
	}
	return "failureStrategy: AbortAll"
}

// canary is the name of the group that addCanary adds. The group has one in canaryShare clusters.
const (
	canary      = "canary"
	canaryShare = 100
)

// addCanary turns the first clusters of the first placementRef into a mandatory decision group.
func addCanary(in *Input) string {
	ref := &in.ReplicaSet.Spec.PlacementRefs[0]
	placement := in.Placements[ref.Name]
	size := max(1, placement.Selected/canaryShare)
	groups := mandatoryGroups(&ref.RolloutStrategy)
	if groups == nil || len(groups.MandatoryDecisionGroups)+len(ref.RolloutStrategy.Groups) > 0 || placement.Selected <= size {
		return ""
	}
	in.Placements[ref.Name] = withCanary(placement, size)
	groups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: canary}}
	return fmt.Sprintf("a mandatory canary group of %d of %d clusters in placement %s", size, placement.Selected, ref.Name)
}

func mandatoryGroups(s *workv1alpha1.RolloutStrategy) *clusterv1alpha1.MandatoryDecisionGroups {
	switch {
	case s.Type == clusterv1alpha1.Progressive && s.Progressive != nil:
		return &s.Progressive.MandatoryDecisionGroups
	case s.Type == clusterv1alpha1.ProgressivePerGroup && s.ProgressivePerGroup != nil:
		return &s.ProgressivePerGroup.MandatoryDecisionGroups
	}
	return nil
}

// withCanary moves the first clusters of a Placement into a group of their own, before the others.
func withCanary(pl *placement.Placement, size int) *placement.Placement {
	changed := &placement.Placement{Selected: pl.Selected, Decisions: pl.Decisions + 1}
	first := placement.Group{Name: canary}
	for _, g := range pl.Groups {
		n := min(size-len(first.Clusters), len(g.Clusters))
		first.Clusters = append(first.Clusters, g.Clusters[:n]...)
		if g.Index++; n < len(g.Clusters) {
			changed.Groups = append(changed.Groups, placement.Group{Name: g.Name, Index: g.Index, Clusters: g.Clusters[n:]})
		}
	}
	changed.Groups = append([]placement.Group{first}, changed.Groups...)
	return changed
}

func halveConcurrency(in *Input) string {
	changed := ""
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		ref := &in.ReplicaSet.Spec.PlacementRefs[i]
		s := ref.RolloutStrategy.Progressive
		if ref.RolloutStrategy.Type != clusterv1alpha1.Progressive || s == nil {
			continue
		}
		total := in.Placements[ref.Name].Selected
		if half := placement.Batch(&s.MaxConcurrency, total) / 2; half > 0 {
			s.MaxConcurrency = intstr.FromInt32(int32(half)) //nolint:gosec // bounded by MaxClusters
			changed = fmt.Sprintf("half the concurrency (maxConcurrency %d)", half)
		}
	}
	return changed
}

// defaultDeadline is the deadline that is proposed if there is none.
const defaultDeadline = "10m"

func halveDeadline(in *Input) string {
	changed := ""
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		config := ConfigOf(&in.ReplicaSet.Spec.PlacementRefs[i].RolloutStrategy)
		if config == nil {
			continue
		}
		deadline := &config.ProgressDeadline
		if *deadline == "" || *deadline == "None" {
			*deadline = defaultDeadline
			changed = "progressDeadline " + defaultDeadline
			continue
		}
		if d, err := time.ParseDuration(*deadline); err == nil && d/2 > 0 {
			*deadline = (d / 2).String()
			changed = "half the progressDeadline (" + *deadline + ")"
		}
	}
	return changed
}

// ConfigOf returns the part of a strategy that its type uses; nil if there is none.
func ConfigOf(s *workv1alpha1.RolloutStrategy) *clusterv1alpha1.RolloutConfig {
	switch {
	case s.Type == clusterv1alpha1.Progressive && s.Progressive != nil:
		return &s.Progressive.RolloutConfig
	case s.Type == clusterv1alpha1.ProgressivePerGroup && s.ProgressivePerGroup != nil:
		return &s.ProgressivePerGroup.RolloutConfig
	case (s.Type == clusterv1alpha1.All || s.Type == "") && s.All != nil:
		return &s.All.RolloutConfig
	}
	return nil
}

// ShortestDeadline returns the shortest progressDeadline of the placementRefs, and its Placement; zero if no placementRef has a deadline.
func ShortestDeadline(refs []workv1alpha1.LocalPlacementReference) (shortest time.Duration, name string) {
	for i := range refs {
		if d := placement.StrategyOf(&refs[i].RolloutStrategy).Deadline; d > 0 && d != placement.NoDeadline && (shortest == 0 || d < shortest) {
			shortest, name = d, refs[i].Name
		}
	}
	return shortest, name
}
