package docs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/docs"
)

// The pages whose commands are run, in the order in which a user reads them: each page continues where the previous page ended. The broker
// comes last, because no ManifestWork survives the change to it.
var story = []string{
	"docs/install.md", "deploy/README.md", "docs/plugin.md", "docs/operations.md", "docs/concepts/decisions.md", "docs/safe-rollouts.md",
	"docs/runbook.md", "docs/rbac.md", "docs/upgrade.md", "docs/preserve.md", "docs/remove.md", "docs/cloudevents.md",
}

// TestCommands runs every block of commands that is not marked as requiring a real hub.
func TestCommands(t *testing.T) {
	blocks, err := docs.Fenced(root)
	require.NoError(t, err)
	for _, block := range blocks {
		if block.IsRun() {
			require.Contains(t, story, block.Page, "%s: no test runs the commands of this page", block.Where())
		}
	}
	h := newHub(t)
	steps := h.steps()
	for _, page := range story {
		for i := range blocks {
			block := &blocks[i]
			if block.Page != page || !block.IsRun() || t.Failed() {
				continue
			}
			t.Run(block.Where(), func(t *testing.T) { h.play(t, block, steps) })
		}
		if page == "docs/install.md" && !t.Failed() {
			t.Run("the YAML of the pages", h.acceptsYAML)
			t.Run("who may write revisions", h.trustsNobody)
		}
	}
	if !t.Failed() {
		require.Empty(t, steps, "steps that no page has")
	}
}

// play runs a block, and the checks for its name.
func (h *hub) play(t *testing.T, block *docs.Block, steps map[string]step) {
	var s step
	if name := block.Name(); name != "" {
		var known bool
		s, known = steps[name]
		require.True(t, known, "%s: there is no step %q", block.Where(), name)
		delete(steps, name)
	}
	if s.before != nil {
		s.before(t)
	}
	commands := block.Text
	if s.edit != nil {
		commands = s.edit(t, commands)
	}
	output := h.shell(t, commands)
	if s.after != nil {
		s.after(t, output)
	}
}

// acceptsYAML checks that the API server accepts every complete object in the pages. Nothing is stored.
func (h *hub) acceptsYAML(t *testing.T) {
	blocks, err := docs.Fenced(root)
	require.NoError(t, err)
	accepted := map[string]int{}
	for _, block := range blocks {
		if block.Language != "yaml" || block.Marker == docs.Foreign {
			continue
		}
		text := strings.ReplaceAll(block.Text, "{ … }", "{workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}}]}}")
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object), block.Where())
		kind, whole := object["kind"].(string)
		require.True(t, whole, "%s: write a whole object, so that it can be tried", block.Where())
		h.shell(t, "kubectl apply --dry-run=server --server-side --force-conflicts --field-manager=docs -f - <<'EOF'\n"+text+"EOF\n")
		accepted[kind]++
	}
	require.NotZero(t, accepted["ManifestWorkReplicaSet"])
}
