package docs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"open-cluster-management.io/ocm/pkg/operator/helpers/chart"
	"sigs.k8s.io/yaml"
)

// upgradeOCM changes the ClusterManager as `clusteradm upgrade clustermanager` does: it renders OCM's chart with the configuration of the
// ClusterManager, and applies the result like `kubectl apply`. A values file overrides the configuration.
func (h *hub) upgradeOCM(t *testing.T, release, valuesFile string) {
	t.Helper()
	manager := &operatorv1.ClusterManager{}
	require.NoError(t, yaml.Unmarshal([]byte(h.shell(t, "kubectl get clustermanager cluster-manager -o yaml")), manager))
	config := chart.NewDefaultClusterManagerChartConfig()
	config.Images = chart.ImagesConfig{Registry: "quay.io/open-cluster-management", Tag: release}
	if manager.Spec.RegistrationConfiguration != nil {
		config.ClusterManager.RegistrationConfiguration = *manager.Spec.RegistrationConfiguration
	}
	config.ClusterManager.WorkConfiguration = *manager.Spec.WorkConfiguration
	// clusteradm init always sets a resource requirement, but the ClusterManager of this test has none.
	config.ClusterManager.ResourceRequirement.Type = operatorv1.ResourceQosClassDefault
	if valuesFile != "" {
		content, err := os.ReadFile(filepath.Join(h.clone, valuesFile))
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(content, config))
	}
	_, objects, err := chart.RenderClusterManagerChart(t.Context(), config, "open-cluster-management")
	require.NoError(t, err)
	for _, content := range objects {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, object))
		if object.GetKind() == "ClusterManager" {
			h.shell(t, "kubectl apply -f - <<'EOF'\n"+string(content)+"\nEOF\n")
		}
	}
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	require.Equal(t, "quay.io/open-cluster-management/registration:"+release, h.imageOf(t, "cluster-manager-registration-controller"))
}

// runsSince is the process of this hub, and the state of the clusters, before an upgrade of OCM.
type runsSince struct {
	process     any
	generations map[string]int64
}

var beforeUpgrade runsSince

// upgradesWithValues: this hub keeps running during an upgrade with the values file of the pages.
func (h *hub) upgradesWithValues(t *testing.T) {
	process, generations := h.work.Process(), h.generations(t)
	h.upgradeOCM(t, "v1.2.1", "docs/examples/cluster-manager-values.yaml")
	require.Equal(t, "registry.example.com/work:v1.0.0", h.imageOf(t, "cluster-manager-work-controller"))
	require.Same(t, process, h.work.Process())
	ended, _ := process.Exited()
	require.False(t, ended)
	require.Equal(t, generations, h.generations(t))
}

// imageOf returns the image of one of the operator's Deployments.
func (h *hub) imageOf(t *testing.T, deployment string) string {
	t.Helper()
	return h.shell(t, "kubectl -n open-cluster-management-hub get deployment "+deployment+
		" -o jsonpath='{.spec.template.spec.containers[0].image}'")
}

func (h *hub) namesThisHub(t *testing.T, output string) {
	require.Equal(t, "registry.example.com/work:v1.0.0\n", output)
	require.Contains(t, h.shell(t, "kubectl explain mwrs.status.abortedTime"), "abortedTime is the time")
}

// upgradesWithoutValues: the gate is off, so the Deployment would have OCM's image, but nothing runs it.
func (h *hub) upgradesWithoutValues(t *testing.T, _ string) {
	child := h.work.Process()
	beforeUpgrade = runsSince{process: child, generations: h.generations(t)}
	eventually(t, "the work hub ends", func() error {
		if ended, _ := child.Exited(); !ended {
			return errors.New("it runs")
		}
		return nil
	})
	h.upgradeOCM(t, "v1.2.1", "")
	require.Equal(t, "quay.io/open-cluster-management/work:v1.2.1",
		h.shell(t, "kubectl get clustermanager cluster-manager -o jsonpath='{.spec.workImagePullSpec}'"))
	require.Empty(t, h.shell(t, "kubectl -n open-cluster-management-hub get deployment cluster-manager-work-controller --ignore-not-found -o name"),
		"nothing runs OCM's work hub")
}

// goesOnAfterTheUpgrade: this hub is the next hub that runs, and no cluster was affected.
func (h *hub) goesOnAfterTheUpgrade(t *testing.T, _ string) {
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	eventually(t, "the work hub runs again", func() error {
		if ended, _ := h.work.Process().Exited(); ended || any(h.work.Process()) == beforeUpgrade.process {
			return errors.New("it does not")
		}
		return nil
	})
	require.Equal(t, "registry.example.com/work:v1.0.0", h.imageOf(t, "cluster-manager-work-controller"))
	h.isEverywhere(t, "v1")
	require.Equal(t, beforeUpgrade.generations, h.generations(t))
}
