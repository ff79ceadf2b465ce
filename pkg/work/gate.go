package work

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// How success gates change the state of a work (R48; TestGated has each case):
//
//  1. A gate is a condition of the work. OCM's agent combines the results of several manifests' rules into one condition of the work. So
//     the conditions of single manifests matter only in a handover, when objects of another revision have the same rules.
//  2. A gate counts if it is about the current spec of the work. A success begins at the last transition of a gate to True.
//  3. A success with a gate that is not True is validating. This includes a False that is not a verdict (verdict).
//  4. A verdict of False fails the work when it has lasted as long as a success must last.
//  5. After the deletion of the work, a False is no verdict, because the agent removes what the gate tests. No change to a gate then delays
//     the deadline.

// Gate is a condition that must be True before a work succeeds at a revision.
type Gate struct {
	Type string
	// Made is true if a condition rule of the revision sets the condition. Decides is true if each manifest with such a rule also has a rule
	// for Progressing: False then does not mean "not yet".
	Made, Decides bool
}

// Gate returns the gate of a condition type for works at the revision.
func (r *Revision) Gate(conditionType string) Gate {
	gate := Gate{Type: conditionType, Decides: true}
	if r == nil || r.Template == nil {
		return gate
	}
	for i := range r.Template.ManifestConfigs {
		rules := r.Template.ManifestConfigs[i].ConditionRules
		if hasRule(rules, conditionType) {
			gate.Made = true
			gate.Decides = gate.Decides && hasRule(rules, workv1.ManifestProgressing)
		}
	}
	return gate
}

// Gated is Assess for a work with success gates. blocks is the type of the gate that changes the state from Assess; empty for none. next
// is the time at which a verdict of False will count; zero for none.
func Gated(w *Work, rev *Revision, gates []Gate, now time.Time, settle time.Duration) (found Assessment, blocks string, next time.Time) {
	found = Assess(w, rev, now)
	if len(gates) == 0 || found.State == Completed || w.Deleting() && !w.SucceededSince.IsZero() {
		return found, "", time.Time{}
	}
	a := assessor{work: w, appliedAt: w.Begin(rev), now: now, ahead: w.ClockAhead}
	succeeds, since := found.State == Succeeded, found.Since
	for _, gate := range gates {
		condition := w.gate(gate)
		if a.verdict(gate, condition, succeeds) {
			fails := condition.LastTransitionTime.Add(settle)
			if !now.Before(fails) {
				return Assessment{State: GateFailed, Since: fails}, gate.Type, time.Time{}
			}
			if next.IsZero() || fails.Before(next) {
				next = fails
			}
		}
		if !succeeds {
			continue
		}
		if condition != nil {
			since = Later(since, a.since(condition.LastTransitionTime.Time))
		} else { // The time before this process watched the work is unknown.
			since = Later(since, w.WatchedSince)
		}
		if isTrue(condition) == nil && blocks == "" {
			found.State, blocks = Validating, gate.Type
		}
	}
	if blocks != "" {
		since = w.untilDeletion(since, rev)
	}
	found.Since = since
	return found, blocks, next
}

// GateStatus returns the status of a gate; Unknown if there is no condition about the current spec.
func (w *Work) GateStatus(gate Gate) metav1.ConditionStatus {
	if condition := w.gate(gate); condition != nil {
		return condition.Status
	}
	return metav1.ConditionUnknown
}

// gate returns the condition of a gate; nil if there is none about the current spec.
func (w *Work) gate(gate Gate) *metav1.Condition {
	if gate.Made && w.InHandover() {
		return w.combined(w.ownManifests(), gate.Type)
	}
	found := meta.FindStatusCondition(w.Object.Status.Conditions, gate.Type)
	if found == nil || !w.Observed(found) {
		return nil
	}
	return found
}

// verdict reports whether a condition shows that the revision does not work: it is False, and became False after the revision was written.
// An earlier False may be an old result that the agent repeats. A False after the deletion of the work shows only that the agent removes the
// workload. A rule can only report True or False, so its False is a verdict only when nothing progresses.
func (a *assessor) verdict(gate Gate, condition *metav1.Condition, succeeds bool) bool {
	if condition == nil || condition.Status != metav1.ConditionFalse || gate.Made && (!gate.Decides || !succeeds) {
		return false
	}
	at := condition.LastTransitionTime.Time
	if a.work.Deleting() && !at.Before(a.work.DeletedAt()) {
		return false
	}
	return !a.ahead && !at.Before(a.appliedAt.Truncate(time.Second)) && !at.After(a.now.Add(clockSkew))
}

// combined combines the conditions of a type as OCM's agent does: False wins over Unknown, and Unknown over True. It is nil if no manifest
// has such a condition about the current spec.
func (w *Work) combined(manifests []workv1.ManifestCondition, conditionType string) (sum *metav1.Condition) {
	rank := map[metav1.ConditionStatus]int{metav1.ConditionFalse: 2, metav1.ConditionUnknown: 1}
	for i := range manifests {
		found := meta.FindStatusCondition(manifests[i].Conditions, conditionType)
		if found == nil || !w.Observed(found) {
			continue
		}
		later := sum != nil && rank[found.Status] == rank[sum.Status] && found.LastTransitionTime.After(sum.LastTransitionTime.Time)
		if sum == nil || rank[found.Status] > rank[sum.Status] || later {
			sum = found
		}
	}
	return sum
}
