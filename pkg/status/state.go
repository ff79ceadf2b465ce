package status

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// state returns the state of the object in one word. It is derived from the stage that the conditions report, so that the state and the
// conditions never contradict each other.
func state(in *Input) workv1alpha1.State {
	switch {
	case !in.Object.DeletionTimestamp.IsZero():
		return workv1alpha1.StateDeleting
	case (in.Stage == RollingOut || in.Stage == Stalled) && invalidStrategies(in) != "":
		return workv1alpha1.StateInvalid
	case in.Object.Spec.Paused:
		return workv1alpha1.StatePaused
	case in.Pending && (in.Stage == Stalled || in.Stage == Complete):
		return workv1alpha1.StateRollingOut // The template in the spec is being rolled out, as Reconciling reports.
	case in.Stage == Stalled && in.Ledger.WouldAbort != nil:
		return workv1alpha1.StateWouldAbort
	}
	return in.Stage
}

// HeldState returns the state of an object whose template is not rolled out (Hold). If pending is true, the hub retries by itself, and an
// abort keeps its state until then.
func HeldState(object *workv1alpha1.ManifestWorkReplicaSet, pending bool) workv1alpha1.State {
	aborted := object.Status.State == workv1alpha1.StateAborting || object.Status.State == workv1alpha1.StateAborted
	switch {
	case !object.DeletionTimestamp.IsZero():
		return workv1alpha1.StateDeleting
	case !pending:
		return workv1alpha1.StateInvalid
	case object.Spec.Paused:
		return workv1alpha1.StatePaused
	case object.Status.AbortedTime != nil && aborted:
		return object.Status.State
	}
	return workv1alpha1.StateRollingOut
}
