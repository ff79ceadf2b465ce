package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Outcome is an agent's report about its work.
type Outcome int

// The outcomes.
const (
	// Succeeds reports that everything is applied and available, and no longer progressing.
	Succeeds Outcome = iota
	// Hangs reports that everything is applied and progressing, and nothing after that.
	Hangs
)

// Answer sets a work's status to its agent's report about a generation. The report is as complete as that of OCM's agent, and includes each
// manifest's conditions. As with OCM's agent, a condition that does not change keeps its transition time.
func Answer(status *workv1.ManifestWorkStatus, outcome Outcome, generation int64, now time.Time) {
	set := func(conditions *[]metav1.Condition, conditionType string, value bool, message string) {
		c := metav1.Condition{
			Type: conditionType, Status: metav1.ConditionFalse, Reason: conditionType + "Reported", Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		}
		if value {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(conditions, c)
	}
	set(&status.Conditions, workv1.WorkApplied, true, "Apply manifest work complete")
	set(&status.Conditions, workv1.WorkAvailable, outcome == Succeeds, fmt.Sprintf("%d of %d resources are available", configMaps, configMaps))
	set(&status.Conditions, workv1.WorkProgressing, outcome == Hangs, "Condition rules are evaluated")
	if len(status.ResourceStatus.Manifests) == 0 {
		status.ResourceStatus.Manifests = make([]workv1.ManifestCondition, configMaps)
	}
	for i := range status.ResourceStatus.Manifests {
		manifest := &status.ResourceStatus.Manifests[i]
		manifest.ResourceMeta = workv1.ManifestResourceMeta{
			Ordinal: int32(i), Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "default", Name: configMapName(i), //nolint:gosec // five
		}
		set(&manifest.Conditions, workv1.ManifestApplied, true, "Apply manifest complete")
		set(&manifest.Conditions, workv1.ManifestAvailable, outcome == Succeeds, "Resource is available")
		if i == 0 {
			set(&manifest.Conditions, workv1.ManifestProgressing, outcome == Hangs, "Condition rule is evaluated")
		}
	}
}

// Degrade sets a late report from an agent: the work has been degraded since a time.
func Degrade(status *workv1.ManifestWorkStatus, generation int64, since time.Time) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: workv1.WorkDegraded, Status: metav1.ConditionTrue, Reason: "DegradedReported", Message: "A resource is degraded",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(since),
	})
}

func statusPatch(status *workv1.ManifestWorkStatus) ([]byte, error) {
	return json.Marshal(map[string]any{"status": status})
}
