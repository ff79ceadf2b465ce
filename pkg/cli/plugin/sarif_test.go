package plugin

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/jsonpath"
)

// goodSet is a set without an error, after another object. twoSets has a set with an error, too.
const goodSet = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: good, namespace: default}
spec:
  placementRefs: [{name: production, rolloutStrategy: {type: All, all: {progressDeadline: 10m}}}]
  manifestWorkTemplate:
    workload:
      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}]
`

const twoSets = goodSet + `---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: bad, namespace: default}
spec:
  placementRefs:
  - name: production
    rolloutStrategy:
      type: All
      all:
        minSuccessTime: 0s
        progressDeadline: ten minutes
  manifestWorkTemplate:
    workload:
      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}]
`

// pick returns the values at a path of a JSON text.
func pick(t *testing.T, text, path string) string {
	t.Helper()
	var value bytes.Buffer
	var read any
	require.NoError(t, json.Unmarshal([]byte(text), &read), text)
	found := jsonpath.New("test")
	require.NoError(t, found.Parse("{"+path+"}"))
	require.NoError(t, found.Execute(&value, read))
	return value.String()
}

// TestSARIF: the log has the members that SARIF 2.1.0 requires, and a result has the line of its field in the file.
func TestSARIF(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.yaml")
	require.NoError(t, os.WriteFile(file, []byte(twoSets), 0o600))
	code, out, errs := lintOf(t, "", "-f", file, "-o", "sarif")
	require.Equal(t, 1, code, errs)
	require.Equal(t, "2.1.0", pick(t, out, ".version"))
	require.Contains(t, out, `"$schema": "https://`)
	require.Equal(t, "kubectl-mwrs", pick(t, out, ".runs[*].tool.driver.name"))
	const result, place = ".runs[*].results[*]", ".runs[*].results[*].locations[*].physicalLocation"
	rule := pick(t, out, result+".ruleId")
	require.Regexp(t, `^FieldValue\w+/spec\.placementRefs\.rolloutStrategy\.all\.progressDeadline$`, rule)
	require.Equal(t, rule, pick(t, out, ".runs[*].tool.driver.rules["+pick(t, out, result+".ruleIndex")+"].id"))
	require.Equal(t, "error", pick(t, out, result+".level"))
	require.Contains(t, pick(t, out, result+".message.text"), "default/bad: spec.placementRefs[0]")
	require.Equal(t, "24", pick(t, out, place+".region.startLine"))
	require.Equal(t, "file://"+filepath.Dir(file)+"/a%20b.yaml", pick(t, out, place+".artifactLocation.uri"))
}

// TestSARIFWithoutFindings: an empty list is [], because SARIF's results is an array.
func TestSARIFWithoutFindings(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&output{}).print(&options{IOStreams: genericiooptions.IOStreams{Out: &out}}, sarifOf(nil)))
	require.Contains(t, out.String(), `"results": []`)
	require.Contains(t, out.String(), `"rules": []`)
}

func TestURIOf(t *testing.T) {
	for file, uri := range map[string]string{"-": "stdin", "./a/web.yaml": "a/web.yaml", "a#b.yaml": "a%23b.yaml"} {
		require.Equal(t, uri, uriOf(file))
	}
}
