package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// placementRolledOut reports whether the selected clusters have the update revision. Unlike Progressing, it changes when a cluster joins or
// relapses after the rollout was complete.
func placementRolledOut(in *Input) metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return condition(workv1alpha1.ConditionPlacementRolledOut, reason, message, metav1.ConditionFalse)
	}
	switch {
	case in.Stage == Aborting:
		return not(workv1alpha1.ReasonProgressing, goingBack(in))
	case in.Stage == Aborted:
		return not(workv1alpha1.ReasonRolloutDegraded, goingBack(in))
	case in.Stage == Stalled || in.Plan.Stalled:
		return not(workv1alpha1.ReasonRolloutDegraded, join(failing(in.Plan), groups(in), unreached(in)))
	case in.Plan.Selected() == 0:
		return not(workv1alpha1.ReasonProgressing, join(noneSelected(in.Plan), awaiting(in.Plan)))
	case in.Stage == Complete && in.Plan.RolledOut() && !in.TemplatePending:
		return condition(workv1alpha1.ConditionPlacementRolledOut, workv1alpha1.ReasonComplete,
			join(reached(in.Plan)+" at revision "+in.Snapshot.Update.Name, tolerated(in.Plan), unreached(in)), metav1.ConditionTrue)
	default:
		return not(workv1alpha1.ReasonProgressing,
			join(progress(in.Plan), awaiting(in.Plan), unheard(in.Plan), unreached(in), templateWaits(in)))
	}
}
