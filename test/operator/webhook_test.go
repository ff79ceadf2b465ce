package operator

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
)

// runsTheWebhook sends the requests from an API server to the webhook server, which runs as the operator's Deployment. The operator
// registers the webhook only when all its Deployments are ready, including those that do not run here. An API server would find the webhook
// by a Service, which is not reachable here. So the test follows the two configurations itself.
func (h *hub) runsTheWebhook(t *testing.T) {
	ctx := t.Context()
	deployment, err := h.Kube.AppsV1().Deployments(sandbox.HubNamespace).Get(ctx, sandbox.WorkWebhook, metav1.GetOptions{})
	require.NoError(t, err)
	pod := deployment.Spec.Template.Spec
	require.Equal(t, "work-webhook-sa", pod.ServiceAccountName)
	require.Equal(t, "registry.example.com/work:v1.0.0", pod.Containers[0].Image, "what deploy/ names")
	require.Equal(t, h.rendered(t, ocm.WebhookDeployment), pod.Containers[0].Args)
	command, err := sandbox.PodCommand(ctx, h.Env.Group, h.Plane.APIServer, deployment, "/bin/true")
	require.NoError(t, err)
	require.Contains(t, command.Env, "TMPDIR="+filepath.Join(h.Env.Group.Path(h.Plane.Name, "pods", deployment.Name), "tmp"))
	require.NoError(t, h.webhook.Healthy(ctx))

	theirs, ours := h.configurations(t)
	for _, configuration := range []admissionregistrationv1.WebhookClientConfig{theirs, ours} {
		service, err := h.Kube.CoreV1().Services(configuration.Service.Namespace).Get(ctx, configuration.Service.Name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, *configuration.Service.Port, service.Spec.Ports[0].Port)
	}

	const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`
	work := func(manifests, more string) string {
		return fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","spec":{"workload":{"manifests":[%s]}%s}}`, manifests, more)
	}
	answer := h.ask(t, theirs, "manifestworks", "v1", "ManifestWork", work(manifest, ""))
	require.True(t, answer.Allowed, "%v", answer.Result)
	answer = h.ask(t, theirs, "manifestworks", "v1", "ManifestWork", work("", ""))
	require.False(t, answer.Allowed)
	require.Contains(t, answer.Result.Message, "manifests should not be empty")
	// This request requires a permission of the ServiceAccount: to check the permissions of others.
	answer = h.ask(t, theirs, "manifestworks", "v1", "ManifestWork",
		work(manifest, `,"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"default","name":"admin"}}}`))
	require.False(t, answer.Allowed)
	require.Contains(t, answer.Result.Message, "jane is not allowed to use the executor system:serviceaccount:default:admin")

	good := web(t, "v1", true)
	answer = h.ask(t, ours, "manifestworkreplicasets", "v1alpha1", "ManifestWorkReplicaSet", encode(t, good))
	require.True(t, answer.Allowed, "%v", answer.Result)
	empty := good.DeepCopy()
	empty.Spec.ManifestWorkTemplate.Workload.Manifests = nil
	answer = h.ask(t, ours, "manifestworkreplicasets", "v1alpha1", "ManifestWorkReplicaSet", encode(t, empty))
	require.False(t, answer.Allowed)
	require.Contains(t, answer.Result.Message, "manifests should not be empty")
}

// configurations returns the client configurations of the webhooks: the operator's, filled in as the operator does, and this project's, as
// the work controller fills it in.
func (h *hub) configurations(t *testing.T) (theirs, ours admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	bundle, err := h.Kube.CoreV1().ConfigMaps(sandbox.HubNamespace).Get(t.Context(), "ca-bundle-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	ca := []byte(bundle.Data["ca-bundle.crt"])

	values := ocm.Defaults()
	// Releases before 1.3 fill in the CA of the registration webhook, which is the same.
	encoded := base64.StdEncoding.EncodeToString(ca)
	values["RegistrationAPIServiceCABundle"], values["WorkAPIServiceCABundle"] = encoded, encoded
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, ocm.Render("hub/work/webhook-validatingconfiguration.yaml", values, configuration))
	theirs = configuration.Webhooks[0].ClientConfig

	registered := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(webhooks.ReplicaSets, registered))
	registered.ResourceVersion = "1"
	patch, err := registration.Follow(configuration, registered)
	require.NoError(t, err)
	var operations []struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	require.NoError(t, json.Unmarshal(patch, &operations))
	require.Equal(t, "/webhooks/0/clientConfig", operations[1].Path)
	require.NoError(t, json.Unmarshal(operations[1].Value, &ours))
	return theirs, ours
}

// ask sends a review of the creation of an object, by a user without permissions, to the address in a configuration. It uses TLS as an API
// server does.
func (h *hub) ask(t *testing.T, client admissionregistrationv1.WebhookClientConfig, resource, version, kind, object string) *admissionv1.AdmissionResponse {
	t.Helper()
	const group = "work.open-cluster-management.io"
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "asked", Namespace: namespace, Name: name, Operation: admissionv1.Create,
			Kind:     metav1.GroupVersionKind{Group: group, Version: version, Kind: kind},
			Resource: metav1.GroupVersionResource{Group: group, Version: version, Resource: resource},
			Object:   runtime.RawExtension{Raw: []byte(object)}, UserInfo: authenticationv1.UserInfo{Username: "jane"},
		},
	}
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(client.CABundle))
	host := fmt.Sprintf("%s.%s.svc", client.Service.Name, client.Service.Namespace)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, h.webhook.Address())
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+host+*client.Service.Path,
		bytes.NewReader([]byte(encode(t, review))))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	answered, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	defer answered.Body.Close()
	require.Equal(t, http.StatusOK, answered.StatusCode)
	require.NoError(t, json.NewDecoder(answered.Body).Decode(review))
	require.NotNil(t, review.Response)
	return review.Response
}

func encode(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}
