package upgrade

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// restore writes what remains to be restored of an object: the revisions first, as the status follows from them, and the
// annotations last, as they say that something remains.
func (c *objects) restore(ctx context.Context, o *plan.Object, r *plan.Restoration) error {
	for i := range r.Revisions {
		if err := c.patchRevision(ctx, &r.Revisions[i]); err != nil {
			return err
		}
	}
	if r.Status != nil {
		if err := c.patchStatus(ctx, o, r.Status); err != nil {
			return err
		}
	}
	return c.annotate(ctx, o, r.Annotations)
}

// annotate changes the annotations of an object as it was seen. It writes nothing where nothing changes (P7).
func (c *objects) annotate(ctx context.Context, o *plan.Object, changes map[string]any) error {
	if len(changes) == 0 {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion, "annotations": changes}}
	return c.patch(ctx, o, patch)
}

// patchStatus sets fields of the status that decisions depend on, if the object has not changed since it was read. The following steps use
// the object that the API server returns.
func (c *objects) patchStatus(ctx context.Context, o *plan.Object, wanted *status.Revisions) error {
	fields := map[string]any{}
	if wanted.CollisionCount != nil {
		fields["collisionCount"] = *wanted.CollisionCount
	}
	if wanted.CurrentRevision != "" {
		fields["currentRevision"] = wanted.CurrentRevision
	}
	if wanted.UpdateRevision != "" {
		fields["updateRevision"] = wanted.UpdateRevision
	}
	if wanted.AbortedTime != nil {
		fields["abortedTime"] = wanted.AbortedTime
	}
	patch := map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion}, "status": fields}
	return c.patch(ctx, o, patch, "status")
}

func (c *objects) patch(ctx context.Context, o *plan.Object, patch map[string]any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	client := c.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(o.Namespace)
	answer, err := client.Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return fmt.Errorf("patching ManifestWorkReplicaSet %s/%s: %w", o.Namespace, o.Name, err)
	}
	o.ResourceVersion = answer.GetResourceVersion()
	return nil
}

// patchRevision writes a revision, as it was seen.
func (c *objects) patchRevision(ctx context.Context, change *plan.RevisionPatch) error {
	object := change.Revision.Object
	metadata := map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}
	if len(change.Annotations) > 0 {
		metadata["annotations"] = change.Annotations
	}
	patch := map[string]any{"metadata": metadata}
	if change.Number != nil {
		patch["revision"] = *change.Number
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	client := c.kube.AppsV1().ControllerRevisions(object.Namespace)
	_, err = client.Patch(ctx, object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) { // Of one that was deleted there is nothing to restore.
		return fmt.Errorf("patching ControllerRevision %s/%s: %w", object.Namespace, object.Name, err)
	}
	return nil
}
