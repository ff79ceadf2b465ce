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

type (
	object     = *workv1alpha1.ManifestWorkReplicaSet
	objectSpec = workv1alpha1.ManifestWorkReplicaSetSpec
	status     = workv1alpha1.ManifestWorkReplicaSetStatus
)

// Patcher writes one ManifestWorkReplicaSet: its finalizers, and its status.
type Patcher = patcher.Patcher[object, objectSpec, status]

// Client reads and patches ManifestWorkReplicaSets.
type Client struct{ dynamic dynamic.Interface }

// NewClient returns a Client.
func NewClient(dynamic dynamic.Interface) *Client { return &Client{dynamic: dynamic} }

func (c *Client) in(namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace)
}

// Get reads an object live.
func (c *Client) Get(ctx context.Context, namespace, name string) (metav1.Object, error) {
	return c.in(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Patcher returns a Patcher of objects in a namespace. Its patches carry the resourceVersion that the caller decided
// on. wrote is called with each answer from the API server, both decoded and raw.
func (c *Client) Patcher(namespace string, wrote func(*Object, *unstructured.Unstructured)) Patcher {
	return patcher.NewPatcher[object, objectSpec, status](&patching{ResourceInterface: c.in(namespace), wrote: wrote})
}

// patching patches ManifestWorkReplicaSets, even those that the types can't hold, and reports its writes.
type patching struct {
	dynamic.ResourceInterface
	wrote func(*Object, *unstructured.Unstructured)
}

// Patch is called by sdk-go's patcher.
func (c *patching) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	answer, err := c.ResourceInterface.Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patching ManifestWorkReplicaSet %s: %w", name, err)
	}
	decoded := Decode(answer)
	c.wrote(decoded, answer)
	return decoded.ManifestWorkReplicaSet, nil
}
