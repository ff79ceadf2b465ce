package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"open-cluster-management.io/ocm/manifests"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/monitoring"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// controllerRevisions is the role that the README gives to the hub's ServiceAccount in addition to OCM's.
const controllerRevisions = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: controllerrevisions}
rules:
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: controllerrevisions}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: controllerrevisions}
subjects: [{kind: ServiceAccount, namespace: open-cluster-management-hub, name: work-controller-sa}]
`

// The hub that OCM's operator runs serves its metrics to the Prometheus of deploy/monitoring, and to no other client. It has the
// permissions from the operator and from deploy/monitoring.
func TestPrometheusReadsTheEndpoint(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "endpoint")
	for _, namespace := range []string{sandbox.HubNamespace, "monitoring"} {
		require.NoError(t, w.fleet.Namespace(t.Context(), namespace))
	}
	role, err := monitoring.Files.ReadFile("rbac.yaml")
	require.NoError(t, err)
	w.apply(t, string(role))
	w.apply(t, controllerRevisions)
	for _, name := range []string{"clusterrole.yaml", "clusterrolebinding.yaml"} {
		w.apply(t, ocmManifest(t, "cluster-manager/hub/work/"+name))
	}
	address := w.startAs(t, "system:serviceaccount:"+sandbox.HubNamespace+":work-controller-sa", "system:serviceaccounts")

	eventually(t, "Prometheus reads the metrics of a hub that runs", func() error {
		code, body := scrape(t, address, w.token(t, sandbox.HubNamespace, "mwrs-metrics-reader"))
		if code != http.StatusOK || !strings.Contains(body, "mwrs_controller_running 1\n") {
			return fmt.Errorf("%d: %d bytes", code, len(body))
		}
		for _, metric := range []string{"mwrs_reconciles_total", "workqueue_depth", "rest_client_requests_total", "process_cpu_seconds_total"} {
			require.Contains(t, body, metric)
		}
		return nil
	})
	code, _ := scrape(t, address, w.token(t, "default", "somebody"))
	require.Equal(t, http.StatusForbidden, code)
	code, _ = scrape(t, address, "")
	require.Equal(t, http.StatusForbidden, code)
	code, _ = scrape(t, address, "made-up")
	require.Equal(t, http.StatusUnauthorized, code)
}

// startAs runs the binary as a user, and returns the address of its endpoint.
func (w *world) startAs(t *testing.T, user string, groups ...string) string {
	t.Helper()
	directory := t.TempDir()
	binary := hubBinary(t)
	config, err := w.plane.UserConfig(user, groups...)
	require.NoError(t, err)
	kubeconfig := filepath.Join(directory, "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, "hub", config))
	port, err := process.FreePort()
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	child, err := env.Group.Start(process.Command{Name: "measured-work-hub", Path: binary, Args: []string{
		"manager", "--kubeconfig=" + kubeconfig, "--namespace=" + sandbox.HubNamespace, "--feature-gates=ManifestWorkReplicaSet=true",
		"--disable-leader-election", "--listen=" + address,
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = child.Kill() })
	require.NoError(t, child.WaitReady(t.Context(), time.Minute, func(context.Context) error {
		if code, body := get(t, "https://"+address+"/healthz", ""); code != http.StatusOK {
			return errors.New(body)
		}
		return nil
	}))
	return address
}

func scrape(t *testing.T, address, token string) (code int, body string) {
	t.Helper()
	return get(t, "https://"+address+"/metrics", token)
}

// get trusts any certificate, as deploy/monitoring does: the hub creates its own certificate at each start.
func get(t *testing.T, url, token string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(content)
}

// token creates a token of a ServiceAccount, as its Pods have it.
func (w *world) token(t *testing.T, namespace, name string) string {
	t.Helper()
	accounts := w.kube.CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		_, err = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	answer, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return answer.Status.Token
}

// ocmManifest renders a manifest as OCM's operator does for the ClusterManager "cluster-manager".
func ocmManifest(t *testing.T, path string) string {
	t.Helper()
	content, err := manifests.ClusterManagerManifestFiles.ReadFile(path)
	require.NoError(t, err)
	parsed, err := texttemplate.New(path).Parse(string(content))
	require.NoError(t, err)
	var rendered strings.Builder
	require.NoError(t, parsed.Execute(&rendered, map[string]any{
		"ClusterManagerName": "cluster-manager", "ClusterManagerNamespace": sandbox.HubNamespace, "Labels": map[string]string{},
	}))
	return rendered.String()
}

// apply creates the RBAC objects in a file, except those that already exist.
func (w *world) apply(t *testing.T, content string) {
	t.Helper()
	for document := range strings.SplitSeq(content, "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		resource := object.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(object.GetKind()) + "s")
		_, err := w.dynamic.Resource(resource).Namespace(object.GetNamespace()).Create(t.Context(), object, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	}
}
