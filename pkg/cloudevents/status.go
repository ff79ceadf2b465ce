package cloudevents

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// mergeStatus is what an API server would hold after a report: an agent that was restarted has forgotten what it knew, and reports
// it again piece by piece. What it has not reported yet of today's generation is taken from the last status, otherwise a cluster that
// succeeded long ago would for a moment be one that never answered, and be past its deadline (R11).
func mergeStatus(before, reported *workv1.ManifestWorkStatus, generation int64) workv1.ManifestWorkStatus {
	merged := *reported.DeepCopy()
	merged.Conditions = keepUnreported(before.Conditions, merged.Conditions, generation)
	for i := range before.ResourceStatus.Manifests {
		keepManifest(&before.ResourceStatus.Manifests[i], &merged.ResourceStatus, generation)
	}
	trim(&merged)
	return merged
}

// trim takes away what this hub never reads of a report: messages, feedback, and what can't decide of single manifests (R10). An agent that
// says the same in other words has then said nothing new (P7).
func trim(status *workv1.ManifestWorkStatus) {
	trimConditions(status.Conditions)
	var manifests []workv1.ManifestCondition
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		var decisive []metav1.Condition
		for j := range m.Conditions {
			if rollout.Decisive(&m.Conditions[j]) {
				decisive = append(decisive, m.Conditions[j])
			}
		}
		if decisive != nil {
			trimConditions(decisive)
			manifests = append(manifests, workv1.ManifestCondition{ResourceMeta: m.ResourceMeta, Conditions: decisive})
		}
	}
	status.ResourceStatus.Manifests = manifests
}

func trimConditions(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].Message = ""
		share(&conditions[i].Type, &conditions[i].Reason)
	}
}

// keepManifest adds to a report what it lacks of a manifest.
func keepManifest(before *workv1.ManifestCondition, reported *workv1.ManifestResourceStatus, generation int64) {
	for i := range reported.Manifests {
		if m := &reported.Manifests[i]; m.ResourceMeta == before.ResourceMeta {
			m.Conditions = keepUnreported(before.Conditions, m.Conditions, generation)
			return
		}
	}
	if kept := keepUnreported(before.Conditions, nil, generation); len(kept) > 0 {
		m := before.DeepCopy()
		m.Conditions = kept
		reported.Manifests = append(reported.Manifests, *m)
	}
}

// keepUnreported adds the conditions of a generation whose types a report lacks. An agent never takes back a condition that a rule of
// the same generation made.
func keepUnreported(before, reported []metav1.Condition, generation int64) []metav1.Condition {
	for _, condition := range before {
		if condition.ObservedGeneration == generation && meta.FindStatusCondition(reported, condition.Type) == nil {
			reported = append(reported, condition)
		}
	}
	return reported
}
