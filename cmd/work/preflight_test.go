package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// lists starts an API server that serves only lists. The keys are the last parts of their paths. Any request except a GET fails the test.
func lists(t *testing.T, items map[string]string) (kubeconfig string) {
	t.Helper()
	kinds := map[string]string{
		"manifestworkreplicasets": "work.open-cluster-management.io/v1alpha1 ManifestWorkReplicaSetList",
		"manifestworks":           "meta.k8s.io/v1 PartialObjectMetadataList",
		"placementdecisions":      "cluster.open-cluster-management.io/v1beta1 PlacementDecisionList",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := filepath.Base(r.URL.Path)
		version, kind, known := strings.Cut(kinds[resource], " ")
		if !known || r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"` + version + `","kind":"` + kind + `","metadata":{},"items":[` + items[resource] + `]}`))
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub"}
	config.CurrentContext = "hub"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// runPreflight runs `work preflight`, and returns what it printed and its exit code.
func runPreflight(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"preflight"}, args...)...)
	cmd.Env = append(os.Environ(), runAsWork+"=1")
	printed, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return string(printed) + string(ended.Stderr), ended.ExitCode()
	}
	require.NoError(t, err)
	return string(printed), 0
}

// The exit code tells a script whether OCM's hub may take over: 0 if it may, 1 if problems must be resolved first, 2 if this is unknown.
func TestPreflight(t *testing.T) {
	const paused = `{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSet",` +
		`"metadata":{"namespace":"team-a","name":"web"},"spec":{"paused":true}}`
	clean := lists(t, nil)
	out, code := runPreflight(t, "--leaving", "--kubeconfig="+clean)
	require.Zero(t, code, out)
	require.Contains(t, out, "checked 0 ManifestWorkReplicaSets and 0 ManifestWorks, found 0")

	found := lists(t, map[string]string{"manifestworkreplicasets": paused})
	out, code = runPreflight(t, "--leaving", "--kubeconfig="+found)
	require.Equal(t, 1, code, out)
	require.Regexp(t, `(?m)^Error +Paused +team-a/web +it is paused: OCM's hub ignores spec.paused`, out)
	require.Regexp(t, `(?m)^ +before: put the template that the clusters have into the spec`, out)

	out, code = runPreflight(t, "--leaving", "--kubeconfig="+found, "-o=json")
	require.Equal(t, 1, code, out)
	report := struct {
		Checked  map[string]int
		Findings []map[string]string
	}{}
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&report), out)
	require.Equal(t, map[string]int{"manifestWorkReplicaSets": 1, "manifestWorks": 0}, report.Checked)
	require.Equal(t, []string{"Error", "Paused", "team-a/web"},
		[]string{report.Findings[0]["severity"], report.Findings[0]["reason"], report.Findings[0]["object"]})

	for _, args := range [][]string{
		{}, {"--leaving", "-o=yaml"}, {"--no-such-flag"}, {"--leaving", "--kubeconfig=/not/there"}, {"--leaving", "word"},
		{"--leaving", "--kubeconfig=" + newMachine(t).kubeconfig}, // It has no such lists.
	} {
		out, code = runPreflight(t, args...)
		require.Equal(t, 2, code, "%v: %s", args, out)
	}
}
