package validate

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Work checks the manifests of a ManifestWork, which may hold limit bytes in all. Old is nil when it is created. The executor needs a
// question to the API server: see ExecutorReview.
func Work(old, work *workv1.ManifestWork, limit int) Verdict {
	path := field.NewPath("spec", "workload", "manifests")
	found := manifestProblems(path, work.Spec.Workload.Manifests, limit)
	if len(found) == 0 || old == nil {
		return Verdict{Errors: errorsOf(found)}
	}
	brought, kept := ratchet(found, manifestProblems(path, old.Spec.Workload.Manifests, limit))
	verdict := Verdict{Errors: brought}
	// The hub and the agents write works all the time, and nobody reads what they are warned of.
	if len(brought) == 0 && !equality.Semantic.DeepEqual(old.Spec, work.Spec) {
		verdict.Warnings = reminders(kept)
	}
	return verdict
}
