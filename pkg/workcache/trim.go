package workcache

import (
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// trimmedMark is the prefix of the annotation's values from this process. It prevents others from making a work look
// like a trimmed one.
var trimmedMark = string(uuid.NewUUID()) + ":"

// NewTransform returns the transform of an informer of ManifestWorks. It drops the data that neither the controller nor
// the garbage collection of completed works reads, which is most of a work: manifests, their configuration, and the
// agent's reports about each manifest. It keeps the digest of the spec. The controller also works with a cache without
// this transform, which is larger.
func NewTransform() cache.TransformFunc {
	digests := NewDigests()
	return func(obj any) (any, error) {
		if work, ok := obj.(*workv1.ManifestWork); ok && !IsTrimmed(work) {
			Trim(work, digests.DigestOf(&work.Spec))
		}
		return obj, nil
	}
}

// Trim drops the data of a work that is not read, and keeps the digest of its spec.
func Trim(work *workv1.ManifestWork, digest revision.Digest) {
	if work.Annotations == nil {
		work.Annotations = map[string]string{}
	}
	work.Annotations[workpatch.AnnotationCacheDigest] = shared(trimmedMark + string(digest))
	work.Namespace, work.Name = shared(work.Namespace), shared(work.Name)
	for key, value := range work.Labels {
		work.Labels[key] = shared(value)
	}
	work.ManagedFields = nil
	work.Spec.Workload.Manifests = nil
	work.Spec.ManifestConfigs = nil
	for i := range work.Status.Conditions {
		condition := &work.Status.Conditions[i]
		condition.Type, condition.Status, condition.Reason = shared(condition.Type), shared(condition.Status), shared(condition.Reason)
		condition.Message = ""
	}
	work.Status.ResourceStatus.Manifests = trimManifests(work)
}

// shared returns an interned text. The works of a fleet have the same few texts, and a pass compares these for each
// work.
func shared[T ~string](text T) T { return unique.Make(text).Value() }

// trimManifests keeps the conditions of manifests that a decision reads. A decision reads more of a work that keeps objects of
// another revision.
func trimManifests(w *workv1.ManifestWork) []workv1.ManifestCondition {
	manifests := w.Status.ResourceStatus.Manifests
	if w.Annotations[workv1alpha1.AnnotationKeptRevision] != "" {
		return work.TrimHandover(manifests)
	}
	var kept []workv1.ManifestCondition
	for i := range manifests {
		var conditions []metav1.Condition
		for _, condition := range manifests[i].Conditions {
			if work.Decisive(&condition) {
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

// IsTrimmed reports whether the transform has trimmed a work.
func IsTrimmed(work *workv1.ManifestWork) bool {
	_, ok := TrimmedDigest(work)
	return ok
}

// TrimmedDigest returns the digest of the spec of a trimmed work; false for a whole work.
func TrimmedDigest(work *workv1.ManifestWork) (revision.Digest, bool) {
	digest, ok := strings.CutPrefix(work.Annotations[workpatch.AnnotationCacheDigest], trimmedMark)
	return revision.Digest(digest), ok
}
