package story

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The versions of the story. They are only image tags.
const (
	version1 = "v1"
	version2 = "v2-broken"
	version3 = "v3"
)

// deploymentNamespace is where the workload is on each managed cluster.
const deploymentNamespace = "default"

// webYAML is the workload. The other two variables replace its strategy: see sample.
var (
	//go:embed web.yaml
	webYAML string
	//go:embed one-by-one.yaml
	oneByOne string
	//go:embed canary.yaml
	canaryFirst string
)

// sample returns the YAML of the workload in a version.
func sample(version, strategy string) string {
	return strings.NewReplacer("${VERSION}", version, "${STRATEGY}", strategy).Replace(webYAML)
}

// replicaSet returns the workload in a version.
func replicaSet(version string) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := yaml.UnmarshalStrict([]byte(sample(version, oneByOne)), mwrs); err != nil {
		return nil, fmt.Errorf("decoding the workload of the demo: %w", err)
	}
	return mwrs, nil
}

// WriteSamples writes the workload in each version of the story to a directory and returns the files in order. The last one is the good
// version again, for a Placement with a decision group "canary".
func WriteSamples(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of the samples: %w", err)
	}
	var files []string
	for _, content := range []struct{ name, text string }{
		{version1, sample(version1, oneByOne)}, {version2, sample(version2, oneByOne)}, {version3, sample(version3, oneByOne)},
		{version3 + "-canary", sample(version3, canaryFirst)},
	} {
		file := filepath.Join(dir, "web-"+content.name+".yaml")
		if err := os.WriteFile(file, []byte(content.text), 0o644); err != nil {
			return nil, fmt.Errorf("writing a sample: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

// versionOfTemplate returns the image tag in a template; empty if the template has no Deployment.
func versionOfTemplate(template workv1.ManifestWorkSpec) string {
	for _, manifest := range template.Workload.Manifests {
		deployment := &appsv1.Deployment{}
		if json.Unmarshal(manifest.Raw, deployment) == nil && deployment.Kind == "Deployment" {
			return versionOfPods(deployment.Spec.Template.Spec.Containers[0].Image)
		}
	}
	return ""
}

func versionOfPods(image string) string {
	return image[strings.LastIndexByte(image, ':')+1:]
}

// templateOf returns the template that a revision recorded.
func templateOf(revision *appsv1.ControllerRevision) (workv1.ManifestWorkSpec, error) {
	var data struct {
		Spec struct {
			ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return workv1.ManifestWorkSpec{}, fmt.Errorf("decoding the revision %s: %w", revision.Name, err)
	}
	return data.Spec.ManifestWorkTemplate, nil
}
