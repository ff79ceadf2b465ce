package cloudevents

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
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
	return merged
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
