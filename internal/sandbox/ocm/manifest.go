// Package ocm reads the manifests that the ClusterManager operator applies, as the OCM release that is linked into this build ships them.
package ocm

import (
	"fmt"

	"github.com/openshift/library-go/pkg/assets"
	appsv1 "k8s.io/api/apps/v1"
	"open-cluster-management.io/ocm/manifests"
	"sigs.k8s.io/yaml"
)

// Values are the values that the operator fills in, by the names of its own configuration. Values is a map, because OCM's struct has
// different fields in each release.
type Values map[string]any

// Defaults returns the values of a hub that `clusteradm init` created: Default mode, the work driver kube, and the operator's default ports
// and TLS version, which apply unless the ClusterManager or the ConfigMap ocm-tls-profile overrides them.
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

// Render fills in a file of the operator, relative to its directory cluster-manager, and decodes it.
func Render(file string, values Values, into any) error {
	text, err := manifests.ClusterManagerManifestFiles.ReadFile("cluster-manager/" + file)
	if err != nil {
		return fmt.Errorf("looking for a manifest of OCM's operator: %w", err)
	}
	// library-go panics if a template uses a value that Defaults lacks. In that case, OCM has renamed a value.
	filled := assets.MustCreateAssetFromTemplate(file, text, map[string]any(values))
	if err := yaml.Unmarshal(filled.Data, into); err != nil {
		return fmt.Errorf("decoding %s of OCM's operator: %w", file, err)
	}
	return nil
}

// The operator's files for works.
const (
	WorkDeployment    = "management/work/deployment.yaml"
	WebhookDeployment = "management/work/webhook-deployment.yaml"
)

// Arguments returns the arguments of the container of a Deployment, including the binary "/work".
func Arguments(file string, values Values) ([]string, error) {
	deployment := &appsv1.Deployment{}
	if err := Render(file, values, deployment); err != nil {
		return nil, err
	}
	if len(deployment.Spec.Template.Spec.Containers) != 1 {
		return nil, fmt.Errorf("%s of OCM's operator has %d containers: check what else it runs", file, len(deployment.Spec.Template.Spec.Containers))
	}
	return deployment.Spec.Template.Spec.Containers[0].Args, nil
}
