package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
)

const customizations = "work.open-cluster-management.io_ManifestWorkReplicaSet"

// argoCD is the configuration of Argo CD in deploy/argocd.
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

// The ConfigMap has the same scripts as the files, which have the layout of Argo CD's own repository.
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

// toLua returns a value in the syntax of Lua.
func toLua(t *testing.T, value any) string {
	t.Helper()
	var items strings.Builder
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			fmt.Fprintf(&items, "[%q] = %s, ", key, toLua(t, child))
		}
	case []any:
		for _, child := range v {
			fmt.Fprintf(&items, "%s, ", toLua(t, child))
		}
	default:
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return string(text)
	}
	return "{" + items.String() + "}"
}

// toJSON is a Lua function. The items of a list have their numbers as keys.
const toJSON = `
function toJSON(value)
  if type(value) == "string" then return string.format("%q", value) end
  if type(value) ~= "table" then return tostring(value) end
  local items = {}
  for key, child in pairs(value) do table.insert(items, toJSON(tostring(key)) .. ":" .. toJSON(child)) end
  return "{" .. table.concat(items, ",") .. "}"
end
`

// run decodes the result of a script for an object.
func run(t *testing.T, script, object string, returned any) {
	t.Helper()
	parsed := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(object), &parsed))
	if parsed["spec"] == nil {
		parsed["spec"] = map[string]any{} // Argo CD has its own copy of each object.
	}
	file := filepath.Join(t.TempDir(), "script.lua")
	program := fmt.Sprintf("%s\nobj = %s\nfunction run()\n%s\nend\nprint(toJSON(run()))\n", toJSON, toLua(t, parsed), script)
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	output, err := exec.CommandContext(t.Context(), tooltest.Path(t, root, "lua", "glua"), file).CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, json.Unmarshal(output, returned), string(output))
}

// At each stage, Argo CD's health check agrees with kstatus.
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
			var health struct{ Status, Message string }
			run(t, script, tc.object, &health)
			require.Equal(t, tc.health, health.Status)
			require.Contains(t, health.Message, tc.message)
		})
	}
}

// Each stage offers the actions that have an effect.
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
			var actions map[string]struct{ Disabled *bool }
			run(t, script, tc.object, &actions)
			var enabled []string
			for action, options := range actions {
				if !*options.Disabled {
					enabled = append(enabled, action)
				}
			}
			require.ElementsMatch(t, tc.enabled, enabled)
		})
	}
}

// Each action changes one field, to a value that the API server accepts.
func TestActionsOfArgoCD(t *testing.T) {
	type changed struct {
		Spec   struct{ Paused *bool }
		Status struct{ AbortedTime *string }
	}
	const at = "2026-01-02T03:04:05Z"
	for _, definition := range readArgoCD(t).Actions.Definitions {
		object := changed{}
		run(t, definition.Action, `{metadata: {}, spec: {paused: true}, status: {abortedTime: "`+at+`"}}`, &object)
		require.Equal(t, definition.Name != "resume", *object.Spec.Paused, definition.Name)
		switch aborted := object.Status.AbortedTime; definition.Name {
		case "retry":
			require.Nil(t, aborted)
		case "abort":
			at, err := time.Parse(time.RFC3339, *aborted)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Minute)
		default:
			require.Equal(t, at, *aborted, definition.Name)
		}
	}
	object := changed{}
	run(t, readArgoCD(t).Actions.Definitions[2].Action, `{metadata: {}}`, &object)
	require.True(t, *object.Spec.Paused)
}
