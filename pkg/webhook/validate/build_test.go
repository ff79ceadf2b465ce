package validate

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/ruletest"
)

// size is the maximum size of the manifests in bytes.
const size = 2000

var limit = Limits{ManifestBytes: size}

// edit changes an object in place.
type edit = ruletest.Edit

// build returns a valid object after the edits.
func build(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return ruletest.Build(t, edits...)
}

// set sets the field at a path such as "spec.placementRefs.0.name" to a value in YAML. An empty value removes the field.
func set(path, value string) edit { return ruletest.Set(path, value) }

func messages(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

func manifest(raw string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}
}

func configMap(name string) workv1.Manifest {
	return manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"default"}}`)
}
