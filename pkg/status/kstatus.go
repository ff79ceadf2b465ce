package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// reconciling returns the condition that is present while a rollout or an abort is in progress, and while a new template waits for either
// of them or for the end of a pause. A paused rollout is in progress: kstatus treats a paused Deployment in the same way. It is nil if
// absent.
func reconciling(in *Input) *metav1.Condition {
	underWay := in.Stage == Aborting || (in.Stage == RollingOut && invalidStrategies(in) == "")
	if !underWay && !in.Pending && !in.TemplatePending {
		return nil
	}
	return abnormal(workv1alpha1.ConditionReconciling, progressing(in))
}

// stalled returns the condition that is present while the rollout waits for a user: it stalled, it was aborted, or a strategy can't be
// read. It is nil if absent.
func stalled(in *Input) *metav1.Condition {
	switch {
	case in.Pending || in.TemplatePending:
		return nil
	case in.Stage == Stalled || in.Stage == Aborted:
		return abnormal(workv1alpha1.ConditionStalled, progressing(in))
	case in.Stage == RollingOut && invalidStrategies(in) != "":
		return abnormal(workv1alpha1.ConditionStalled, metav1.Condition{Reason: workv1alpha1.ReasonNotAsExpected, Message: invalidStrategies(in)})
	}
	return nil
}

// abnormal returns a condition that is present only while it is True. It has the reason and the message of another condition, for tools
// that read no other condition.
func abnormal(conditionType string, words metav1.Condition) *metav1.Condition {
	told := condition(conditionType, words.Reason, words.Message, metav1.ConditionTrue)
	return &told
}

// Hold sets the conditions of a status whose template is not rolled out. applied is the condition ManifestworkApplied, which has the
// reason. If pending is true, the hub retries by itself, and has not observed the generation. Otherwise, a user must act.
func Hold(status *workv1alpha1.ManifestWorkReplicaSetStatus, applied metav1.Condition, pending bool, generation int64, now metav1.Time) {
	Set(&status.Conditions, applied, generation, now)
	reconciling, stalled := abnormal(workv1alpha1.ConditionReconciling, applied), abnormal(workv1alpha1.ConditionStalled, applied)
	if pending {
		stalled = nil
	} else {
		reconciling, status.ObservedGeneration = nil, generation
	}
	setOrRemove(&status.Conditions, workv1alpha1.ConditionReconciling, reconciling, generation, now)
	setOrRemove(&status.Conditions, workv1alpha1.ConditionStalled, stalled, generation, now)
}

// NotReconciled records in a status that no hub reconciles the object until a user acts, and reports whether the status changed. The other
// conditions keep their last state.
func NotReconciled(object *workv1alpha1.ManifestWorkReplicaSet, status *workv1alpha1.ManifestWorkReplicaSetStatus, why string, now metav1.Time) bool {
	told := meta.FindStatusCondition(status.Conditions, workv1alpha1.ConditionStalled)
	if told != nil && told.Reason == workv1alpha1.ReasonDowngradeRefused && told.Message == bounded(why, maxMessage) {
		return false
	}
	meta.RemoveStatusCondition(&status.Conditions, workv1alpha1.ConditionReconciling)
	Set(&status.Conditions, condition(workv1alpha1.ConditionStalled, workv1alpha1.ReasonDowngradeRefused, why, metav1.ConditionTrue),
		object.Generation, now)
	if status.State = workv1alpha1.StateStalled; !object.DeletionTimestamp.IsZero() {
		status.State = workv1alpha1.StateDeleting
	}
	return true
}

// Reconciled removes from a status what NotReconciled added, if nothing else overwrites it.
func Reconciled(status *workv1alpha1.ManifestWorkReplicaSetStatus) {
	if told := meta.FindStatusCondition(status.Conditions, workv1alpha1.ConditionStalled); told != nil && told.Reason == workv1alpha1.ReasonDowngradeRefused {
		meta.RemoveStatusCondition(&status.Conditions, workv1alpha1.ConditionStalled)
	}
}

func setOrRemove(conditions *[]metav1.Condition, conditionType string, wanted *metav1.Condition, generation int64, now metav1.Time) {
	if wanted == nil {
		meta.RemoveStatusCondition(conditions, conditionType)
		return
	}
	Set(conditions, *wanted, generation, now)
}
