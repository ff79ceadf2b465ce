package work

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// conditions are the conditions of a work that decide on its state; nil for each missing condition.
type conditions struct {
	applied, available, progressing, degraded, complete *metav1.Condition
}

// Report identifies an agent's report about a write by the hub. Two reports can differ even if both report success: a condition that was
// False in between has another transition time.
type Report struct {
	// AppliedAt is the time at which the hub wrote the revision, in nanoseconds; 0 if that is unknown.
	AppliedAt                                 int64
	applied, progressing, available, degraded conditionPrint
}

// conditionPrint is the relevant part of a condition. The API server keeps whole seconds.
type conditionPrint struct {
	status metav1.ConditionStatus
	since  int64
}

func printOf(condition *metav1.Condition) conditionPrint {
	if condition == nil {
		return conditionPrint{}
	}
	return conditionPrint{status: condition.Status, since: condition.LastTransitionTime.Unix()}
}

// Report returns the report by which a work is judged.
func (w *Work) Report() Report { return w.Judged().read().report }

// readConditions finds the conditions that decide, and the latest transition of any condition.
func readConditions(all []metav1.Condition) (found conditions, latest time.Time) {
	for i := range all {
		latest = Later(latest, all[i].LastTransitionTime.Time)
	}
	return conditions{
		applied: meta.FindStatusCondition(all, workv1.WorkApplied), available: meta.FindStatusCondition(all, workv1.WorkAvailable),
		progressing: meta.FindStatusCondition(all, workv1.WorkProgressing), degraded: meta.FindStatusCondition(all, workv1.WorkDegraded),
		complete: meta.FindStatusCondition(all, workv1.WorkComplete),
	}, latest
}

// ClockIsAhead reports whether a condition of the work's generation has a time more than a minute ahead of the hub's clock.
func ClockIsAhead(w *Work, now time.Time) bool {
	limit := now.Add(clockSkew)
	if !w.read().latest.After(limit) {
		return false
	}
	for i := range w.Object.Status.Conditions {
		if c := &w.Object.Status.Conditions[i]; c.LastTransitionTime.After(limit) && w.Observed(c) {
			return true
		}
	}
	return false
}
