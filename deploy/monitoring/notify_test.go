package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
)

// TestAlertmanagerRecipe: the configuration in docs/gitops.md sends the alert of an abort to the receiver for rollouts, and no other alert.
func TestAlertmanagerRecipe(t *testing.T) {
	page, err := os.ReadFile("../../docs/gitops.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(route:\n.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	file := filepath.Join(t.TempDir(), "alertmanager.yaml")
	require.NoError(t, os.WriteFile(file, block[1], 0o600))
	alerts, err := Files.ReadFile("rules.yaml")
	require.NoError(t, err)
	amtool := tooltest.Path(t, "../..", "promtool", "amtool")
	run := func(args ...string) string {
		output, err := exec.CommandContext(t.Context(), amtool, args...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	run("check-config", file)
	for alert, receiver := range map[string]string{"ManifestWorkReplicaSetRolloutAborted": "rollouts", "ManifestWorkReplicaSetRolloutStalled": "default"} {
		require.Contains(t, string(alerts), "alert: "+alert+"\n")
		require.Equal(t, receiver+"\n", run("config", "routes", "test", "--config.file="+file, "alertname="+alert, "mwrs_namespace=default", "name=web"))
	}
}
