package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Kstatus returns the status of the object according to kstatus, which Flux and Helm use.
func (w *World) Kstatus() (status.Status, error) {
	stored, err := w.API.Get(ReplicaSets, Namespace, Name)
	if err != nil {
		return status.NotFoundStatus, nil
	}
	result, err := status.Compute(stored)
	if err != nil {
		return status.UnknownStatus, fmt.Errorf("computing the status of the object: %w", err)
	}
	return result.Status, nil
}

// checkKstatus checks that kstatus agrees with the other conditions: aborted and stalled are failures, complete is current, and an object
// that waits, even for the end of a pause, is in progress.
func (w *World) checkKstatus() error {
	got, err := w.Kstatus()
	if err != nil || w.Object() == nil {
		return err
	}
	conditions := w.Object().Status.Conditions
	applied := meta.FindStatusCondition(conditions, workv1alpha1.ConditionManifestworkApplied)
	progressing := meta.FindStatusCondition(conditions, workv1alpha1.ConditionProgressing)
	if meta.IsStatusConditionTrue(conditions, workv1alpha1.ConditionReconciling) && meta.IsStatusConditionTrue(conditions, workv1alpha1.ConditionStalled) {
		return fmt.Errorf("quiet: both Reconciling and Stalled are True")
	}
	want := status.InProgressStatus
	verified := meta.FindStatusCondition(conditions, workv1alpha1.ConditionPlacementVerified)
	switch {
	case w.templateWaits():
	case progressing == nil || progressing.ObservedGeneration != applied.ObservedGeneration:
		want = status.FailedStatus // The spec is invalid.
	case progressing.Reason == workv1alpha1.ReasonNewManifestWorkAvailable:
		want = status.CurrentStatus
	case progressing.Reason == workv1alpha1.ReasonRolloutAborted:
		want = status.FailedStatus
	case verified.Reason == workv1alpha1.ReasonNotAsExpected:
		want = status.FailedStatus // A strategy can't be read.
	case progressing.Reason == workv1alpha1.ReasonProgressDeadlineExceeded &&
		!meta.IsStatusConditionPresentAndEqual(conditions, workv1alpha1.ConditionReconciling, "True"):
		want = status.FailedStatus
	}
	if got != want {
		return fmt.Errorf("quiet: kstatus is %s, not %s: %+v", got, want, conditions)
	}
	return w.checkState(got)
}

// checkState checks that status.state does not contradict what kstatus reads from the conditions. An older CRD has no state.
func (w *World) checkState(computed status.Status) error {
	object := w.Object()
	wanted := map[workv1alpha1.State]status.Status{
		workv1alpha1.StateInvalid: status.FailedStatus, workv1alpha1.StateStalled: status.FailedStatus, workv1alpha1.StateWouldAbort: status.FailedStatus,
		workv1alpha1.StateAborted:    status.FailedStatus,
		workv1alpha1.StateRollingOut: status.InProgressStatus, workv1alpha1.StateAborting: status.InProgressStatus,
		workv1alpha1.StateComplete: status.CurrentStatus,
	}
	told := object.Status.State
	switch {
	case told == "" && (w.API.OlderCRD || len(w.API.Lacks) > 0):
	case !object.DeletionTimestamp.IsZero() && told != workv1alpha1.StateDeleting:
		return fmt.Errorf("quiet: the object is being deleted, and its state is %q", told)
	case object.DeletionTimestamp.IsZero() && told == workv1alpha1.StatePaused && object.Spec.Paused:
	case object.DeletionTimestamp.IsZero() && wanted[told] != computed:
		return fmt.Errorf("quiet: the state is %q, and kstatus %s: %+v", told, computed, object.Status.Conditions)
	}
	return nil
}
