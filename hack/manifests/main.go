// Command manifests writes the manifests of a release, which name its image:
//
//	go run ./hack/manifests -version v1.0.0 -image registry.example.com/work:v1.0.0@sha256:... -out dir
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

func main() {
	version := flag.String("version", "", "version of the release")
	image := flag.String("image", "", "reference of the image, with its digest")
	out := flag.String("out", "", "directory of the files")
	flag.Parse()
	if err := write(*version, *image, *out); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

// write writes three files: install.yaml has the objects that the image needs on any hub, hub.yaml has the ClusterManager with the image,
// and beside-ocm.yaml has everything that a hub beside OCM needs. hub.yaml is separate, because another tool may own the ClusterManager.
func write(version, image, out string) error {
	base, err := deploy.RenderBase()
	if err != nil {
		return err
	}
	hub, err := deploy.RenderHub()
	if err != nil {
		return err
	}
	for _, object := range hub {
		if err := unstructured.SetNestedField(object.Object, image, "spec", "workImagePullSpec"); err != nil {
			return fmt.Errorf("naming the image in %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	beside, err := deploy.RenderChart("deploy/chart", deploy.ChartNamespace, map[string]any{"image": image})
	if err != nil {
		return err
	}
	for name, objects := range map[string][]*unstructured.Unstructured{"install.yaml": base, "hub.yaml": hub, "beside-ocm.yaml": beside} {
		if err := manifest(filepath.Join(out, name), version, objects); err != nil {
			return err
		}
	}
	return nil
}

// manifest writes objects to a file for kubectl.
func manifest(path, version string, objects []*unstructured.Unstructured) error {
	var file bytes.Buffer
	fmt.Fprintf(&file, "# work-rollback %s\n# kubectl apply --server-side --force-conflicts -f %s\n", version, filepath.Base(path))
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		file.WriteString("---\n")
		file.Write(document)
	}
	return os.WriteFile(path, file.Bytes(), 0o644)
}
