// Package ocm reads the manifests that the ClusterManager operator applies, as the OCM release that is linked into this build ships them.
package ocm

import (
	"fmt"

	"github.com/openshift/library-go/pkg/assets"
	appsv1 "k8s.io/api/apps/v1"
	"open-cluster-management.io/ocm/manifests"
	"sigs.k8s.io/yaml"
)

// Values are what the operator fills in, by the names of its own configuration. It is no struct of OCM's, because that one has other fields
// in each release.
type Values map[string]any

// Defaults are the values of a hub that `clusteradm init` made: Default mode, the work driver kube, and the ports and the TLS version
// that the operator takes where the ClusterManager and the ConfigMap ocm-tls-profile say nothing.
func Defaults() Values {
	webhook := map[string]any{"Port": 9443, "HealthProbePort": 8000, "MetricsPort": 8080, "HostNetwork": false}
	return Values{
		"ClusterManagerName": "cluster-manager", "ClusterManagerNamespace": "open-cluster-management-hub", "Replica": 1,
		"Labels": map[string]string{}, "ResourceRequirementResourceType": "Default", "WorkImage": "quay.io/open-cluster-management/work",
		"RegistrationWebhook": webhook, "WorkWebhook": webhook, "RegistrationAPIServiceCABundle": "", "WorkAPIServiceCABundle": "",
		"ImagePullSecret": "", "HostedMode": false, "WorkFeatureGates": []string{},
		"CloudEventsDriverEnabled": false, "WorkDriver": "kube", "TLSMinVersion": "VersionTLS12", "TLSCipherSuites": "",
	}
}

// Render fills in a file of the operator's, relative to its directory cluster-manager, and decodes it.
func Render(file string, values Values, into any) error {
	text, err := manifests.ClusterManagerManifestFiles.ReadFile("cluster-manager/" + file)
	if err != nil {
		return fmt.Errorf("looking for a manifest of OCM's operator: %w", err)
	}
	// library-go panics where a template asks for what Defaults lacks: OCM has renamed a value.
	filled := assets.MustCreateAssetFromTemplate(file, text, map[string]any(values))
	if err := yaml.Unmarshal(filled.Data, into); err != nil {
		return fmt.Errorf("decoding %s of OCM's operator: %w", file, err)
	}
	return nil
}

// Files of the operator that are about works.
const (
	WorkDeployment    = "management/work/deployment.yaml"
	WebhookDeployment = "management/work/webhook-deployment.yaml"
)

// Arguments returns those of the container of a Deployment, the binary "/work" among them.
func Arguments(file string, values Values) ([]string, error) {
	deployment := &appsv1.Deployment{}
	if err := Render(file, values, deployment); err != nil {
		return nil, err
	}
	if len(deployment.Spec.Template.Spec.Containers) != 1 {
		return nil, fmt.Errorf("%s of OCM's operator has %d containers: look at what else it runs", file, len(deployment.Spec.Template.Spec.Containers))
	}
	return deployment.Spec.Template.Spec.Containers[0].Args, nil
}
