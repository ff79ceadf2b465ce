package plugin

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
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

// TestSARIF: the log has the members that SARIF 2.1.0 requires, and a result has the line of its field in the file.
func TestSARIF(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.yaml")
	require.NoError(t, os.WriteFile(file, []byte(twoSets), 0o600))
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{"lint", "-f", file, "-o", "sarif"}, genericiooptions.IOStreams{Out: &out, ErrOut: &errs})
	require.Equal(t, 1, code, errs.String())
	var log sarifLog
	require.NoError(t, json.Unmarshal(out.Bytes(), &log), out.String())
	require.Equal(t, "2.1.0", log.Version)
	require.NotEmpty(t, log.Schema)
	require.Len(t, log.Runs, 1)
	driver, results := log.Runs[0].Tool.Driver, log.Runs[0].Results
	require.Equal(t, "kubectl-mwrs", driver.Name)
	require.Len(t, results, 1, out.String())
	result := results[0]
	require.Equal(t, result.RuleID, driver.Rules[result.RuleIndex].ID)
	require.Regexp(t, `^FieldValue\w+/spec\.placementRefs\.rolloutStrategy\.all\.progressDeadline$`, result.RuleID)
	require.Equal(t, "error", result.Level)
	require.Contains(t, result.Message.Text, "default/bad: spec.placementRefs[0]")
	place := result.Locations[0].Physical
	require.Equal(t, 24, place.Region.StartLine)
	require.Equal(t, "file://"+filepath.Dir(file)+"/a%20b.yaml", place.Artifact.URI)
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
