package handover

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// identity identifies an object on a cluster: two manifests with the same identity are the same object. The version is not part of it.
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
		var decoded metav1.PartialObjectMetadata
		if err := utiljson.Unmarshal(spec.Workload.Manifests[i].Raw, &decoded); err != nil {
			return nil, fmt.Errorf("workload.manifests[%d]: %w", i, err)
		}
		kind := schema.FromAPIVersionAndKind(decoded.APIVersion, decoded.Kind)
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		o := object{
			id:       identity{group: kind.Group, kind: kind.Kind, namespace: decoded.Namespace, name: decoded.Name},
			manifest: &spec.Workload.Manifests[i],
			name:     kind.Kind + " " + decoded.Name,
			resource: plural.Resource,
		}
		if decoded.Namespace != "" {
			o.name = fmt.Sprintf("%s %s/%s", kind.Kind, decoded.Namespace, decoded.Name)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func (o *object) objectName() objectName { return objectName{o.id.group, o.id.namespace, o.id.name} }
