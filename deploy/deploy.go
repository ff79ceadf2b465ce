// Package deploy carries the kustomization that brings this hub to where OCM's ClusterManager operator runs, so that the sandbox and
// the tests apply the very files that an administrator does.
package deploy

import (
	"embed"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// files are kustomization.yaml and what it refers to.
//
//go:embed *.yaml base/*.yaml crds/*.yaml hub/*.yaml
var files embed.FS

// Render returns the objects that `kubectl kustomize deploy` prints: those of both parts.
func Render() ([]*unstructured.Unstructured, error) {
	return render("deploy")
}

// RenderBase returns the objects that `kubectl kustomize deploy/base` prints: what the work image needs on any hub.
func RenderBase() ([]*unstructured.Unstructured, error) {
	return render("deploy/base")
}

// RenderHub returns the objects that `kubectl kustomize deploy/hub` prints: what makes OCM's operator run the work image.
func RenderHub() ([]*unstructured.Unstructured, error) {
	return render("deploy/hub")
}

func render(dir string) ([]*unstructured.Unstructured, error) {
	inMemory := filesys.MakeFsInMemory()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return inMemory.WriteFile("deploy/"+path, data)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of deploy/: %w", err)
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(inMemory, dir)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, rendered.Size())
	for _, resource := range rendered.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("rendering %s of %s: %w", resource.CurId(), dir, err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}
