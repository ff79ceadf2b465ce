package work

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// clockSkew is how far an agent's transition time may be ahead of the hub's clock before the hub ignores it.
const clockSkew = time.Minute

// State is the state of a work at its revision, according to the work's conditions.
type State string

// The states of a work at a revision.
const (
	// InFlight means that the agent has not reported the outcome yet, or reports progress.
	InFlight State = "InFlight"
	// Degraded means that the agent reports the work or one of its manifests as degraded.
	Degraded State = "Degraded"
	// Succeeded means that the agent reports the revision as applied and available, and no progress.
	Succeeded State = "Succeeded"
	// Validating means that the work would be Succeeded, but a success gate is not True yet.
	Validating State = "Validating"
	// GateFailed means that a success gate is False.
	GateFailed State = "GateFailed"
	// Completed means that the work ran to completion at an older revision: its agent does not apply a new revision.
	Completed State = "Completed"
)

// Assessment is a state and the time when it began, which is never earlier than the write of the revision.
type Assessment struct {
	State State
	Since time.Time
}

// Assess reads the conditions of a work that is at a revision (R10; TestAssess has each case). If this process saw a state begin, the
// state counts from that moment, regardless of the agent's clock.
func Assess(w *Work, rev *Revision, now time.Time) Assessment {
	w = w.Judged()
	if w.Deleting() && !w.SucceededSince.IsZero() {
		// The agent now reports the removal. In a handover, the success may come from an earlier rollout of the revision.
		return Assessment{State: Succeeded, Since: Later(w.SucceededSince, w.Begin(rev))}
	}
	found := assess(w, rev, now)
	found.Since = Later(found.Since, w.StateChangedAt)
	if found.State == InFlight || found.State == Degraded {
		found.Since = w.untilDeletion(found.Since, rev)
	}
	return found
}

// untilDeletion returns a time, or that of the work's deletion if it is earlier: the time of a state runs from the deletion at the latest,
// regardless of the agent's reports while the agent removes the work.
func (w *Work) untilDeletion(since time.Time, rev *Revision) time.Time {
	if !w.Deleting() {
		return since
	}
	return Earlier(since, Later(w.DeletedAt(), w.Begin(rev)))
}

// assess returns the first state whose conditions match. Conditions of an older generation count as absent.
func assess(w *Work, rev *Revision, now time.Time) Assessment {
	a := assessor{work: w, reported: w.read().conditions, appliedAt: w.Begin(rev), now: now, ahead: w.ClockAhead}

	if complete := isTrue(a.reported.complete); complete != nil && !w.ranToCompletion() {
		return a.began(Completed, complete)
	}

	applied := a.observed(a.reported.applied)
	switch {
	case applied == nil:
		return a.began(InFlight, nil)
	case applied.Status != metav1.ConditionTrue:
		return a.began(InFlight, applied)
	}

	progressing := a.observed(a.reported.progressing)
	if degraded := a.degraded(); degraded != nil {
		return a.degradedSince(degraded, progressing)
	}
	return a.outcome(rev, progressing)
}

// outcome is the state of a work that is applied and not degraded.
func (a *assessor) outcome(rev *Revision, progressing *metav1.Condition) Assessment {
	available := a.available() && a.knowsDegraded(rev)
	switch {
	case progressing == nil && available && !rev.reportsProgress():
		return a.began(Succeeded, a.reported.available)
	case progressing == nil:
		return a.unknown()
	case progressing.Status != metav1.ConditionFalse:
		return a.began(InFlight, progressing)
	}
	if failing := a.unevaluated(); failing != nil {
		return a.began(InFlight, failing)
	}
	if available {
		return a.began(Succeeded, progressing)
	}
	return a.unknown()
}

// IsComplete reports whether the agent no longer applies a new spec of the work.
func (w *Work) IsComplete() bool { return isTrue(w.read().conditions.complete) != nil }

// IsApplied reports whether the agent has applied the spec of the work.
func (w *Work) IsApplied() bool {
	applied := isTrue(w.read().conditions.applied)
	return applied != nil && w.Observed(applied)
}

// ranToCompletion reports whether the agent applied this generation of the work, and the work completed. The agent may have stamped the
// generation on conditions that it read from the older object, including Complete. Only Applied proves that the agent applied the
// generation.
func (w *Work) ranToCompletion() bool {
	reported := w.read().conditions
	applied, complete := reported.applied, isTrue(reported.complete)
	return complete != nil && w.Observed(complete) && applied != nil && w.Observed(applied)
}

type assessor struct {
	work      *Work
	reported  conditions
	appliedAt time.Time
	now       time.Time
	ahead     bool
}

// began returns a state that began with the transition of a condition or, without a condition, when the revision was written.
func (a *assessor) began(state State, condition *metav1.Condition) Assessment {
	if condition == nil {
		return Assessment{State: state, Since: a.appliedAt}
	}
	return Assessment{State: state, Since: a.since(condition.LastTransitionTime.Time)}
}

// unknown returns the state of a work that its agent applied without reporting the outcome. The state began when the revision was written.
// If the agent is removing the work, earlier reports are lost, and the time begins with the deletion.
func (a *assessor) unknown() Assessment {
	found := a.began(InFlight, nil)
	if a.work.ReportedSinceDeletion() {
		found.Since = Later(found.Since, Earlier(a.work.DeletedAt(), a.now))
	}
	return found
}

// since corrects a transition time: it returns the time when the revision was written if the transition is earlier, or if the agent's
// clock is far ahead of the hub's.
func (a *assessor) since(transition time.Time) time.Time {
	if a.ahead || transition.Before(a.appliedAt) || transition.After(a.now.Add(clockSkew)) {
		return a.appliedAt
	}
	return transition
}

// observed returns a condition if it is about the current spec, and nil otherwise.
func (a *assessor) observed(condition *metav1.Condition) *metav1.Condition {
	if condition != nil && a.work.Observed(condition) {
		return condition
	}
	return nil
}

// knowsDegraded reports whether the agent has reported Degraded for this generation, if it reports Degraded at all. The agent may be about
// to repeat the Degraded of an older generation. Until it has reported, the cluster has not succeeded.
func (a *assessor) knowsDegraded(rev *Revision) bool {
	return !rev.ReportsDegraded || a.observed(a.reported.degraded) != nil
}

// available reports whether the work is available. It also accepts a condition without a generation.
func (a *assessor) available() bool {
	condition := a.reported.available
	return condition != nil && condition.Status == metav1.ConditionTrue &&
		(a.work.Observed(condition) || condition.ObservedGeneration == 0)
}

// degraded returns the earliest Degraded=True of the work and its manifests. The agent sets the work's own condition to True only when the
// condition of every manifest is True.
func (a *assessor) degraded() *metav1.Condition {
	first := isTrue(a.observed(a.reported.degraded))
	manifests := a.work.read().manifests
	for i := range manifests {
		found := isTrue(a.observed(meta.FindStatusCondition(manifests[i].Conditions, workv1.ManifestDegraded)))
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

// degradedSince returns Degraded since the transition of Degraded or, if Progressing is True and changed earlier, since the transition of
// Progressing. Each time is corrected first: a state that began under an older revision counts only from the write of this revision.
func (a *assessor) degradedSince(degraded, progressing *metav1.Condition) Assessment {
	found := a.began(Degraded, degraded)
	if isTrue(progressing) != nil {
		if since := a.since(progressing.LastTransitionTime.Time); since.Before(found.Since) {
			found.Since = since
		}
	}
	return found
}

// unevaluated returns the Progressing condition of a manifest whose rule could not be evaluated. The agent then reports False, but the
// work has not succeeded.
func (a *assessor) unevaluated() *metav1.Condition {
	manifests := a.work.read().manifests
	for i := range manifests {
		condition := a.observed(meta.FindStatusCondition(manifests[i].Conditions, workv1.ManifestProgressing))
		if condition != nil && Unevaluated(condition) {
			return condition
		}
	}
	return nil
}

// Decisive reports whether a manifest's condition can determine the state of its work. Other conditions need not be kept.
func Decisive(condition *metav1.Condition) bool {
	switch condition.Type {
	case workv1.ManifestDegraded:
		return condition.Status == metav1.ConditionTrue
	case workv1.ManifestProgressing:
		return Unevaluated(condition)
	}
	return false
}

// Unevaluated reports whether a condition is False only because the agent could not evaluate the template's rule for it.
func Unevaluated(condition *metav1.Condition) bool {
	return condition.Status == metav1.ConditionFalse && condition.Reason == workv1.ConditionRuleExpressionError
}
