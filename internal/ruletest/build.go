// Package ruletest has objects for the tests of admission: a valid object, and objects that break each rule.
package ruletest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Flawless is a ManifestWorkReplicaSet without errors or warnings.
const Flawless = `
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: web, namespace: default}
spec:
  cascadeDeletionPolicy: Background
  revisionHistoryLimit: 10
  placementRefs:
  - name: first
    rolloutStrategy:
      type: Progressive
      failureStrategy: AbortAll
      progressive: {maxConcurrency: 1, maxFailures: 10%, progressDeadline: 10m, minSuccessTime: 30s}
  - name: second
    rolloutStrategy:
      type: All
      all: {maxFailures: 0, progressDeadline: 5m, minSuccessTime: "0"}
  manifestWorkTemplate:
    manifestConfigs:
    - resourceIdentifier: {group: "", resource: configmaps, namespace: '*', name: '*'}
      conditionRules:
      - {condition: Progressing, type: CEL, celExpressions: ["false"]}
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}
`

// Edit changes an object in place.
type Edit func(t testing.TB, object map[string]any)

// Build returns a valid object after the edits.
func Build(t testing.TB, edits ...Edit) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(Flawless))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(data))
	for _, edit := range edits {
		edit(t, object.Object)
	}
	return object
}

// Set sets the field at a path such as "spec.placementRefs.0.name" to a value in YAML. An empty value removes the field.
func Set(path, value string) Edit {
	return func(t testing.TB, object map[string]any) {
		t.Helper()
		var parsed any
		if value != "" {
			data, err := yaml.YAMLToJSON([]byte("value: " + value))
			require.NoError(t, err)
			var wrapped map[string]any
			require.NoError(t, json.Unmarshal(data, &wrapped))
			parsed = wrapped["value"]
		}
		place(t, object, strings.Split(path, "."), parsed)
	}
}

func place(t testing.TB, in any, path []string, value any) any {
	t.Helper()
	if len(path) == 0 {
		return value
	}
	switch in := in.(type) {
	case []any:
		index := int(path[0][0] - '0')
		if index == len(in) {
			in = append(in, nil)
		}
		in[index] = place(t, in[index], path[1:], value)
		return in
	case map[string]any:
		if in[path[0]] = place(t, in[path[0]], path[1:], value); in[path[0]] == nil {
			delete(in, path[0])
		}
		return in
	case nil:
		return place(t, map[string]any{}, path, value)
	default:
		require.Fail(t, "no such path", "%v in %v", path, in)
		return nil
	}
}
