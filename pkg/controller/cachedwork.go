package controller

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// annotationDigest is where a slim work holds what its spec meant. It is in the cache only: the API server never sees it.
const annotationDigest = "cache.rollback.work.open-cluster-management.io/digest"

// slimMark begins the annotation's values of this process: nobody else can make a work pass for a slim one.
var slimMark = string(uuid.NewUUID()) + ":"

// NewWorkTransform makes the transform of an informer of ManifestWorks. It takes away what neither the controller nor the
// garbage collection of completed works reads, which is nearly all of a work: manifests, their configuration and what the
// agent reports of each manifest. What the spec meant stays, as a digest (R1). A cache that it is not used for works as well,
// and is larger.
func NewWorkTransform() cache.TransformFunc {
	digests := newDigests()
	return func(obj any) (any, error) {
		if work, ok := obj.(*workv1.ManifestWork); ok && !isSlim(work) {
			slim(work, digests.of(&work.Spec))
		}
		return obj, nil
	}
}

func slim(work *workv1.ManifestWork, digest revision.Digest) {
	if work.Annotations == nil {
		work.Annotations = map[string]string{}
	}
	work.Annotations[annotationDigest] = slimMark + string(digest)
	work.ManagedFields = nil
	work.Spec.Workload.Manifests = nil
	work.Spec.ManifestConfigs = nil
	for i := range work.Status.Conditions {
		work.Status.Conditions[i].Message = ""
	}
	work.Status.ResourceStatus.Manifests = slimManifests(work.Status.ResourceStatus.Manifests)
}

// slimManifests keeps the conditions of manifests that R10 asks for.
func slimManifests(manifests []workv1.ManifestCondition) []workv1.ManifestCondition {
	var kept []workv1.ManifestCondition
	for i := range manifests {
		var conditions []metav1.Condition
		for _, condition := range manifests[i].Conditions {
			if rollout.Decisive(&condition) {
				condition.Message = ""
				conditions = append(conditions, condition)
			}
		}
		if conditions != nil {
			kept = append(kept, workv1.ManifestCondition{Conditions: conditions})
		}
	}
	return kept
}

// isSlim says whether the transform has seen a work.
func isSlim(work *workv1.ManifestWork) bool {
	_, ok := slimDigest(work)
	return ok
}

// slimDigest is what the spec of a slim work meant; false for a work that is whole.
func slimDigest(work *workv1.ManifestWork) (revision.Digest, bool) {
	digest, ok := strings.CutPrefix(work.Annotations[annotationDigest], slimMark)
	return revision.Digest(digest), ok
}
