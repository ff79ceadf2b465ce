package monitoring

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// serviceMonitor has the fields that deploy/monitoring sets, and no others.
type serviceMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Scheme        string `json:"scheme"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Authorization struct {
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
			TLSConfig struct {
				InsecureSkipVerify bool `json:"insecureSkipVerify"`
			} `json:"tlsConfig"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// Prometheus finds the pods by the labels and the port of the service. It keeps its own labels, and reads none of its own files: if
// namespaces are enforced, Prometheus rejects a ServiceMonitor with bearerTokenFile, and ignores honorLabels.
func TestServiceMonitorFindsTheService(t *testing.T) {
	var service corev1.Service
	content, err := Files.ReadFile("service.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, &service))
	var monitor serviceMonitor
	content, err = Files.ReadFile("servicemonitor.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, &monitor))
	require.Equal(t, service.Namespace, monitor.Metadata.Namespace)
	require.Equal(t, service.Labels, monitor.Spec.Selector.MatchLabels)
	require.Len(t, monitor.Spec.Endpoints, 1)
	endpoint := monitor.Spec.Endpoints[0]
	require.Equal(t, service.Spec.Ports[0].Name, endpoint.Port)
	require.Equal(t, "https", endpoint.Scheme)

	token := secret(t)
	require.Equal(t, corev1.SecretTypeServiceAccountToken, token.Type)
	require.Equal(t, monitor.Metadata.Namespace, token.Namespace)
	require.Equal(t, token.Name, endpoint.Authorization.Credentials.Name)
	require.Equal(t, corev1.ServiceAccountTokenKey, endpoint.Authorization.Credentials.Key)
}

// secret returns the Secret of rbac.yaml.
func secret(t *testing.T) (token corev1.Secret) {
	t.Helper()
	content, err := Files.ReadFile("rbac.yaml")
	require.NoError(t, err)
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var kind struct {
			Kind string `json:"kind"`
		}
		require.NoError(t, yaml.Unmarshal(document, &kind))
		if kind.Kind == "Secret" {
			require.NoError(t, yaml.UnmarshalStrict(document, &token))
		}
	}
	return token
}
