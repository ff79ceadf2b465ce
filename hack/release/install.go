package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

// install writes install.yaml: what a hub needs besides the image. The ClusterManager is the administrator's.
func (r *release) install() error {
	objects, err := deploy.Render()
	if err != nil {
		return err
	}
	var file bytes.Buffer
	fmt.Fprintf(&file, "# work-rollback %s: apply with kubectl apply --server-side --force-conflicts -f install.yaml\n", r.version)
	for _, object := range objects {
		if object.GetKind() == "ClusterManager" {
			continue
		}
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		file.WriteString("---\n")
		file.Write(document)
	}
	return os.WriteFile(filepath.Join(r.out, "install.yaml"), file.Bytes(), 0o644)
}
