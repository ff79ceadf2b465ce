package status

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// AgentMessage returns the agent's message about a work that has not succeeded: the message for the first manifest that is degraded, not
// applied, in progress or not available, or whose rule can't be evaluated, or else the message for the whole work.
func AgentMessage(work *workv1.ManifestWork) string {
	for _, bad := range []struct {
		conditionType string
		status        metav1.ConditionStatus
	}{
		{workv1.WorkDegraded, metav1.ConditionTrue},
		{workv1.WorkApplied, metav1.ConditionFalse},
		{workv1.WorkProgressing, metav1.ConditionTrue},
		{workv1.WorkAvailable, metav1.ConditionFalse},
	} {
		if bad.conditionType == workv1.WorkProgressing {
			if words := unevaluated(work); words != "" {
				return words
			}
		}
		if words := firstWords(work, bad.conditionType, bad.status, 0); words != "" {
			return words
		}
	}
	return reportedFor(work)
}

// unevaluated names the first manifest with a rule for Progressing that the agent can't evaluate, with the remedy; empty for none. The
// remedy comes first, because the agent's message may be cut.
func unevaluated(w *workv1.ManifestWork) string {
	for i := range w.Status.ResourceStatus.Manifests {
		manifest := &w.Status.ResourceStatus.Manifests[i]
		found := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestProgressing)
		if found != nil && found.ObservedGeneration >= w.Generation && work.Unevaluated(found) {
			return nameOf(&manifest.ResourceMeta) + "the agent can't evaluate the condition rule for " + found.Type +
				"; correct the rule in the template: " + cmp.Or(found.Message, found.Reason)
		}
	}
	return ""
}

// reportedFor returns what the agent reports about a work without a bad condition: the conditions of the current generation, or that the
// outcome is missing.
func reportedFor(work *workv1.ManifestWork) string {
	var reported []string
	available := false
	for _, conditionType := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded} {
		found := meta.FindStatusCondition(work.Status.Conditions, conditionType)
		if found != nil && found.ObservedGeneration >= work.Generation {
			reported = append(reported, conditionType+"="+string(found.Status))
			available = available || conditionType == workv1.WorkAvailable
		}
	}
	if !available {
		return "the agent has not reported the outcome of this revision"
	}
	return "the agent reports " + strings.Join(reported, ", ")
}

// firstWords returns the text of a condition with the given status and generation: from the first manifest that has it, or else from the
// whole work.
func firstWords(work *workv1.ManifestWork, conditionType string, status metav1.ConditionStatus, generation int64) string {
	for i := range work.Status.ResourceStatus.Manifests {
		manifest := &work.Status.ResourceStatus.Manifests[i]
		if words := words(manifest.Conditions, conditionType, status, generation); words != "" {
			return nameOf(&manifest.ResourceMeta) + words
		}
	}
	return words(work.Status.Conditions, conditionType, status, work.Generation)
}

// words returns the text of a condition, if the condition has the given status and observed the given generation.
func words(conditions []metav1.Condition, conditionType string, status metav1.ConditionStatus, generation int64) string {
	found := meta.FindStatusCondition(conditions, conditionType)
	if found == nil || found.Status != status || found.ObservedGeneration < generation {
		return ""
	}
	return conditionType + "=" + string(status) + ": " + cmp.Or(found.Message, found.Reason)
}

func nameOf(object *workv1.ManifestResourceMeta) string {
	switch {
	case object.Name == "":
		return ""
	case object.Namespace == "":
		return object.Kind + " " + object.Name + ": "
	}
	return object.Kind + " " + object.Namespace + "/" + object.Name + ": "
}
