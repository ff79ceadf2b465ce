package deploy

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ChartNamespace is the namespace for the chart in Default mode: the namespace of the Lease that OCM's work hub uses too.
const ChartNamespace = "open-cluster-management-hub"

// RenderChart returns the objects that `helm template work-rollback` prints for the chart in a directory, a namespace and values, in the
// order of the template names.
func RenderChart(dir, namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", dir, err)
	}
	release := chartutil.ReleaseOptions{Name: loaded.Name(), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, release, nil)
	if err != nil {
		return nil, fmt.Errorf("preparing the values of %s: %w", dir, err)
	}
	rendered, err := engine.Render(loaded, all)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		found, err := documents(rendered[name])
		if err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// documents returns the objects in a rendered template.
func documents(text string) (objects []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case err == io.EOF:
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}
