// Package deploy embeds the kustomization that installs this hub where OCM's ClusterManager operator runs, so that the
// sandbox and the tests apply the same files as an administrator.
package deploy

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// files are kustomization.yaml and what it refers to.
//
//go:embed *.yaml base/*.yaml crds/*.yaml hub/*.yaml
var files embed.FS

// Render returns the objects that `kubectl kustomize deploy` prints: the objects of both parts.
func Render() ([]*unstructured.Unstructured, error) {
	return render(".")
}

// RenderBase returns the objects that `kubectl kustomize deploy/base` prints: the objects that the work image needs on
// any hub.
func RenderBase() ([]*unstructured.Unstructured, error) {
	return render("base")
}

// RenderHub returns the objects that `kubectl kustomize deploy/hub` prints: the objects that make OCM's operator run
// the work image.
func RenderHub() ([]*unstructured.Unstructured, error) {
	return render("hub")
}

func render(dir string) ([]*unstructured.Unstructured, error) {
	copied, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, files); err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	return Kustomize(filepath.Join(copied, dir))
}

// Kustomize returns the objects of a directory in the order of `kubectl apply -k`.
func Kustomize(dir string) ([]*unstructured.Unstructured, error) {
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &resource.FilenameOptions{Kustomize: dir}).Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(infos))
	for _, info := range infos {
		objects = append(objects, info.Object.(*unstructured.Unstructured)) //nolint:forcetypeassert // The builder makes only this type.
	}
	return objects, nil
}
