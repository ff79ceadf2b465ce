package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

// reference returns the image by its version and its digest. A kubelet pulls by the digest alone.
func (r *release) reference(digest string) string { return imageName + ":" + r.version + "@" + digest }

// install writes install.yaml, the parts that the image needs on any hub, and hub.yaml, the ClusterManager with the image. On some hubs,
// another tool owns the ClusterManager. It also writes beside-ocm.yaml, with everything that a hub beside OCM needs.
func (r *release) install(digest string) error {
	base, err := deploy.RenderBase()
	if err != nil {
		return err
	}
	if err := r.manifest("install.yaml", base); err != nil {
		return err
	}
	hub, err := deploy.RenderHub()
	if err != nil {
		return err
	}
	for _, object := range hub {
		if err := unstructured.SetNestedField(object.Object, r.reference(digest), "spec", "workImagePullSpec"); err != nil {
			return fmt.Errorf("naming the image in %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if err := r.manifest("hub.yaml", hub); err != nil {
		return err
	}
	beside, err := deploy.RenderChart("deploy/chart", deploy.ChartNamespace, map[string]any{"image": r.reference(digest)})
	if err != nil {
		return err
	}
	return r.manifest("beside-ocm.yaml", beside)
}

// manifest writes objects into a file for kubectl.
func (r *release) manifest(name string, objects []*unstructured.Unstructured) error {
	var file bytes.Buffer
	fmt.Fprintf(&file, "# work-rollback %s\n# kubectl apply --server-side --force-conflicts -f %s\n", r.version, name)
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		file.WriteString("---\n")
		file.Write(document)
	}
	return os.WriteFile(filepath.Join(r.out, name), file.Bytes(), 0o644)
}
