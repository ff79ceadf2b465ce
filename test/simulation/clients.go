package simulation

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/metadata"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// The clients implement the verbs that the controller uses. Any other verb panics on the nil interface: add it here when that happens.

type dynamicClient struct {
	dynamic.Interface
	process *Process
}

func (c dynamicClient) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return replicaSetClient{process: c.process}
}

type replicaSetClient struct {
	dynamic.NamespaceableResourceInterface
	process   *Process
	namespace string
}

func (c replicaSetClient) Namespace(namespace string) dynamic.ResourceInterface {
	c.namespace = namespace
	return c
}

func (c replicaSetClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	return copied(c.process.api.Get(ReplicaSets, c.namespace, name))
}

func copied(object *unstructured.Unstructured, err error) (*unstructured.Unstructured, error) {
	return object.DeepCopy(), err
}

func (c replicaSetClient) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	what := "patch replicaset " + name
	if len(subresources) > 0 {
		what += "/" + subresources[0]
	}
	return write(c.process, what, func() (*unstructured.Unstructured, error) {
		return copied(c.process.api.Patch(ReplicaSets, c.namespace, name, data, len(subresources) > 0))
	})
}

type workClient struct {
	workclientset.Interface
	process *Process
}

func (c workClient) WorkV1() workv1client.WorkV1Interface { return worksV1{process: c.process} }

type worksV1 struct {
	workv1client.WorkV1Interface
	process *Process
}

func (c worksV1) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return works{process: c.process, namespace: namespace}
}

type works struct {
	workv1client.ManifestWorkInterface
	process   *Process
	namespace string
}

func (c works) Get(_ context.Context, name string, _ metav1.GetOptions) (*workv1.ManifestWork, error) {
	if c.process.Reads != nil && !c.process.dead {
		c.process.Reads()
	}
	object, err := c.process.api.Get(Works, c.namespace, name)
	if err != nil {
		return nil, err
	}
	return as[workv1.ManifestWork](c.process.api, object), nil
}

func (c works) List(_ context.Context, options metav1.ListOptions) (*workv1.ManifestWorkList, error) {
	if c.process.dead {
		return nil, errKilled
	}
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	c.process.lists++
	list := &workv1.ManifestWorkList{}
	for _, object := range c.process.api.List(Works, c.namespace, func(o *unstructured.Unstructured) bool { return selector.Matches(labels.Set(o.GetLabels())) }) {
		list.Items = append(list.Items, *as[workv1.ManifestWork](c.process.api, object))
	}
	return list, nil
}

func (c works) Create(_ context.Context, work *workv1.ManifestWork, _ metav1.CreateOptions) (*workv1.ManifestWork, error) {
	return write(c.process, "create work "+c.namespace+"/"+work.Name, func() (*workv1.ManifestWork, error) {
		return typed[workv1.ManifestWork](c.process.api)(c.process.api.Create(Works, from(work)))
	})
}

func (c works) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*workv1.ManifestWork, error) {
	if len(subresources) > 0 {
		return nil, fmt.Errorf("a hub has no business in the %s of a work", subresources[0])
	}
	return write(c.process, "patch work "+c.namespace+"/"+name, func() (*workv1.ManifestWork, error) {
		return typed[workv1.ManifestWork](c.process.api)(c.process.api.Patch(Works, c.namespace, name, data, false))
	})
}

func (c works) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	_, err := write(c.process, "delete work "+c.namespace+"/"+name, func() (struct{}, error) {
		return struct{}{}, c.process.api.Delete(Works, c.namespace, name, options.Preconditions)
	})
	return err
}

// metadataClient patches works, and answers with their metadata.
type metadataClient struct {
	metadata.Interface
	process *Process
}

func (c metadataClient) Resource(schema.GroupVersionResource) metadata.Getter {
	return metadataWorks{process: c.process}
}

type metadataWorks struct {
	metadata.ResourceInterface
	process   *Process
	namespace string
}

func (c metadataWorks) Namespace(namespace string) metadata.ResourceInterface {
	c.namespace = namespace
	return c
}

func (c metadataWorks) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	answer, err := works{process: c.process, namespace: c.namespace}.Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: answer.ObjectMeta}, nil
}

type kubeClient struct {
	kubernetes.Interface
	process *Process
}

func (c kubeClient) AppsV1() appsv1client.AppsV1Interface { return appsV1{process: c.process} }

type appsV1 struct {
	appsv1client.AppsV1Interface
	process *Process
}

func (c appsV1) ControllerRevisions(namespace string) appsv1client.ControllerRevisionInterface {
	return revisions{process: c.process, namespace: namespace}
}

type revisions struct {
	appsv1client.ControllerRevisionInterface
	process   *Process
	namespace string
}

func (c revisions) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.ControllerRevision, error) {
	if err := c.process.api.refuse(name); err != nil {
		return nil, err
	}
	return typed[appsv1.ControllerRevision](c.process.api)(c.process.api.Get(Revisions, c.namespace, name))
}

func (c revisions) List(_ context.Context, options metav1.ListOptions) (*appsv1.ControllerRevisionList, error) {
	if err := c.process.api.refuse(""); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &appsv1.ControllerRevisionList{}
	for _, object := range c.process.api.List(Revisions, c.namespace, func(o *unstructured.Unstructured) bool { return selector.Matches(labels.Set(o.GetLabels())) }) {
		list.Items = append(list.Items, *as[appsv1.ControllerRevision](c.process.api, object))
	}
	return list, nil
}

func (c revisions) Create(_ context.Context, revision *appsv1.ControllerRevision, _ metav1.CreateOptions) (*appsv1.ControllerRevision, error) {
	if err := c.process.api.refuse(revision.Name); err != nil {
		return nil, err
	}
	return write(c.process, "create revision "+revision.Name, func() (*appsv1.ControllerRevision, error) {
		return typed[appsv1.ControllerRevision](c.process.api)(c.process.api.Create(Revisions, from(revision)))
	})
}

func (c revisions) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*appsv1.ControllerRevision, error) {
	if err := c.process.api.refuse(name); err != nil {
		return nil, err
	}
	return write(c.process, "patch revision "+name, func() (*appsv1.ControllerRevision, error) {
		return typed[appsv1.ControllerRevision](c.process.api)(c.process.api.Patch(Revisions, c.namespace, name, data, false))
	})
}

func (c revisions) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	if err := c.process.api.refuse(name); err != nil {
		return err
	}
	_, err := write(c.process, "delete revision "+name, func() (struct{}, error) {
		return struct{}{}, c.process.api.Delete(Revisions, c.namespace, name, options.Preconditions)
	})
	return err
}

// typed converts an answer.
func typed[T any, P copyable[T]](api *API) func(*unstructured.Unstructured, error) (*T, error) {
	return func(object *unstructured.Unstructured, err error) (*T, error) {
		if err != nil {
			return nil, err
		}
		return as[T, P](api, object), nil
	}
}
