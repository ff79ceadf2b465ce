package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// PlacementVerified reports whether every Placement exists, is usable, and selects known clusters.
func PlacementVerified(in *Input) metav1.Condition {
	unverified := func(reason, message string) metav1.Condition {
		return condition(workv1alpha1.ConditionPlacementVerified, reason, message, metav1.ConditionFalse)
	}
	ignored := ignoredRefs(in.Plan)
	if missing := unknownPlacements(in); missing != "" {
		return unverified(workv1alpha1.ReasonPlacementDecisionNotFound, join(ignored, missing))
	}
	if invalid := join(ignored, invalidStrategies(in)); invalid != "" {
		return unverified(workv1alpha1.ReasonNotAsExpected, invalid)
	}
	selected := in.Plan.Selected()
	if selected == 0 {
		return unverified(workv1alpha1.ReasonPlacementDecisionEmpty,
			"the placements select no cluster: see the status of the Placements that spec.placementRefs names")
	}
	return condition(workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonAsExpected,
		clusters(selected)+" selected", metav1.ConditionTrue)
}

// ignoredRefs returns the message about an object with too many placementRefs; empty for any other object.
func ignoredRefs(plan *rollout.Plan) string {
	if plan.IgnoredRefs == 0 {
		return ""
	}
	return fmt.Sprintf("spec.placementRefs has %d entries, but only the first %d count: clusters that are selected only by the others "+
		"keep their ManifestWorks and get no new revision, no ManifestWork is deleted, and no rollout completes; "+
		"select more clusters with each Placement, or create several ManifestWorkReplicaSets",
		len(plan.Refs)+plan.IgnoredRefs, len(plan.Refs))
}

// invalidStrategies names the fields of strategies that can't be read; empty for none. Their refs start nothing.
func invalidStrategies(in *Input) string {
	var invalid []string
	for i := range in.Plan.Refs {
		if err := in.Plan.Refs[i].Err; err != nil {
			invalid = append(invalid, err.Error())
		}
	}
	return join(invalid...)
}

// unknownPlacements returns a message for each Placement that is missing, or whose decisions are missing or being written. The message also
// describes the consequences. The result is empty if there is no such Placement.
func unknownPlacements(in *Input) string {
	var unknown []string
	add := func(format string, values ...any) { unknown = append(unknown, fmt.Sprintf(format, values...)) }
	for i := range in.Plan.Refs {
		ref := &in.Plan.Refs[i]
		if !ref.Unknown {
			continue
		}
		switch {
		case ref.Placement == nil:
			add("%s.name: there is no Placement %q in namespace %s: create it, or remove the reference; until then, the hub does not start clusters or delete ManifestWorks",
				ref.Field, ref.Name, in.Object.Namespace)
		case ref.Placement.Decisions == 0:
			add("%s.name: Placement %q has no PlacementDecision yet: see its status; until then, the hub does not start clusters or delete ManifestWorks", ref.Field, ref.Name)
		case ref.Placement.Missing() > 0:
			add("%s.name: the decisions of Placement %q are being written: they lack %d of %s; until then, the hub does not start clusters",
				ref.Field, ref.Name, ref.Placement.Missing(), clusters(ref.Placement.Selected))
		case ref.Regrouping():
			add("%s.name: OCM may still be writing the decision groups of Placement %q; until this is known, the hub does not start clusters",
				ref.Field, ref.Name)
		default:
			add("%s.name: the decisions of Placement %q have just become empty, and OCM may still be writing them; until this is known, the hub does not start clusters",
				ref.Field, ref.Name)
		}
	}
	return join(unknown...)
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}
