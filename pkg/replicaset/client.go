package replicaset

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"open-cluster-management.io/sdk-go/pkg/patcher"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Patcher writes one ManifestWorkReplicaSet: its finalizers, and its status.
type Patcher = patcher.Patcher[*workv1alpha1.ManifestWorkReplicaSet, workv1alpha1.ManifestWorkReplicaSetSpec, workv1alpha1.ManifestWorkReplicaSetStatus]

// NewPatcher returns a Patcher of objects in a namespace. Its patches carry the resourceVersion that the caller decided on (R15). wrote is called
// with each answer of the API server, decoded and as it came.
func NewPatcher(dynamic dynamic.Interface, namespace string, wrote func(*Object, *unstructured.Unstructured)) Patcher {
	return patcher.NewPatcher[*workv1alpha1.ManifestWorkReplicaSet, workv1alpha1.ManifestWorkReplicaSetSpec, workv1alpha1.ManifestWorkReplicaSetStatus](
		&client{ResourceInterface: dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace), wrote: wrote})
}

// client patches ManifestWorkReplicaSets, also those that the types can't hold, and reports its writes.
type client struct {
	dynamic.ResourceInterface
	wrote func(*Object, *unstructured.Unstructured)
}

// Patch is what sdk-go's patcher calls.
func (c *client) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	answer, err := c.ResourceInterface.Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patching ManifestWorkReplicaSet %s: %w", name, err)
	}
	object := Decode(answer)
	c.wrote(object, answer)
	return object.ManifestWorkReplicaSet, nil
}
