package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/hostiletest"
)

// lintOf runs lint with a text on standard input.
func lintOf(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	return mwrs(t, in, append([]string{"lint"}, args...)...)
}

// TestLintUnknownField: a field that an API server drops is an error.
func TestLintUnknownField(t *testing.T) {
	misspelled := strings.Replace(twoSets, "progressDeadline: ten minutes", "progresDeadline: 10m", 1)
	code, out, errs := lintOf(t, misspelled, "-f", "-")
	require.Equal(t, 1, code, errs)
	require.Equal(t, "-: default/bad: error: spec.placementRefs[0].rolloutStrategy.all.progresDeadline: unknown field\n", out)
	_, out, _ = lintOf(t, misspelled, "-f", "-", "-o", "sarif")
	require.Contains(t, out, `"ruleId": "UnknownField"`)
	require.Contains(t, out, `"startLine": 24`)

	many := strings.Replace(twoSets, "minSuccessTime: 0s", "a0: 1\n        a1: 1\n        a2: 1\n        a3: 1\n"+
		"        a4: 1\n        a5: 1\n        a6: 1\n        a7: 1\n        a8: 1\n        a9: 1\n        b0: 1\n        b1: 1", 1)
	_, out, _ = lintOf(t, many, "-f", "-")
	require.Contains(t, out, "a9: unknown field\n-: default/bad: error: 2 more unknown fields are not listed here\n")
}

// TestLintRuleForNoManifest: lint has the webhook's rule about manifestConfigs.
func TestLintRuleForNoManifest(t *testing.T) {
	file := strings.Replace(twoSets, "ten minutes", "10m", 1) + "    manifestConfigs:\n    - resourceIdentifier: {group: apps, resource: deployments, namespace: shop, name: web}\n"
	code, out, errs := lintOf(t, file, "-f", "-")
	require.Equal(t, 1, code, errs)
	require.Equal(t, "-: default/bad: error: spec.manifestWorkTemplate.manifestConfigs[0].resourceIdentifier: Invalid value: "+
		"deployments.apps shop/web matches no manifest, so its rules and settings have no effect: use one of configmaps shop/web, or remove the entry\n", out)
}

// TestLintContinues: a broken document is an error in every format, and the other documents and files are still checked.
func TestLintContinues(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("a: b: c\n---\n"+twoSets), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.json"), []byte("{"), 0o600))
	code, out, errs := lintOf(t, "", "-f", dir)
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, "a.yaml: error: line 1: mapping values are not allowed in this context\n")
	require.Contains(t, out, "default/bad: error: spec.placementRefs[0]")
	require.Contains(t, out, "b.json: error: line 1: ")

	code, out, errs = lintOf(t, "", "-f", filepath.Join(dir, "b.json"), "-o", "sarif")
	require.Equal(t, 1, code, errs)
	require.Equal(t, "BrokenDocument 1", pick(t, out, ".runs[*].results[*].ruleId} {.runs[*].results[*].locations[*].physicalLocation.region.startLine"))
	require.True(t, strings.HasPrefix(pick(t, out, ".runs[*].results[*].message.text"), "line 1: "), out)
}

// TestLintPaths: -f accepts the same values as in kubectl: files, directories, patterns and standard input.
func TestLintPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.MkdirAll("all/deep", 0o700))
	for _, file := range []string{"one.yaml", "all/two.yml", "all/three.json", "all/README.md", "all/deep/four.yaml", "any.txt"} {
		require.NoError(t, os.WriteFile(file, []byte("kind: X\n---\n"+strings.ReplaceAll(twoSets, "bad", strings.ReplaceAll(file, "/", "-"))), 0o600))
	}
	require.NoError(t, syscall.Mkfifo("all/pipe.yaml", 0o600))
	files := func(args ...string) (found []string) {
		code, out, errs := lintOf(t, twoSets, args...)
		require.Equal(t, 1, code)
		for line := range strings.Lines(out + errs) {
			found = append(found, strings.SplitN(strings.TrimSpace(line), ": ", 2)[0])
		}
		return found
	}
	require.Equal(t, []string{"all/three.json", "all/two.yml"}, files("-f", "all"))
	require.Equal(t, []string{"all/deep/four.yaml", "all/three.json", "all/two.yml"}, files("-f", "all/", "-R"))
	require.Equal(t, []string{"one.yaml", "any.txt", "-"}, files("-f", "one.yaml,any.txt", "-f", "-"))
	require.Equal(t, []string{"any.txt", "one.yaml"}, files("-f", "*.[ty]*"))
	for path, message := range map[string]string{
		"nothing*": "error: nothing*: there is no such file or directory, and no file matches it as a pattern\n",
		"empty":    "error: empty: there is no file with one of the extensions .json, .yaml, .yml\n",
	} {
		require.NoError(t, os.MkdirAll("empty", 0o700))
		code, _, errs := lintOf(t, "", "-f", path)
		require.Equal(t, 1, code)
		require.Equal(t, message, errs)
	}
}

// TestLintOfStrangers: no name, path or text of a file injects a command into the log of a pipeline, in any format. SARIF has the unchanged
// path of the file in a URI.
func TestLintOfStrangers(t *testing.T) {
	t.Chdir(t.TempDir())
	const evil = "::error::x ##[error]y\n::error::z\x1b[2J\u202e"
	text, err := json.Marshal(evil)
	require.NoError(t, err)
	hostile := strings.NewReplacer("name: bad", "name: "+string(text), "ten minutes", string(text), "minSuccessTime: 0s", string(text)+": 1").Replace(twoSets)
	require.NoError(t, os.MkdirAll(evil, 0o700))
	file := filepath.Join(evil, evil+".yaml")
	require.NoError(t, os.WriteFile(file, []byte(hostile+"---\n"+string(text)+": "+string(text)+": x\n"), 0o600))
	for _, format := range []string{"", "json", "sarif"} {
		args := []string{"-R", "-f", "."}
		if format != "" {
			args = append(args, "-o", format)
		}
		code, out, errs := lintOf(t, "", args...)
		require.Equal(t, 1, code)
		hostiletest.Check(t, format, out+errs)
		require.NotContains(t, out+errs, "##[", format)
		require.Greater(t, strings.Count(out, `error]y`), 3, "the texts are there: %s", out)
		if format == "" {
			continue
		}
		var read any
		require.NoError(t, json.Unmarshal([]byte(out), &read))
		each(read, func(text string) {
			for line := range strings.Lines(text) {
				require.False(t, strings.HasPrefix(strings.TrimSpace(line), "::"), "%q", text)
				require.NotContains(t, text, "##[")
				require.NotContains(t, text, "\x1b")
			}
		})
	}
}

// each calls a function with each text of a JSON value.
func each(value any, do func(string)) {
	switch value := value.(type) {
	case string:
		do(value)
	case []any:
		for i := range value {
			each(value[i], do)
		}
	case map[string]any:
		for key := range value {
			do(key)
			each(value[key], do)
		}
	}
}

// TestLintAgainst: lint compares the objects with those before the change, and warns about irreversible effects.
func TestLintAgainst(t *testing.T) {
	file := strings.Replace(twoSets, "ten minutes", "10m", 1)
	before := filepath.Join(t.TempDir(), "before.yaml")
	require.NoError(t, os.WriteFile(before, []byte(strings.ReplaceAll(file, "kind: ConfigMap", "kind: PersistentVolumeClaim")), 0o600))
	code, out, errs := lintOf(t, file, "-f", "-", "--against", before)
	require.Zero(t, code, errs)
	require.Contains(t, out, "-: default/bad: warning: the rollout deletes PersistentVolumeClaim shop/web with its data, unless the reclaim policy of the volume is Retain")
	_, out, _ = lintOf(t, file, "-f", "-")
	require.NotContains(t, out, "PersistentVolumeClaim")

	require.NoError(t, os.WriteFile(before, []byte("a: b: c"), 0o600))
	code, _, errs = lintOf(t, file, "-f", "-", "--against", before)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--against: "+before+": line 1: ")
}
