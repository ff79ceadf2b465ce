package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// undoManager is the field manager of an undo. It has its own name, so that an applier can take over the fields that an undo wrote, but no
// other fields of the plugin, such as a pause.
const undoManager = fieldManager + "-undo"

// appliedOperation returns the operation that updates kubectl's record of the applied file after an undo; nil if there is no record, or if
// the new record is too large. The next `kubectl apply` then removes the fields that only the record has, including those of the restored
// template.
func appliedOperation(set *workv1alpha1.ManifestWorkReplicaSet, template json.RawMessage, cause string) (*operation, error) {
	const key = corev1.LastAppliedConfigAnnotation
	record := map[string]any{}
	if utiljson.Unmarshal([]byte(set.Annotations[key]), &record) != nil {
		return nil, nil // kubectl cannot apply on top of this record either.
	}
	var restored map[string]any
	if err := utiljson.Unmarshal(template, &restored); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(record, restored, "spec", "manifestWorkTemplate"); err != nil {
		return nil, nil //nolint:nilerr // It is not the record of a ManifestWorkReplicaSet.
	}
	causePath := []string{"metadata", "annotations", workv1alpha1.AnnotationChangeCause}
	if cause == "" {
		unstructured.RemoveNestedField(record, causePath...)
	} else if err := unstructured.SetNestedField(record, cause, causePath...); err != nil {
		return nil, nil //nolint:nilerr // It is not the record of a ManifestWorkReplicaSet.
	}
	text, err := json.Marshal(record)
	size := len(text) - len(set.Annotations[key])
	for name, value := range set.Annotations {
		size += len(name) + len(value)
	}
	if err != nil || size > validation.TotalAnnotationSizeLimitB {
		return nil, err
	}
	return &operation{Op: "replace", Path: "/metadata/annotations/" + escaped(key), Value: string(text)}, nil
}

// handOver transfers the fields that an undo wrote to the field manager that applies the template by server-side apply. Otherwise, the next
// apply would conflict with the undo, and keep the fields that only the restored template has.
func (o *options) handOver(ctx context.Context, c *clients, before, undone *workv1alpha1.ManifestWorkReplicaSet) error {
	applier := view.ApplierOf(before)
	if applier == "" {
		return nil
	}
	err := repeated(func() error {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(undone, sets.New(undoManager), applier)
		if err != nil || patch == nil {
			return err
		}
		_, err = c.patch(ctx, undone.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: undoManager})
		if hasChanged(err) {
			if fresh, readErr := c.set(ctx, undone.Name); readErr == nil {
				undone = fresh
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the template was restored, but %q does not own it: its next apply needs --force-conflicts, and keeps fields that its "+
			"file does not have: %v", applier, err) // The undo has been written: a conflict must not repeat it.
	}
	return nil
}
