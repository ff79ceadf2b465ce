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
//go:embed *.yaml crds/*.yaml
var files embed.FS

// Render returns the objects that `kubectl kustomize deploy` prints.
func Render() ([]*unstructured.Unstructured, error) {
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
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(inMemory, "deploy")
	if err != nil {
		return nil, fmt.Errorf("rendering deploy/: %w", err)
	}
	objects := make([]*unstructured.Unstructured, 0, rendered.Size())
	for _, resource := range rendered.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("rendering %s of deploy/: %w", resource.CurId(), err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}
