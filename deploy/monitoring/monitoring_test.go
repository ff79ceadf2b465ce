package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
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
			require.False(t, seen[r.Alert], "%s exists twice", r.Alert)
			seen[r.Alert] = true
			require.NoError(t, e.check(r.Expr), r.Alert)
			require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
	require.NotEmpty(t, seen)
}

// Prometheus's own tool confirms that the alerts fire when they should. Each alert has such a test.
func TestAlertsFire(t *testing.T) {
	tests, err := os.ReadFile("testdata/rules_test.yaml")
	require.NoError(t, err)
	spec := rules(t)
	for _, group := range spec.Groups {
		for _, r := range group.Rules {
			require.Contains(t, string(tests), "        alertname: "+r.Alert+"\n        exp_alerts:", "no test makes it fire")
		}
	}
	promtool := tooltest.Path(t, "../..", "promtool", "promtool")
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

// The kustomization names every other file of its directory.
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
