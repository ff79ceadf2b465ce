package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Transition is what a status reports for the first time.
type Transition string

// The transitions.
const (
	// Started means that a rollout began, or began again after an abort.
	Started Transition = "Started"
	// Resumed means that a stalled rollout goes on.
	Resumed Transition = "Resumed"
	// Stopped means that the rollout stalled.
	Stopped Transition = "Stopped"
	// Completed means that the rollout is complete.
	Completed Transition = "Completed"
	// AbortDecided means that the rollout is to be aborted.
	AbortDecided Transition = "AbortDecided"
	// AbortCarriedOut means that every work that can be written is written back.
	AbortCarriedOut Transition = "AbortCarriedOut"
)

// Transitions compares what the status was with what was written. A status is written once, so that each transition is seen
// once, also over restarts. A status that is there for the first time reports that a rollout began, and nothing else: whatever
// else it says was reported before it was lost.
func Transitions(before, after *workv1alpha1.ManifestWorkReplicaSetStatus) []Transition {
	was, is := StageOf(before.Conditions), StageOf(after.Conditions)
	var found []Transition
	if is == RollingOut {
		found = goesOn(was, another(before.UpdateRevision, after.UpdateRevision))
	} else if was != "" && was != is {
		found = stops(was, is)
	}
	return found
}

// another reports whether two hashes name two revisions. Where an older CRD came or went, one of them is lost and says nothing.
func another(before, after string) bool {
	return before != after && before != "" && after != ""
}

// goesOn is what a rollout that is under way reports. another says that it is one of another revision than before.
func goesOn(was Stage, another bool) []Transition {
	switch {
	case was == Stalled && !another:
		return []Transition{Resumed}
	case was != RollingOut || another:
		return []Transition{Started}
	}
	return nil
}

// stops returns the transition of a stage that ends a rollout.
func stops(was, is Stage) []Transition {
	switch {
	case is == Stalled:
		return []Transition{Stopped}
	case is == Complete:
		return []Transition{Completed}
	case is == Aborting && was != Aborted:
		return []Transition{AbortDecided}
	case is == Aborted && was == Aborting:
		return []Transition{AbortCarriedOut}
	case is == Aborted:
		return []Transition{AbortDecided, AbortCarriedOut}
	}
	return nil
}

// StageOf returns the stage that conditions report; empty if they report none.
func StageOf(conditions []metav1.Condition) Stage {
	progressing := meta.FindStatusCondition(conditions, workv1alpha1.ConditionProgressing)
	if progressing == nil {
		return ""
	}
	switch progressing.Reason {
	case workv1alpha1.ReasonNewRevisionCreated, workv1alpha1.ReasonFoundNewRevision:
		return RollingOut
	case workv1alpha1.ReasonNewManifestWorkAvailable:
		return Complete
	case workv1alpha1.ReasonRolloutAborted:
		return Aborted
	case workv1alpha1.ReasonProgressDeadlineExceeded:
		rolledOut := meta.FindStatusCondition(conditions, workv1alpha1.ConditionPlacementRolledOut)
		if rolledOut != nil && rolledOut.Reason == workv1alpha1.ReasonProgressing {
			return Aborting
		}
		return Stalled
	}
	return ""
}
