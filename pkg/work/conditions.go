package work

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// conditions are the conditions of a work that decide on its state; nil for each that it does not have.
type conditions struct {
	applied, available, progressing, degraded, complete *metav1.Condition
}

// Report identifies an agent's report about a write of the hub. Two reports differ even if both report success: a condition that was lost and
// reached again has another transition time.
type Report struct {
	// AppliedAt is when the hub wrote the revision, in nanoseconds; 0 if that is unknown.
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
		condition := &all[i]
		latest = Later(latest, condition.LastTransitionTime.Time)
		if of := found.of(condition.Type); of != nil && *of == nil {
			*of = condition
		}
	}
	return found, latest
}

// of returns the field that holds the condition of a type; nil if no decision depends on the type.
func (c *conditions) of(conditionType string) **metav1.Condition {
	switch conditionType {
	case workv1.WorkApplied:
		return &c.applied
	case workv1.WorkAvailable:
		return &c.available
	case workv1.WorkProgressing:
		return &c.progressing
	case workv1.WorkDegraded:
		return &c.degraded
	case workv1.WorkComplete:
		return &c.complete
	}
	return nil
}

// reported returns the conditions that decide on the state of a work.
func (w *Work) reported() conditions { return w.read().conditions }

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
