package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// runAsWork makes this test binary behave like the product's binary.
const runAsWork = "WORK_TEST_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsWork) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = time.Minute

// machine starts `work` as a separate process: the commands handle signals and end the process.
type machine struct {
	group *process.Group
	// kubeconfig connects to an almost empty hub.
	kubeconfig string
	// certificates is a directory with a certificate for the webhook.
	certificates string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	group, err := process.NewGroup("work-command-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, group.Stop(context.WithoutCancel(t.Context()))) })
	m := &machine{group: group, kubeconfig: group.Path("kubeconfig"), certificates: group.Path("serving-certs")}

	hub := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(hub.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.URL}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub"}
	config.CurrentContext = "hub"
	require.NoError(t, clientcmd.WriteToFile(*config, m.kubeconfig))

	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(m.certificates, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(m.certificates, "tls.crt"), certificate, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(m.certificates, "tls.key"), key, 0o600))
	return m
}

// answer simulates an API server that has only the objects that library-go's server requests before it listens, and the reviews of tokens
// that /metrics requests.
func answer(w http.ResponseWriter, r *http.Request) {
	const name = "extension-apiserver-authentication"
	if answerAboutToken(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/configmaps/"+name) || strings.HasSuffix(r.URL.Path, "/namespaces/kube-system/configmaps") {
		item := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}}
		item.APIVersion, item.Kind = "v1", "ConfigMap"
		if strings.HasSuffix(r.URL.Path, name) {
			_ = json.NewEncoder(w).Encode(item)
			return
		}
		list := corev1.ConfigMapList{Items: []corev1.ConfigMap{item}}
		list.APIVersion, list.Kind = "v1", "ConfigMapList"
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound, Message: r.URL.Path + " is not there",
	})
}

func (m *machine) start(t *testing.T, name string, args ...string) *process.Process {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	child, err := m.group.Start(process.Command{
		Name: name, Path: binary, Args: args, Env: []string{runAsWork + "=1", "KUBECONFIG=" + m.kubeconfig}, Abrupt: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = child.Kill() })
	return child
}

// serves starts `work` with arguments and flags for free ports, and returns the ports when it serves. Another process can take a free
// port in the meantime, so a process that ends at once is started again.
func (m *machine) serves(
	t *testing.T, name string, args []string, flags func(ports []int) []string, ready func(ports []int) string,
) (*process.Process, []int) {
	t.Helper()
	var err error
	for range 3 {
		ports := make([]int, 3)
		for i := range ports {
			ports[i], err = process.FreePort()
			require.NoError(t, err)
		}
		child := m.start(t, name, append(args, flags(ports)...)...)
		url := ready(ports)
		if err = child.WaitReady(t.Context(), patience, func(ctx context.Context) error { return isOK(ctx, url) }); err == nil {
			return child, ports
		}
	}
	require.NoError(t, err)
	return nil, nil
}

// serveManager runs `work manager` and returns the address of its only port.
func (m *machine) serveManager(t *testing.T, name string, args ...string) (*process.Process, string) {
	t.Helper()
	child, ports := m.serves(t, name, args, func(ports []int) []string {
		return []string{fmt.Sprintf("--listen=127.0.0.1:%d", ports[0]), "--kubeconfig=" + m.kubeconfig, "--namespace=hub"}
	}, func(ports []int) string { return fmt.Sprintf("https://127.0.0.1:%d/healthz", ports[0]) })
	return child, fmt.Sprintf("127.0.0.1:%d", ports[0])
}

// serveWebhook runs `work webhook-server` and returns the addresses of the webhooks, and of health and metrics unless flags set them.
func (m *machine) serveWebhook(t *testing.T, name string, args ...string) (child *process.Process, webhooks, health, metrics string) {
	t.Helper()
	child, ports := m.serves(t, name, args, func(ports []int) []string {
		return []string{
			fmt.Sprintf("--port=%d", ports[0]), fmt.Sprintf("--health-probe-port=%d", ports[1]), fmt.Sprintf("--metrics-port=%d", ports[2]),
			"--kubeconfig=" + m.kubeconfig, "--certdir=" + m.certificates,
		}
	}, func(ports []int) string { return fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]) })
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	return child, address(0), address(1), address(2)
}

// anybody accepts every certificate: the identity of the server is not part of these tests.
var anybody = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true,
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
}}

// isOK returns an error if url doesn't answer 200.
func isOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := anybody.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
