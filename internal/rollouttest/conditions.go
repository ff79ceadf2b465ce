package rollouttest

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// ownGeneration marks a condition that gets the final generation of its work.
const ownGeneration = -1

// ConditionOption changes a condition.
type ConditionOption func(*metav1.Condition)

// Observed sets the generation that a condition observed. The default is the generation of the work.
func Observed(generation int64) ConditionOption {
	return func(c *metav1.Condition) { c.ObservedGeneration = generation }
}

// Because sets the reason of a condition.
func Because(reason string) ConditionOption {
	return func(c *metav1.Condition) { c.Reason = reason }
}

// Condition makes a condition that changed at a time.
func Condition(conditionType string, status metav1.ConditionStatus, since time.Duration, options ...ConditionOption) metav1.Condition {
	c := metav1.Condition{
		Type: conditionType, Status: status, Reason: "Reported", ObservedGeneration: ownGeneration,
		LastTransitionTime: metav1.NewTime(At(since)),
	}
	for _, option := range options {
		option(&c)
	}
	return c
}

func stamp(conditions []metav1.Condition, generation int64) {
	for i := range conditions {
		if conditions[i].ObservedGeneration == ownGeneration {
			conditions[i].ObservedGeneration = generation
		}
	}
}

// With puts conditions on a work.
func With(conditions ...metav1.Condition) WorkOption {
	return func(w *work.Work) {
		for _, c := range conditions {
			meta.SetStatusCondition(&w.Object.Status.Conditions, c)
		}
	}
}

// Manifest adds the status of one more manifest to a work.
func Manifest(conditions ...metav1.Condition) WorkOption {
	return func(w *work.Work) {
		status := &w.Object.Status.ResourceStatus
		ordinal := int32(len(status.Manifests)) //nolint:gosec // a few manifests
		status.Manifests = append(status.Manifests, workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{Ordinal: ordinal}, Conditions: conditions,
		})
	}
}

// The conditions of a work. Each function takes the time of the transition.
var (
	Applied      = of(workv1.WorkApplied, metav1.ConditionTrue)
	NotApplied   = of(workv1.WorkApplied, metav1.ConditionFalse)
	Available    = of(workv1.WorkAvailable, metav1.ConditionTrue)
	NotAvailable = of(workv1.WorkAvailable, metav1.ConditionFalse)
	Progresses   = of(workv1.WorkProgressing, metav1.ConditionTrue)
	MayProgress  = of(workv1.WorkProgressing, metav1.ConditionUnknown)
	Rests        = of(workv1.WorkProgressing, metav1.ConditionFalse)
	IsDegraded   = of(workv1.WorkDegraded, metav1.ConditionTrue)
	NotDegraded  = of(workv1.WorkDegraded, metav1.ConditionFalse)
	IsComplete   = of(workv1.WorkComplete, metav1.ConditionTrue)
)

func of(conditionType string, status metav1.ConditionStatus) func(time.Duration, ...ConditionOption) WorkOption {
	return func(since time.Duration, options ...ConditionOption) WorkOption {
		return With(Condition(conditionType, status, since, options...))
	}
}

// ManifestDegraded is Degraded=True of a manifest, for Manifest.
func ManifestDegraded(since time.Duration, options ...ConditionOption) metav1.Condition {
	return Condition(workv1.ManifestDegraded, metav1.ConditionTrue, since, options...)
}

// ManifestRests is Progressing=False of a manifest, for Manifest.
func ManifestRests(since time.Duration, options ...ConditionOption) metav1.Condition {
	return Condition(workv1.ManifestProgressing, metav1.ConditionFalse, since, options...)
}

// InFlight is the report from an agent that has applied the work and sees progress.
func InFlight(since time.Duration) WorkOption {
	return all(Applied(since), Progresses(since), NotDegraded(since), NotAvailable(since))
}

// Degraded is the report from an agent that has applied the work and sees it degraded.
func Degraded(since time.Duration) WorkOption {
	return all(Applied(since), Rests(since), IsDegraded(since), Available(since))
}

// Succeeded is the report from an agent whose work has succeeded. This process has seen the success since that time.
func Succeeded(since time.Duration) WorkOption {
	return all(Applied(since), Rests(since), NotDegraded(since), Available(since), SeenSucceeding(since))
}

func all(options ...WorkOption) WorkOption {
	return func(w *work.Work) {
		for _, option := range options {
			option(w)
		}
	}
}
