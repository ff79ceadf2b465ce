package validate

import (
	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"
)

var workManifestsPath = specPath.Child("workload", "manifests")

// Work checks the manifests of a ManifestWork. old is nil if the work is being created. The check of the executor needs
// a request to the API server; see ExecutorReview.
func Work(old, work *workv1.ManifestWork, limits Limits) Verdict {
	found := manifestProblems(workManifestsPath, work.Spec.Workload.Manifests, limits, withVersion)
	if len(found) == 0 || old == nil {
		return Verdict{Errors: refusals(found)}
	}
	brought, kept := ratchet(found, manifestProblemsBefore(workManifestsPath, old.Spec.Workload.Manifests, limits, withVersion))
	verdict := Verdict{Errors: refusals(brought)}
	// The hub and the agents write works all the time, and ignore warnings.
	if len(brought) == 0 && !equality.Semantic.DeepEqual(old.Spec, work.Spec) {
		verdict.Warnings = reminders(kept)
	}
	return verdict
}
