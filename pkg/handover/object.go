package handover

import (
	"fmt"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// identity identifies an object on a cluster: two manifests with the same identity are the same object. It does not include the version.
type identity struct{ group, kind, namespace, name string }

// object is a manifest of a revision.
type object struct {
	id       identity
	manifest *workv1.Manifest
	// name is the name of the object in messages.
	name string
	// resource is the plural that the kind suggests.
	resource string
}

func objectsOf(spec *workv1.ManifestWorkSpec) ([]object, error) {
	objects := make([]object, 0, len(spec.Workload.Manifests))
	for i := range spec.Workload.Manifests {
		kind, id, err := revision.Identify(&spec.Workload.Manifests[i])
		if err != nil {
			return nil, fmt.Errorf("workload.manifests[%d]: %w", i, err)
		}
		objects = append(objects, object{
			id:       identity{group: id.Group, kind: kind.Kind, namespace: id.Namespace, name: id.Name},
			manifest: &spec.Workload.Manifests[i],
			name:     kind.Kind + " " + strings.TrimPrefix(id.Namespace+"/"+id.Name, "/"),
			resource: id.Resource,
		})
	}
	return objects, nil
}

// as returns the identifier of the object, assuming that its resource is the given one.
func (o *object) as(resource string) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: o.id.group, Resource: resource, Namespace: o.id.namespace, Name: o.id.name}
}

func (o *object) objectName() objectName { return objectName{o.id.group, o.id.namespace, o.id.name} }
