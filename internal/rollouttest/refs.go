package rollouttest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// RefOption changes a ref.
type RefOption func(*placement.Ref)

// Ref is a placementRef whose Placement exists and selects no clusters. Its strategy is All.
func Ref(name string, options ...RefOption) placement.Ref {
	ref := placement.Ref{Name: name, Placement: &placement.Placement{Decisions: 1, Counted: true}}
	All()(&ref)
	for _, option := range options {
		option(&ref)
	}
	return ref
}

// Clusters selects clusters, in the only group of a Placement without decision groups.
func Clusters(clusters ...string) RefOption { return GroupAt(0, "", clusters...) }

// Group adds the next decision group.
func Group(name string, clusters ...string) RefOption {
	return func(ref *placement.Ref) {
		GroupAt(int32(len(ref.Placement.Groups)), name, clusters...)(ref) //nolint:gosec // a few groups
	}
}

// GroupAt adds a decision group with an index.
func GroupAt(index int32, name string, clusters ...string) RefOption {
	return func(ref *placement.Ref) {
		ref.Placement.Groups = append(ref.Placement.Groups, placement.Group{Name: name, Index: index, Clusters: clusters})
		ref.Placement.Selected += len(clusters)
	}
}

// Expecting sets the Placement's own number of clusters, if the decisions do not show all of them yet.
func Expecting(selected int) RefOption {
	return func(ref *placement.Ref) { ref.Placement.Selected = selected }
}

// Undecided means that the Placement has no decision.
func Undecided() RefOption {
	return func(ref *placement.Ref) { ref.Placement.Decisions = 0 }
}

// Slices sets the number of PlacementDecisions of the Placement.
func Slices(n int) RefOption {
	return func(ref *placement.Ref) { ref.Placement.Decisions = n }
}

// Uncounted means that OCM has not written how many clusters the Placement selects.
func Uncounted() RefOption {
	return func(ref *placement.Ref) { ref.Placement.Counted = false }
}

// Missing means that the Placement does not exist.
func Missing() RefOption {
	return func(ref *placement.Ref) { ref.Placement = nil }
}

// All is the strategy All.
func All() RefOption {
	return func(ref *placement.Ref) {
		ref.Strategy.Type = clusterv1alpha1.All
		ref.Strategy.All = &clusterv1alpha1.RolloutAll{}
	}
}

// Progressive is the strategy Progressive, with a number of clusters or a percentage at a time.
func Progressive(maxConcurrency any) RefOption {
	return func(ref *placement.Ref) {
		ref.Strategy.Type = clusterv1alpha1.Progressive
		ref.Strategy.Progressive = &clusterv1alpha1.RolloutProgressive{MaxConcurrency: Size(maxConcurrency)}
	}
}

// PerGroup is the strategy ProgressivePerGroup.
func PerGroup() RefOption {
	return func(ref *placement.Ref) {
		ref.Strategy.Type = clusterv1alpha1.ProgressivePerGroup
		ref.Strategy.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{}
	}
}

// Size returns a number of clusters, or a percentage.
func Size(value any) intstr.IntOrString {
	if number, ok := value.(int); ok {
		return intstr.FromInt(number)
	}
	return intstr.FromString(value.(string))
}

// config returns the fields of the ref's strategy that hold its limits. The strategy must be set before.
func config(ref *placement.Ref) (*clusterv1alpha1.RolloutConfig, *clusterv1alpha1.MandatoryDecisionGroups) {
	switch ref.Strategy.Type {
	case clusterv1alpha1.Progressive:
		return &ref.Strategy.Progressive.RolloutConfig, &ref.Strategy.Progressive.MandatoryDecisionGroups
	case clusterv1alpha1.ProgressivePerGroup:
		return &ref.Strategy.ProgressivePerGroup.RolloutConfig, &ref.Strategy.ProgressivePerGroup.MandatoryDecisionGroups
	default:
		return &ref.Strategy.All.RolloutConfig, nil
	}
}

// MaxFailures sets how many clusters, or what percentage, may fail.
func MaxFailures(value any) RefOption {
	return func(ref *placement.Ref) {
		limits, _ := config(ref)
		limits.MaxFailures = Size(value)
	}
}

// Deadline sets the progressDeadline, as a user writes it.
func Deadline(value string) RefOption {
	return func(ref *placement.Ref) {
		limits, _ := config(ref)
		limits.ProgressDeadline = value
	}
}

// Soak sets the minSuccessTime.
func Soak(minSuccessTime time.Duration) RefOption {
	return func(ref *placement.Ref) {
		limits, _ := config(ref)
		limits.MinSuccessTime = metav1.Duration{Duration: minSuccessTime}
	}
}

// Mandatory names decision groups that come first.
func Mandatory(names ...string) RefOption {
	return func(ref *placement.Ref) {
		_, groups := config(ref)
		for _, name := range names {
			groups.MandatoryDecisionGroups = append(groups.MandatoryDecisionGroups, clusterv1alpha1.MandatoryDecisionGroup{GroupName: name})
		}
	}
}

// MandatoryAt is Mandatory, by index.
func MandatoryAt(index int32) RefOption {
	return func(ref *placement.Ref) {
		_, groups := config(ref)
		groups.MandatoryDecisionGroups = append(groups.MandatoryDecisionGroups, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: index})
	}
}

// Gate adds a success gate, for some decision groups or for all clusters.
func Gate(conditionType string, groups ...string) RefOption {
	return func(ref *placement.Ref) {
		ref.Strategy.SuccessGates = append(ref.Strategy.SuccessGates, workv1alpha1.SuccessGate{ConditionType: conditionType, Groups: groups})
	}
}

// ReportGate adds a success gate that only reports and has no effect on the rollout.
func ReportGate(conditionType string) RefOption {
	return func(ref *placement.Ref) {
		gate := workv1alpha1.SuccessGate{ConditionType: conditionType, Mode: workv1alpha1.ReportGate}
		ref.Strategy.SuccessGates = append(ref.Strategy.SuccessGates, gate)
	}
}

// AbortAll is the failureStrategy.
func AbortAll() RefOption {
	return func(ref *placement.Ref) { ref.Strategy.FailureStrategy = workv1alpha1.AbortAll }
}

// Listed sets the decision groups that go first.
func Listed(groups ...workv1alpha1.RolloutGroup) RefOption {
	return func(ref *placement.Ref) { ref.Strategy.Groups = append(ref.Strategy.Groups, groups...) }
}

// Ring is an entry of Listed. Its values are its approval, its bakeTime, or a function that changes it.
func Ring(name string, values ...any) workv1alpha1.RolloutGroup {
	g := workv1alpha1.RolloutGroup{GroupName: name}
	for _, value := range values {
		switch value := value.(type) {
		case workv1alpha1.GroupApproval:
			g.Approval = value
		case time.Duration:
			g.BakeTime = &metav1.Duration{Duration: value}
		case func(*workv1alpha1.RolloutGroup):
			value(&g)
		}
	}
	return g
}

// RingAt is Ring, by index.
func RingAt(index int32, values ...any) workv1alpha1.RolloutGroup {
	g := Ring("", values...)
	g.GroupIndex = &index
	return g
}

// RingConcurrency sets how many clusters of a Ring may be in flight at once.
func RingConcurrency(value any) func(*workv1alpha1.RolloutGroup) {
	return func(g *workv1alpha1.RolloutGroup) { g.MaxConcurrency = ptr.To(Size(value)) }
}

// RingFailures sets how many clusters of a Ring may fail.
func RingFailures(value any) func(*workv1alpha1.RolloutGroup) {
	return func(g *workv1alpha1.RolloutGroup) { g.MaxFailures = ptr.To(Size(value)) }
}
