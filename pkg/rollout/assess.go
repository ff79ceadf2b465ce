package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// clockSkew is how far ahead of the hub's clock an agent's transition may be and still be believed (R10).
const clockSkew = time.Minute

// State is what a work's conditions say about the revision that the work is at (R10).
type State string

// The states of a work at a revision.
const (
	// InFlight means that the agent has not reported the outcome yet, or reports progress.
	InFlight State = "InFlight"
	// Degraded means that the agent reports the work or one of its manifests as degraded.
	Degraded State = "Degraded"
	// Succeeded means that the agent reports the revision as applied and available, and no progress.
	Succeeded State = "Succeeded"
	// Completed means that the work ran to completion at an older revision: its agent takes no new one (R17).
	Completed State = "Completed"
)

// Assessment is a state, and since when, on the hub's terms: never before the revision was written.
type Assessment struct {
	State State
	Since time.Time
}

// Assess reads the conditions of a work that is at a revision, by the table of R10. A state that this process saw begin has
// not lasted any longer than that, whatever the agent's clock says.
func Assess(w *Work, rev *Revision, now time.Time) Assessment {
	found := assess(w, rev, now)
	found.Since = later(found.Since, w.TurnedAt)
	return found
}

// ClockIsAhead says that a condition of the work's generation bears a time that the hub's clock does not come to within a minute.
func ClockIsAhead(work *workv1.ManifestWork, now time.Time) bool {
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		if c.ObservedGeneration == work.Generation && c.LastTransitionTime.After(now.Add(clockSkew)) {
			return true
		}
	}
	return false
}

// assess goes through the rows of the table: the first that applies decides. Conditions of an older generation count as absent.
func assess(w *Work, rev *Revision, now time.Time) Assessment {
	appliedAt, _ := w.AppliedAt()
	a := assessor{work: w.Object, appliedAt: later(appliedAt, rev.BeginsAt), now: now, ahead: w.ClockAhead}

	if completed(w.Object) && a.ignored() {
		return a.at(Completed, meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkComplete))
	}

	applied := a.condition(workv1.WorkApplied)
	switch {
	case applied == nil:
		return a.at(InFlight, nil)
	case applied.Status != metav1.ConditionTrue:
		return a.at(InFlight, applied)
	}

	progressing := a.condition(workv1.WorkProgressing)
	if degraded := a.degraded(); degraded != nil {
		return a.degradedSince(degraded, progressing)
	}

	available := a.available()
	switch {
	case progressing == nil && rev.reportsProgress():
		return a.at(InFlight, nil)
	case progressing == nil && available:
		return a.at(Succeeded, meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkAvailable))
	case progressing == nil:
		return a.at(InFlight, nil)
	case progressing.Status != metav1.ConditionFalse:
		return a.at(InFlight, progressing)
	}
	if failing := a.unevaluated(); failing != nil {
		return a.at(InFlight, failing)
	}
	if available {
		return a.at(Succeeded, progressing)
	}
	return a.at(InFlight, nil)
}

// completed says whether the agent takes no new spec of the work any more (R17).
func completed(work *workv1.ManifestWork) bool {
	return meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkComplete)
}

// ignored says that the agent did not apply this generation of a completed work, and never will. It may have stamped the
// generation on what it read of the older object, Complete among it: only Applied comes from applying.
func (a *assessor) ignored() bool {
	return a.condition(workv1.WorkComplete) == nil || a.condition(workv1.WorkApplied) == nil
}

type assessor struct {
	work      *workv1.ManifestWork
	appliedAt time.Time
	now       time.Time
	ahead     bool
}

// at is a state since a condition's transition; since the revision was written when there is no condition.
func (a *assessor) at(state State, condition *metav1.Condition) Assessment {
	if condition == nil {
		return Assessment{State: state, Since: a.appliedAt}
	}
	return Assessment{State: state, Since: a.since(condition.LastTransitionTime.Time)}
}

// since corrects a transition: not before the revision was written, and not believed when the agent's clock is
// far ahead of the hub's.
func (a *assessor) since(transition time.Time) time.Time {
	if a.ahead || transition.Before(a.appliedAt) || transition.After(a.now.Add(clockSkew)) {
		return a.appliedAt
	}
	return transition
}

func (a *assessor) condition(conditionType string) *metav1.Condition {
	return ofGeneration(a.work.Status.Conditions, conditionType, a.work.Generation)
}

func ofGeneration(conditions []metav1.Condition, conditionType string, generation int64) *metav1.Condition {
	condition := meta.FindStatusCondition(conditions, conditionType)
	if condition == nil || condition.ObservedGeneration != generation {
		return nil
	}
	return condition
}

// available also believes a condition that bears no generation.
func (a *assessor) available() bool {
	condition := meta.FindStatusCondition(a.work.Status.Conditions, workv1.WorkAvailable)
	return condition != nil && condition.Status == metav1.ConditionTrue &&
		(condition.ObservedGeneration == a.work.Generation || condition.ObservedGeneration == 0)
}

// degraded is the Degraded=True that began first, of the work and of its manifests: the agent makes the work's own
// one True only when that of every manifest is.
func (a *assessor) degraded() *metav1.Condition {
	first := isTrue(a.condition(workv1.WorkDegraded))
	manifests := a.work.Status.ResourceStatus.Manifests
	for i := range manifests {
		found := isTrue(ofGeneration(manifests[i].Conditions, workv1.ManifestDegraded, a.work.Generation))
		if found != nil && (first == nil || found.LastTransitionTime.Before(&first.LastTransitionTime)) {
			first = found
		}
	}
	return first
}

func isTrue(condition *metav1.Condition) *metav1.Condition {
	if condition != nil && condition.Status == metav1.ConditionTrue {
		return condition
	}
	return nil
}

// degradedSince is the earlier of Degraded's and, if True, Progressing's transition, each corrected first: what began
// under the older revision has not been going on any longer than this one.
func (a *assessor) degradedSince(degraded, progressing *metav1.Condition) Assessment {
	found := a.at(Degraded, degraded)
	if isTrue(progressing) != nil {
		if since := a.since(progressing.LastTransitionTime.Time); since.Before(found.Since) {
			found.Since = since
		}
	}
	return found
}

// unevaluated is the Progressing condition of a manifest whose rule could not be evaluated: the agent says False then,
// which is no success.
func (a *assessor) unevaluated() *metav1.Condition {
	manifests := a.work.Status.ResourceStatus.Manifests
	for i := range manifests {
		condition := ofGeneration(manifests[i].Conditions, workv1.ManifestProgressing, a.work.Generation)
		if condition != nil && condition.Status == metav1.ConditionFalse && condition.Reason == workv1.ConditionRuleExpressionError {
			return condition
		}
	}
	return nil
}
