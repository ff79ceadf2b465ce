package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

// TestUnknown: a field that the type lacks is found at any depth, with the name that was probably meant. Manifests may have any field.
func TestUnknown(t *testing.T) {
	const text = kind + `
metadata: {name: a, lables: {a: b}, labels: {any: key}, annotations: {x.y/z: w}}
spec:
  pause: true
  somethingElse: 1
  placementRefs:
  - name: p
    rolloutStrategy:
      type: All
      all: {progresDeadline: 10m, MinSuccessTime: 5m, maxFailures: 10%}
  manifestWorkTemplate:
    manifestConfigs:
    - resourceIdentifier: {resource: pods, name: a, kind: Pod}
    workload:
      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, lables: {}}, anything: true}]
statuss: {}
status: {fieldOfALaterRelease: 1}
`
	found := map[string]string{}
	for set, err := range Sets(strings.NewReader(text)) {
		require.NoError(t, err)
		for _, unknown := range set.Unknown() {
			found[unknown.Path.String()] = unknown.Hint
		}
	}
	const all = "spec.placementRefs[0].rolloutStrategy.all."
	require.Equal(t, map[string]string{
		"metadata.lables": "labels", "spec.pause": "paused", "spec.somethingElse": "", "statuss": "status",
		all + "progresDeadline": "progressDeadline", all + "MinSuccessTime": "minSuccessTime",
		"spec.manifestWorkTemplate.manifestConfigs[0].resourceIdentifier.kind": "",
	}, found)
}

// TestUnknownHasABudget: what unknown fields cost is proportional to their size.
func TestUnknownHasABudget(t *testing.T) {
	var text strings.Builder
	text.WriteString(set("a") + "  " + strings.Repeat("x", 1000) + ": 1\n")
	for i := range 50_000 {
		fmt.Fprintf(&text, "  placementRef%d: 1\n", i)
	}
	budget.Within(t, 20*time.Second, 500<<20, func() {
		for set, err := range Sets(strings.NewReader(text.String())) {
			require.NoError(t, err)
			require.Len(t, set.Unknown(), 50_001)
		}
	})
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{{"", ""}: 0, {"a", ""}: 1, {"pause", "paused"}: 1, {"lables", "labels"}: 2, {"abc", "xbd"}: 2} {
		require.Equal(t, want, distance(pair[0], pair[1]), pair)
		require.Equal(t, want, distance(pair[1], pair[0]), pair)
	}
}
