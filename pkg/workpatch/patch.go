package workpatch

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

func revisionAnnotations(w *rollout.Write, now time.Time) map[string]string {
	annotations := map[string]string{workv1alpha1.AnnotationAppliedAt: now.UTC().Format(timeFormat)}
	if w.Group != "" {
		annotations[workv1alpha1.AnnotationDecisionGroup] = w.Group
	}
	return annotations
}

// Patch returns the patch that brings an existing work to where a write wants it: labels, annotations and, where it differs, the
// spec, in one request that carries the version that was decided on (R15). What others put on the work stays.
func Patch(s *rollout.Snapshot, w *rollout.Write, spec Change, now time.Time) (types.PatchType, []byte, error) {
	labels, annotations := writtenMetadata(s, w, now)
	return encode(w.Work.Object, labels, annotations, spec)
}

// SpecPatch returns the patch that changes the spec of a work and nothing else, in the version that was read (R15).
func SpecPatch(existing *workv1.ManifestWork, spec Change) (types.PatchType, []byte, error) {
	return encode(existing, nil, nil, spec)
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

// writtenMetadata returns what a write changes of the labels and annotations of a work that exists.
func writtenMetadata(s *rollout.Snapshot, w *rollout.Write, now time.Time) (labels, annotations map[string]any) {
	labels, annotations = metadataChange(s, w)
	if w.Revision == nil {
		return labels, annotations
	}
	setChanged(labels, w.Work.Object.Labels, workv1alpha1.LabelControllerHash, w.Revision.Hash)
	for key, value := range revisionAnnotations(w, now) {
		setChanged(annotations, w.Work.Object.Annotations, key, value)
	}
	setChanged(annotations, w.Work.Object.Annotations, workv1alpha1.AnnotationKeptRevision, w.KeptRevision)
	asked := ""
	if ChangesSpec(w) {
		asked = askedFor(s, w, w.Work.Object.Generation+1)
	}
	setChanged(annotations, w.Work.Object.Annotations, workv1alpha1.AnnotationAccepted, asked)
	return labels, annotations
}

// metadataChange returns what a write changes of the labels and annotations that are not about a revision.
func metadataChange(s *rollout.Snapshot, w *rollout.Write) (labels, annotations map[string]any) {
	existing := w.Work.Object
	labels, annotations = map[string]any{}, map[string]any{}
	for key, value := range rollout.WorkLabels(s, w.Placement) {
		setChanged(labels, existing.Labels, key, value)
	}
	for _, key := range rollout.DroppedLabels(s, w.Work) {
		labels[key] = nil
	}
	for key, value := range rollout.WorkAnnotations(existing.Annotations) {
		setChanged(annotations, existing.Annotations, key, value)
	}
	setChanged(annotations, existing.Annotations, workv1alpha1.AnnotationCopiedLabels, rollout.CopiedLabels(s))
	if w.Group != "" {
		setChanged(annotations, existing.Annotations, workv1alpha1.AnnotationDecisionGroup, w.Group)
	}
	if accepted := w.Work.Accepted(); accepted != "" && w.Revision == nil {
		setChanged(annotations, existing.Annotations, workv1alpha1.AnnotationAccepted, accepted)
	}
	return labels, annotations
}

// askedFor returns what a write of a spec says of itself; empty over a broker, where nothing stores a work otherwise than it was sent.
func askedFor(s *rollout.Snapshot, w *rollout.Write, generation int64) string {
	if s.Heard != nil {
		return ""
	}
	return rollout.AskedFor(w.Revision.Digest, generation)
}

// IsStripped reports whether the API server's answer to a write of metadata lacks what was written: a webhook or a policy removed it.
func IsStripped(s *rollout.Snapshot, w *rollout.Write, answer metav1.Object) bool {
	stored, work := *w, rollout.Work{}
	if w.Work != nil {
		work = *w.Work
	}
	work.Object = &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Labels: answer.GetLabels(), Annotations: answer.GetAnnotations()}}
	stored.Work = &work
	labels, annotations := metadataChange(s, &stored)
	return len(labels)+len(annotations) > 0
}

// metadataOperations replace labels and annotations as a whole: the patch applies to the version that they were read from, and to no other.
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

// changed returns what a merge patch makes of a map.
func changed(existing map[string]string, patch map[string]any) map[string]any {
	out := make(map[string]any, len(existing)+len(patch))
	for key, value := range existing {
		out[key] = value
	}
	for key, value := range patch {
		out[key] = value
		if value == nil {
			delete(out, key)
		}
	}
	return out
}

func setChanged(patch map[string]any, existing map[string]string, key, value string) {
	if found, ok := existing[key]; ok == (value != "") && found == value {
		return
	}
	patch[key] = value
	if value == "" {
		patch[key] = nil
	}
}
