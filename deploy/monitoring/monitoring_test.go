package monitoring

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// rule is an alert of a PrometheusRule.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleSpec struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

func rules(t *testing.T) (spec ruleSpec) {
	t.Helper()
	content, err := Files.ReadFile("rules.yaml")
	require.NoError(t, err)
	var object struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   any      `json:"metadata"`
		Spec       ruleSpec `json:"spec"`
	}
	require.NoError(t, yaml.UnmarshalStrict(content, &object))
	require.Equal(t, "PrometheusRule", object.Kind)
	return object.Spec
}

func TestAlertsReadWhatIsExported(t *testing.T) {
	e := exported(t)
	seen := map[string]bool{}
	for _, group := range rules(t).Groups {
		for _, r := range group.Rules {
			require.False(t, seen[r.Alert], "%s is there twice", r.Alert)
			seen[r.Alert] = true
			require.NoError(t, e.check(r.Expr), r.Alert)
			require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
	require.NotEmpty(t, seen)
}

// The alerts fire when they should, by Prometheus's own tool, and each of them has such a test.
func TestAlertsFire(t *testing.T) {
	tests, err := os.ReadFile("testdata/rules_test.yaml")
	require.NoError(t, err)
	spec := rules(t)
	for _, group := range spec.Groups {
		for _, r := range group.Rules {
			require.Contains(t, string(tests), "        alertname: "+r.Alert+"\n        exp_alerts:", "no test lets it fire")
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed, it comes with Prometheus: apt-get install prometheus")
	}
	directory := t.TempDir()
	content, err := yaml.Marshal(spec)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "rules.yaml"), content, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "rules_test.yaml"), tests, 0o600))
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = directory
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
}

type panel struct {
	Title   string `json:"title"`
	Type    string `json:"type"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func TestDashboardReadsWhatIsExported(t *testing.T) {
	e := exported(t)
	content, err := Files.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		UID    string  `json:"uid"`
		Panels []panel `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(content, &dashboard))
	require.Equal(t, "mwrs", dashboard.UID)
	shown := 0
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Title)
		for _, target := range p.Targets {
			shown++
			require.NoError(t, e.check(target.Expr), p.Title)
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
	}
	require.Greater(t, shown, 10)
	for name := range e {
		if strings.HasPrefix(name, "mwrs_") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			require.Contains(t, string(content), name, "no panel shows it")
		}
	}
}

// What the kustomization names is there, and everything that is there is named.
func TestKustomizationNamesEveryFile(t *testing.T) {
	content, err := Files.ReadFile("kustomization.yaml")
	require.NoError(t, err)
	entries, err := Files.ReadDir(".")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() != "kustomization.yaml" {
			require.Contains(t, string(content), entry.Name())
		}
	}
}

// Prometheus finds the pods by the labels and the port of the service, and keeps the labels of the metrics.
func TestServiceMonitorFindsTheService(t *testing.T) {
	var service corev1.Service
	content, err := Files.ReadFile("service.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, &service))
	var monitor struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Spec struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			Endpoints []struct {
				Port        string `json:"port"`
				Scheme      string `json:"scheme"`
				HonorLabels bool   `json:"honorLabels"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	content, err = Files.ReadFile("servicemonitor.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, &monitor))
	require.Equal(t, service.Namespace, monitor.Metadata.Namespace)
	require.Equal(t, service.Labels, monitor.Spec.Selector.MatchLabels)
	require.Len(t, monitor.Spec.Endpoints, 1)
	require.Equal(t, service.Spec.Ports[0].Name, monitor.Spec.Endpoints[0].Port)
	require.Equal(t, "https", monitor.Spec.Endpoints[0].Scheme)
	require.True(t, monitor.Spec.Endpoints[0].HonorLabels, "the label namespace would be the pod's")
}
