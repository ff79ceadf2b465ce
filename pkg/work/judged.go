package work

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Judged returns the work with the conditions by which it is judged. In a handover, these come only from the revision's own manifests, as
// if the work had no other manifests.
func (w *Work) Judged() *Work {
	if !w.InHandover() {
		return w
	}
	own := w.ownManifests()
	object := &workv1.ManifestWork{ObjectMeta: w.Object.ObjectMeta}
	object.Status.ResourceStatus.Manifests = own
	add := func(c *metav1.Condition) {
		if c != nil {
			object.Status.Conditions = append(object.Status.Conditions, *c)
		}
	}
	add(meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkComplete))
	add(w.summed(own, workv1.WorkApplied, w.Observed, true))
	if available := meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkAvailable); available != nil && w.Observed(available) {
		// A manifest's condition has no generation. The work's own condition shows that the agent has checked since.
		found := w.summed(own, workv1.WorkAvailable, func(*metav1.Condition) bool { return true }, true)
		if found != nil {
			found.ObservedGeneration = available.ObservedGeneration
		}
		add(found)
	}
	add(w.summed(own, workv1.WorkProgressing, w.Observed, false))
	add(w.summed(own, workv1.WorkDegraded, w.Observed, false))
	judged := *w
	judged.Object, judged.Combined, judged.marks = object, nil, nil
	judged.Read()
	return &judged
}

// ownManifests returns the agent's reports about the manifests of the work's own revision, by ordinal.
func (w *Work) ownManifests() []workv1.ManifestCondition {
	own := make([]workv1.ManifestCondition, w.Combined.Manifests)
	for i := range w.Object.Status.ResourceStatus.Manifests {
		reported := &w.Object.Status.ResourceStatus.Manifests[i]
		if place := int(reported.ResourceMeta.Ordinal); place >= 0 && place < len(own) {
			own[place] = *reported
		}
	}
	return own
}

// summed combines the conditions of several manifests into one: the condition that changed last if all are good, or else the first bad
// one. It is nil if no condition counts, or if a manifest lacks a condition that every manifest needs.
func (w *Work) summed(manifests []workv1.ManifestCondition, conditionType string, counts func(*metav1.Condition) bool, each bool) *metav1.Condition {
	good := metav1.ConditionFalse
	if each {
		good = metav1.ConditionTrue
	}
	var sum *metav1.Condition
	for i := range manifests {
		found := meta.FindStatusCondition(manifests[i].Conditions, conditionType)
		switch {
		case found == nil || !counts(found):
			if each {
				return nil
			}
		case sum == nil || sum.Status == good && (found.Status != good || found.LastTransitionTime.After(sum.LastTransitionTime.Time)):
			sum = found.DeepCopy()
		}
	}
	return sum
}

// ByRule reports whether an agent set a condition because of a condition rule.
func ByRule(condition *metav1.Condition) bool {
	return strings.HasPrefix(condition.Reason, "ConditionRule")
}

// TrimHandover returns the parts of the manifest conditions that Judged reads.
func TrimHandover(manifests []workv1.ManifestCondition) []workv1.ManifestCondition {
	kept := make([]workv1.ManifestCondition, 0, len(manifests))
	for i := range manifests {
		trimmed := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Ordinal: manifests[i].ResourceMeta.Ordinal}}
		for _, condition := range manifests[i].Conditions {
			switch condition.Type {
			case workv1.ManifestApplied, workv1.ManifestAvailable, workv1.ManifestProgressing, workv1.ManifestDegraded:
			default:
				if !ByRule(&condition) {
					continue
				}
			}
			condition.Message = ""
			trimmed.Conditions = append(trimmed.Conditions, condition)
		}
		kept = append(kept, trimmed)
	}
	return kept
}
