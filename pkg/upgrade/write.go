package upgrade

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// write performs the remaining writes of an object: the status first, then the copies, and the annotations last, because they show that
// writes remain.
func (r *Runner) write(ctx context.Context, o *plan.Object, wanted *plan.Restoration) error {
	if wanted.Status != nil {
		if err := r.patchStatus(ctx, o, wanted.Status); err != nil {
			return err
		}
	}
	for _, rev := range wanted.Revisions {
		var text any
		if rev == wanted.Holder {
			text = wanted.Copy
		}
		if err := r.setCopy(ctx, rev, text); err != nil {
			return err
		}
	}
	return r.annotate(ctx, o, wanted.Annotations)
}

// annotate changes the annotations of an object, if the object has not changed since it was read. It writes nothing if nothing changes
// (P7).
func (r *Runner) annotate(ctx context.Context, o *plan.Object, changes map[string]any) error {
	if len(changes) == 0 {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion, "annotations": changes}}
	return r.patch(ctx, o, patch)
}

// patchStatus sets the ledger and its projection, if the object has not changed since it was read. The following steps use the object that
// the API server returns.
func (r *Runner) patchStatus(ctx context.Context, o *plan.Object, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) error {
	fields := map[string]any{
		"ledger": wanted.Ledger, "collisionCount": wanted.CollisionCount, "abortedTime": wanted.AbortedTime,
		"currentRevision": orNull(wanted.CurrentRevision), "updateRevision": orNull(wanted.UpdateRevision),
		"abortedBy": orNull(wanted.AbortedBy), "abortReason": orNull(wanted.AbortReason),
		"failures": wanted.Failures, "rejections": wanted.Rejections,
	}
	patch := map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion}, "status": fields}
	return r.patch(ctx, o, patch, "status")
}

// orNull returns the value of a field in a patch: the text, or null to remove the field if the text is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (r *Runner) patch(ctx context.Context, o *plan.Object, patch map[string]any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	client := r.Dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(o.Namespace)
	answer, err := client.Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return fmt.Errorf("patching ManifestWorkReplicaSet %s/%s: %w", o.Namespace, o.Name, err)
	}
	o.ResourceVersion = answer.GetResourceVersion()
	return nil
}

// setCopy sets the copy of the ledger on a revision, if the revision has not changed since it was read; nil removes the copy.
func (r *Runner) setCopy(ctx context.Context, rev *revision.Revision, text any) error {
	object := rev.Object
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion, "annotations": map[string]any{workv1alpha1.AnnotationLedger: text},
	}})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	client := r.Kube.AppsV1().ControllerRevisions(object.Namespace)
	_, err = client.Patch(ctx, object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) { // A deleted revision has nothing to remove.
		return fmt.Errorf("patching ControllerRevision %s/%s: %w", object.Namespace, object.Name, err)
	}
	return nil
}
