package workpatch

import (
	"encoding/json"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Patch returns the patch that makes the changes to a write to an existing work: labels, annotations and, if it
// differs, the spec. The patch is one request, and carries the resourceVersion on which the decision was based. It
// keeps the labels and annotations of other writers.
func Patch(w *rollout.Write, spec Change, now time.Time) (types.PatchType, []byte, error) {
	labels, annotations := changesOf(w.Work.Object, wantedMetadata(w, now))
	return encode(w.Work.Object, labels, annotations, spec)
}

// SpecPatch returns the patch that changes only the spec of a work, and only if the work still has the version that was
// read.
func SpecPatch(existing *workv1.ManifestWork, spec Change) (types.PatchType, []byte, error) {
	return encode(existing, nil, nil, spec)
}

// OwnerPatch returns the patch that restores the owner's labels on a work, if the work still has the version that was read.
func OwnerPatch(existing *workv1.ManifestWork, owner *work.OwnerMetadata) (types.PatchType, []byte, error) {
	wanted := work.Metadata{Labels: map[string]string{}, Annotations: map[string]string{}}
	owner.MarkOwner(wanted.Labels, wanted.Annotations)
	labels, annotations := changesOf(existing, wanted)
	return encode(existing, labels, annotations, Change{})
}

func encode(existing *workv1.ManifestWork, labels, annotations map[string]any, spec Change) (types.PatchType, []byte, error) {
	if spec.operations != nil {
		data, err := json.Marshal(append(metadataOperations(existing, labels, annotations), spec.operations...))
		return types.JSONPatchType, data, err
	}
	patch := map[string]any{}
	if spec.merge != nil {
		patch["spec"] = spec.merge
	}
	metadata := map[string]any{"uid": existing.UID, "resourceVersion": existing.ResourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	patch["metadata"] = metadata
	data, err := json.Marshal(patch)
	return types.MergePatchType, data, err
}

// changesOf returns merge patches of the labels and annotations of a work. Removed keys are null.
func changesOf(existing metav1.Object, wanted work.Metadata) (labels, annotations map[string]any) {
	return changes(existing.GetLabels(), wanted.Labels, wanted.DroppedLabels),
		changes(existing.GetAnnotations(), wanted.Annotations, wanted.DroppedAnnotations)
}

func changes(existing, wanted map[string]string, dropped []string) map[string]any {
	patch := map[string]any{}
	for key, value := range wanted {
		if found, there := existing[key]; !there || found != value {
			patch[key] = value
		}
	}
	for _, key := range dropped {
		if _, there := existing[key]; there {
			patch[key] = nil
		}
	}
	return patch
}

// IsStripped reports whether the API server's answer to a write of metadata lacks written keys: a webhook or a policy removed them.
func IsStripped(w *rollout.Write, answer metav1.Object) bool {
	stored, work := *w, work.Work{}
	if w.Work != nil {
		work = *w.Work
	}
	work.Object = &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Labels: answer.GetLabels(), Annotations: answer.GetAnnotations()}}
	stored.Work, stored.Revision = &work, nil
	labels, annotations := changesOf(answer, stored.Metadata())
	return len(labels)+len(annotations) > 0
}

// MissingMark returns the label or annotation that the API server's answer to the write of a revision lacks, or "" if
// none is missing. Without it, the work does not count as having the revision.
func MissingMark(w *rollout.Write, answer metav1.Object) string {
	switch {
	case w.Revision == nil:
	case answer.GetLabels()[workv1alpha1.LabelControllerHash] != w.Revision.Hash:
		return "the label " + workv1alpha1.LabelControllerHash
	case answer.GetAnnotations()[workv1alpha1.AnnotationAppliedAt] == "":
		return "the annotation " + workv1alpha1.AnnotationAppliedAt
	}
	return ""
}

// metadataOperations returns operations that replace all labels and annotations. The patch applies only to the version
// from which they were read.
func metadataOperations(existing *workv1.ManifestWork, labels, annotations map[string]any) []operation {
	annotated := changed(existing.Annotations, annotations)
	delete(annotated, AnnotationCacheDigest)
	return []operation{
		{Op: "add", Path: "/metadata/uid", Value: existing.UID},
		{Op: "add", Path: "/metadata/resourceVersion", Value: existing.ResourceVersion},
		{Op: "add", Path: "/metadata/labels", Value: changed(existing.Labels, labels)},
		{Op: "add", Path: "/metadata/annotations", Value: annotated},
	}
}

// changed returns the result of applying a merge patch to a map.
func changed(existing map[string]string, patch map[string]any) map[string]string {
	out := make(map[string]string, len(existing)+len(patch))
	maps.Copy(out, existing)
	for key, value := range patch {
		if text, set := value.(string); set {
			out[key] = text
		} else {
			delete(out, key)
		}
	}
	return out
}
