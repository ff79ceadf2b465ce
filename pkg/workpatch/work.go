package workpatch

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// AnnotationCacheDigest is the annotation in which a cache of ManifestWorks keeps the digest of a spec that it dropped (package
// workcache). The API server never sees it, because no write contains it.
const AnnotationCacheDigest = "cache.rollback.work.open-cluster-management.io/digest"

// timeFormat is the format of times in annotations.
const timeFormat = time.RFC3339Nano

// New returns the work that a Create write creates, with the given name.
func New(w *rollout.Write, name string, now time.Time) *workv1.ManifestWork {
	wanted := wantedMetadata(w, now)
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Cluster, Labels: wanted.Labels, Annotations: wanted.Annotations},
		Spec:       *w.Revision.Template.DeepCopy(),
	}
}

// wantedMetadata returns the metadata of a write that is requested now.
func wantedMetadata(w *rollout.Write, now time.Time) work.Metadata {
	wanted := w.Metadata()
	if w.Revision != nil {
		wanted.Annotations[workv1alpha1.AnnotationAppliedAt] = now.UTC().Format(timeFormat)
	}
	return wanted
}

// Whole returns an existing work with the changes that Patch would make, and the whole spec of the write's revision. It
// carries the resourceVersion on which the decision was based.
func Whole(w *rollout.Write, now time.Time) *workv1.ManifestWork {
	labels, annotations := changesOf(w.Work.Object, wantedMetadata(w, now))
	work := &workv1.ManifestWork{ObjectMeta: *w.Work.Object.ObjectMeta.DeepCopy(), Spec: *w.Revision.Template}
	work.Labels, work.Annotations = changed(work.Labels, labels), changed(work.Annotations, annotations)
	delete(work.Annotations, AnnotationCacheDigest)
	return work
}
