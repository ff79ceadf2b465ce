package sandbox

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

// fieldManager is the owner of the fields that Deploy applies.
const fieldManager = "sandbox"

// Deploy does what `kubectl apply --server-side --force-conflicts -k deploy` does.
func Deploy(ctx context.Context, hub *rest.Config) error {
	objects, err := deploy.Render()
	if err != nil {
		return err
	}
	return Apply(ctx, hub, objects...)
}

// Apply does what `kubectl apply --server-side --force-conflicts` does.
func Apply(ctx context.Context, hub *rest.Config, objects ...*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(hub)
	if err != nil {
		return fmt.Errorf("creating a client for the hub: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(hub)
	if err != nil {
		return fmt.Errorf("creating a client for the hub: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("looking for what the hub calls %s: %w", kind, err)
		}
		resource := client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", kind.Kind, object.GetName(), err)
		}
	}
	return nil
}
