package docs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

const customizations = "work.open-cluster-management.io_ManifestWorkReplicaSet"

// argoCD is what deploy/argocd gives Argo CD.
type argoCD struct {
	Health  string
	Actions struct {
		Discovery   string `json:"discovery.lua"`
		Definitions []struct {
			Name   string `json:"name"`
			Action string `json:"action.lua"`
		} `json:"definitions"`
	}
}

func readArgoCD(t *testing.T) (scripts argoCD) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "deploy/argocd/argocd-cm.yaml"))
	require.NoError(t, err)
	var patch struct {
		Data map[string]string `json:"data"`
	}
	require.NoError(t, yaml.UnmarshalStrict(content, &patch))
	require.Len(t, patch.Data, 2)
	scripts.Health = patch.Data["resource.customizations.health."+customizations]
	require.NoError(t, yaml.UnmarshalStrict([]byte(patch.Data["resource.customizations.actions."+customizations]), &scripts.Actions))
	return scripts
}

// The ConfigMap has the scripts of the files, which have the layout of Argo CD's own tree.
func TestScriptsOfArgoCD(t *testing.T) {
	scripts := readArgoCD(t)
	files := map[string]string{"health.lua": scripts.Health, "actions/discovery.lua": scripts.Actions.Discovery}
	for _, definition := range scripts.Actions.Definitions {
		files["actions/"+definition.Name+"/action.lua"] = definition.Action
	}
	require.Len(t, files, 6)
	for file, wanted := range files {
		content, err := os.ReadFile(filepath.Join(root, "deploy/argocd/ManifestWorkReplicaSet", file))
		require.NoError(t, err)
		require.Equal(t, string(content), wanted, file)
	}
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
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

// run returns what a script returns for an object.
func run(t *testing.T, script, object string) *lua.LTable {
	t.Helper()
	parsed := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(object), &parsed))
	if parsed["spec"] == nil {
		parsed["spec"] = map[string]any{} // The API server has one of each object.
	}
	state := lua.NewState()
	t.Cleanup(state.Close)
	state.SetGlobal("obj", toLua(state, parsed))
	require.NoError(t, state.DoString(script))
	returned, ok := state.Get(-1).(*lua.LTable)
	require.True(t, ok)
	return returned
}

// Argo CD comes to what kstatus comes to, at each stage.
func TestHealthCheckOfArgoCD(t *testing.T) {
	script := readArgoCD(t).Health
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
		"paused during a rollout": {
			`{metadata: {generation: 2}, spec: {paused: true}, status: {observedGeneration: 2, conditions: [{type: Reconciling, status: "True", message: 1 waits}]}}`,
			"Suspended", "1 waits",
		},
		"paused and complete": {`{metadata: {generation: 2}, spec: {paused: true}, status: {observedGeneration: 2}}`, "Healthy", ""},
		"paused and stalled": {
			`{metadata: {generation: 2}, spec: {paused: true}, status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", message: failed}]}}`,
			"Degraded", "failed",
		},
		"being deleted": {`{metadata: {generation: 2, deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {observedGeneration: 2}}`, "Progressing", "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			health := run(t, script, tc.object)
			require.Equal(t, tc.health, health.RawGetString("status").String())
			require.Contains(t, health.RawGetString("message").String(), tc.message)
		})
	}
}

// Each stage offers the actions that do something there.
func TestActionsOfArgoCDAreOffered(t *testing.T) {
	script := readArgoCD(t).Actions.Discovery
	for name, tc := range map[string]struct {
		object  string
		enabled []string
	}{
		"no status":          {`{metadata: {}}`, []string{"pause"}},
		"the first rollout":  {`{metadata: {}, status: {updateRevision: a}}`, []string{"pause"}},
		"complete":           {`{metadata: {}, status: {updateRevision: a, currentRevision: a}}`, []string{"pause"}},
		"rolling out":        {`{metadata: {}, status: {updateRevision: b, currentRevision: a}}`, []string{"abort", "pause"}},
		"aborted":            {`{metadata: {}, status: {updateRevision: b, currentRevision: a, abortedTime: t}}`, []string{"pause", "retry"}},
		"paused":             {`{metadata: {}, spec: {paused: true}, status: {updateRevision: b, currentRevision: a}}`, []string{"abort", "resume"}},
		"resumed":            {`{metadata: {}, spec: {paused: false}, status: {updateRevision: a, currentRevision: a}}`, []string{"pause"}},
		"paused and aborted": {`{metadata: {}, spec: {paused: true}, status: {updateRevision: b, currentRevision: a, abortedTime: t}}`, []string{"resume", "retry"}},
		"being deleted":      {`{metadata: {deletionTimestamp: t}, status: {updateRevision: b, currentRevision: a, abortedTime: t}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var enabled []string
			run(t, script, tc.object).ForEach(func(action, options lua.LValue) {
				if options.(*lua.LTable).RawGetString("disabled") == lua.LFalse {
					enabled = append(enabled, action.String())
				}
			})
			require.ElementsMatch(t, tc.enabled, enabled)
		})
	}
}

// Each action changes one field, to a value that the API server takes.
func TestActionsOfArgoCD(t *testing.T) {
	const object = `{metadata: {}, spec: {paused: true}, status: {abortedTime: "2026-01-02T03:04:05Z"}}`
	for _, definition := range readArgoCD(t).Actions.Definitions {
		changed := run(t, definition.Action, object)
		paused := changed.RawGetString("spec").(*lua.LTable).RawGetString("paused")
		aborted := changed.RawGetString("status").(*lua.LTable).RawGetString("abortedTime")
		require.Equal(t, lua.LBool(definition.Name != "resume"), paused, definition.Name)
		switch definition.Name {
		case "retry":
			require.Equal(t, lua.LNil, aborted)
		case "abort":
			at, err := time.Parse(time.RFC3339, aborted.String())
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Minute)
		default:
			require.Equal(t, "2026-01-02T03:04:05Z", aborted.String(), definition.Name)
		}
	}
	paused := run(t, readArgoCD(t).Actions.Definitions[2].Action, `{metadata: {}}`).RawGetString("spec").(*lua.LTable).RawGetString("paused")
	require.Equal(t, lua.LTrue, paused)
}
