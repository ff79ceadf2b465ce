package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// healthCheck is the script that docs/gitops.md gives Argo CD.
func healthCheck(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs/gitops.md"))
	require.NoError(t, err)
	blocks, err := Blocks("docs/gitops.md", string(content))
	require.NoError(t, err)
	for _, block := range blocks {
		var object struct {
			Kind string            `json:"kind"`
			Data map[string]string `json:"data"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(block.Text), &object), block.Where())
		if object.Kind == "ConfigMap" {
			return object.Data["resource.customizations.health.work.open-cluster-management.io_ManifestWorkReplicaSet"]
		}
	}
	return ""
}

// toLua makes what Argo CD gives a script of an object.
func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, child := range v {
			table.RawSetString(key, toLua(state, child))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, child := range v {
			table.Append(toLua(state, child))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// Argo CD comes to what kstatus comes to, at each stage.
func TestHealthCheckOfArgoCD(t *testing.T) {
	script := healthCheck(t)
	require.NotEmpty(t, script)
	for name, tc := range map[string]struct{ object, health, message string }{
		"no hub has seen it": {`{metadata: {generation: 1}, status: {observedGeneration: -1}}`, "Progressing", "not observed"},
		"no status":          {`{metadata: {generation: 1}}`, "Progressing", "not observed"},
		"complete":           {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Progressing, status: "False"}]}}`, "Healthy", ""},
		"rolling out": {
			`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Reconciling, status: "True", message: 1 waiting}]}}`, "Progressing", "1 waiting",
		},
		"aborted": {
			`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", message: was aborted}]}}`, "Degraded", "was aborted",
		},
		"a new template after an abort": {
			`{metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", message: was aborted}]}}`, "Progressing", "not observed",
		},
		"being deleted": {`{metadata: {generation: 2, deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {observedGeneration: 2}}`, "Progressing", "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tc.object), &object))
			state := lua.NewState()
			defer state.Close()
			state.SetGlobal("obj", toLua(state, object))
			require.NoError(t, state.DoString(script))
			health, ok := state.Get(-1).(*lua.LTable)
			require.True(t, ok)
			require.Equal(t, tc.health, health.RawGetString("status").String())
			require.Contains(t, health.RawGetString("message").String(), tc.message)
		})
	}
}
