package revision

import (
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
)

// TestComputeHash pins the hashes. A change to the hashes does not start a rollout, but a template that returns later gets a different
// name. So the hashes may change only with the types or the hash function itself.
func TestComputeHash(t *testing.T) {
	count := func(n int32) *int32 { return &n }
	full := `{"workload":{"manifests":[` + configMap + `]},"deleteOption":{"propagationPolicy":"Orphan"},
		"manifestConfigs":[{"resourceIdentifier":{"group":"","resource":"configmaps","namespace":"default","name":"web"},
		"feedbackScrapeType":"Watch","updateStrategy":{"type":"ServerSideApply"},
		"conditionRules":[{"condition":"Progressing","type":"CEL","celExpressions":["false"]}]}],
		"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"default","name":"robot"}}}}`
	for name, tc := range map[string]struct {
		template   *workv1.ManifestWorkSpec
		collisions *int32
		want       string
	}{
		"empty":               {template(), nil, "6cbb9db484"},
		"one manifest":        {template(configMap), nil, "86b6556c9f"},
		"one, no collisions":  {template(configMap), count(0), "59799584c5"},
		"one, one collision":  {template(configMap), count(1), "86b7d5df78"},
		"one, two collisions": {template(configMap), count(2), "6bfc59b945"},
		"two manifests":       {template(configMap, `{"kind":"Namespace"}`), nil, "7967795d85"},
		"everything":          {templateFrom(t, full), nil, "886b76f4d"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				if got := ComputeHash(tc.template, tc.collisions); got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			}
		})
	}
}
