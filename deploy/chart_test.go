package deploy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"open-cluster-management.io/ocm/pkg/operator/helpers/chart"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/docs"
)

const (
	// workImage is the image in the values of the pages.
	workImage = "registry.example.com/work:v1.0.0"
	// valuesFile is the values file of the pages, for Helm and for clusteradm.
	valuesFile = "../docs/examples/cluster-manager-values.yaml"
)

// clusterManager renders the chart of the linked OCM as clusteradm does, with its own objects as values, and returns the ClusterManager.
func clusterManager(t *testing.T, config *chart.ClusterManagerChartConfig) *operatorv1.ClusterManager {
	t.Helper()
	_, objects, err := chart.RenderClusterManagerChart(t.Context(), config, "open-cluster-management")
	require.NoError(t, err)
	for _, content := range objects {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, object))
		if object.GetKind() == "ClusterManager" {
			manager := &operatorv1.ClusterManager{}
			require.NoError(t, yaml.UnmarshalStrict(content, manager))
			return manager
		}
	}
	require.Fail(t, "the chart creates no ClusterManager")
	return nil
}

// values overlays a configuration with the values file of the pages, as `clusteradm --cluster-manager-values-file` does. A key that the
// chart does not know is an error here, but Helm and clusteradm silently ignore it.
func values(t *testing.T, config *chart.ClusterManagerChartConfig) *chart.ClusterManagerChartConfig {
	t.Helper()
	content, err := os.ReadFile(valuesFile)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, config))
	return config
}

// upgrade returns the values that `clusteradm upgrade clustermanager` renders for a hub: the images of the release, and the
// configurations of the ClusterManager.
func upgrade(manager *operatorv1.ClusterManager, release string) *chart.ClusterManagerChartConfig {
	config := chart.NewDefaultClusterManagerChartConfig()
	config.Images = chart.ImagesConfig{Registry: "quay.io/open-cluster-management", Tag: release}
	if manager.Spec.RegistrationConfiguration != nil {
		config.ClusterManager.RegistrationConfiguration = *manager.Spec.RegistrationConfiguration
	}
	if manager.Spec.WorkConfiguration != nil {
		config.ClusterManager.WorkConfiguration = *manager.Spec.WorkConfiguration
	}
	return config
}

// The values of the pages name the image and the feature gate, and leave everything else to OCM's chart. Each upgrade with them keeps
// both.
func TestChartKeepsTheImage(t *testing.T) {
	manager := clusterManager(t, values(t, chart.NewDefaultClusterManagerChartConfig()))
	for _, release := range []string{"", "v1.2.1", "v1.3.1"} {
		if release != "" {
			manager = clusterManager(t, values(t, upgrade(manager, release)))
			require.Equal(t, "quay.io/open-cluster-management/registration:"+release, manager.Spec.RegistrationImagePullSpec)
			require.Equal(t, "quay.io/open-cluster-management/placement:"+release, manager.Spec.PlacementImagePullSpec)
		}
		require.Equal(t, workImage, manager.Spec.WorkImagePullSpec, release)
		require.Equal(t, []operatorv1.FeatureGate{{Feature: "ManifestWorkReplicaSet", Mode: operatorv1.FeatureGateModeTypeEnable}},
			manager.Spec.WorkConfiguration.FeatureGates, release)
		require.Equal(t, operatorv1.WorkDriverType("kube"), manager.Spec.WorkConfiguration.WorkDriver, "the chart's own value stays")
	}
}

// An upgrade without the values file replaces the image, and keeps the feature gate: OCM's hub runs.
func TestChartTakesTheImage(t *testing.T) {
	before := clusterManager(t, values(t, chart.NewDefaultClusterManagerChartConfig()))
	after := clusterManager(t, upgrade(before, "v1.2.1"))
	require.Equal(t, "quay.io/open-cluster-management/work:v1.2.1", after.Spec.WorkImagePullSpec)
	require.Equal(t, before.Spec.WorkConfiguration, after.Spec.WorkConfiguration)
}

// An upgrade without a values file does not enable a disabled feature gate.
func TestChartKeepsTheGateOff(t *testing.T) {
	before := clusterManager(t, values(t, chart.NewDefaultClusterManagerChartConfig()))
	before.Spec.WorkConfiguration.FeatureGates[0].Mode = operatorv1.FeatureGateModeTypeDisable
	after := clusterManager(t, upgrade(before, "v1.2.1"))
	require.Equal(t, before.Spec.WorkConfiguration, after.Spec.WorkConfiguration)
}

// With a custom registry, which clusteradm 1.2 supports, all images of the hub come from that registry, including the work image.
func TestChartTakesARegistry(t *testing.T) {
	config := chart.NewDefaultClusterManagerChartConfig()
	config.Images = chart.ImagesConfig{Registry: "registry.example.com/hub", Tag: "v1.2.1"}
	manager := clusterManager(t, config)
	require.Equal(t, "registry.example.com/hub/work:v1.2.1", manager.Spec.WorkImagePullSpec)
	require.Equal(t, "registry.example.com/hub/registration:v1.2.1", manager.Spec.RegistrationImagePullSpec)
}

// The values in the objects for Argo CD and Flux on the page name the image and the gate, too.
func TestGitOpsPage(t *testing.T) {
	blocks, err := docs.Fenced("..")
	require.NoError(t, err)
	rendered := map[string]string{}
	for _, block := range blocks {
		if block.Page != "docs/install.md" || block.Language != "yaml" {
			continue
		}
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(block.Text), object), block.Where())
		found, _, _ := unstructured.NestedMap(object.Object, "spec", "values")
		if found == nil {
			found, _, _ = unstructured.NestedMap(object.Object, "spec", "source", "helm", "valuesObject")
		}
		if found == nil {
			continue
		}
		content, err := yaml.Marshal(found)
		require.NoError(t, err)
		config := chart.NewDefaultClusterManagerChartConfig()
		require.NoError(t, yaml.UnmarshalStrict(content, config), block.Where())
		manager := clusterManager(t, config)
		require.Equal(t, "ManifestWorkReplicaSet", manager.Spec.WorkConfiguration.FeatureGates[0].Feature, block.Where())
		require.NotEmpty(t, manager.Spec.RegistrationConfiguration.AutoApproveUsers, block.Where())
		rendered[object.GetKind()] = manager.Spec.WorkImagePullSpec
	}
	require.Equal(t, map[string]string{"Application": workImage, "HelmRelease": workImage}, rendered)
}
