package deploy

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
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

//go:embed chart/Chart.yaml chart/values.yaml chart/values.schema.json chart/files all:chart/templates
var chartFiles embed.FS

// RenderChart returns the objects that `helm template work-rollback deploy/chart` prints for a namespace and values, in the
// order of the template names.
func RenderChart(namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	files, err := bufferedChart()
	if err != nil {
		return nil, fmt.Errorf("reading the files of deploy/chart: %w", err)
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("loading deploy/chart: %w", err)
	}
	release := chartutil.ReleaseOptions{Name: loaded.Name(), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, release, nil)
	if err != nil {
		return nil, fmt.Errorf("preparing the values of deploy/chart: %w", err)
	}
	rendered, err := engine.Render(loaded, all)
	if err != nil {
		return nil, fmt.Errorf("rendering deploy/chart: %w", err)
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

// bufferedChart returns the files of the chart, with their paths relative to the chart.
func bufferedChart() (files []*loader.BufferedFile, err error) {
	err = fs.WalkDir(chartFiles, "chart", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := chartFiles.ReadFile(file)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(file, "chart/"), Data: data})
		return err
	})
	return files, err
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
