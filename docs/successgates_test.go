package docs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
	"sigs.k8s.io/yaml"
)

const (
	running = "Progressing"
	good    = "good"
	bad     = "bad"
)

// TestGateRules evaluates the condition rules of docs/success-gates.md with OCM's own code: each object is in progress, good or bad.
func TestGateRules(t *testing.T) {
	reader, err := conditions.NewConditionReader()
	require.NoError(t, err)
	rules := gateRules(t)
	for name, tc := range map[string]struct {
		resource, object string
		// result is running, good or bad, and message is part of the message of the gate.
		result, message string
	}{
		"job: just applied":                   {"jobs", `{}`, running, "no result yet"},
		"job: runs":                           {"jobs", `{status: {active: 1}}`, running, "no result yet"},
		"job: about to fail":                  {"jobs", `{status: {conditions: [{type: FailureTarget, status: "True"}]}}`, running, "no result yet"},
		"job: complete":                       {"jobs", `{status: {conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`, good, "passed"},
		"job: failed":                         {"jobs", `{status: {conditions: [{type: Failed, status: "True", message: no checkout}]}}`, bad, "no checkout"},
		"job: suspended":                      {"jobs", `{status: {conditions: [{type: Suspended, status: "True"}]}}`, running, ""},
		"application: no status":              {"applications", `{spec: {source: {targetRevision: v2}}}`, running, "no status yet"},
		"application: of the earlier version": {"applications", application("v1", "Synced", "Healthy", ""), running, ""},
		"application: syncs":                  {"applications", application("v2", "OutOfSync", "Healthy", ""), running, ""},
		"application: progresses":             {"applications", application("v2", "Synced", "Progressing", ""), running, ""},
		"application: healthy":                {"applications", application("v2", "Synced", "Healthy", ""), good, "sync: Synced, health: Healthy"},
		"application: degraded":               {"applications", application("v2", "Synced", "Degraded", ""), bad, "health: Degraded"},
		"application: the sync failed": {
			"applications", application("v2", "OutOfSync", "Healthy", `operationState: {phase: Failed, syncResult: {source: {targetRevision: v2}}}`), bad, "sync: OutOfSync",
		},
		"application: the earlier sync failed": {
			"applications", application("v2", "OutOfSync", "Healthy", `operationState: {phase: Failed, syncResult: {source: {targetRevision: v1}}}`), running, "",
		},
		"release: no status":                    {"helmreleases", `{metadata: {generation: 2}}`, running, "no status yet"},
		"release: of the earlier version":       {"helmreleases", flux(1, "Ready", "True", "UpgradeSucceeded"), running, ""},
		"release: reconciles":                   {"helmreleases", flux(2, "Ready", "Unknown", "Progressing"), running, ""},
		"release: failed, retries":              {"helmreleases", flux(2, "Ready", "False", "UpgradeFailed"), running, ""},
		"release: ready":                        {"helmreleases", flux(2, "Ready", "True", "UpgradeSucceeded"), good, "it is so"},
		"release: stalled":                      {"helmreleases", flux(2, "Stalled", "True", "RetriesExhausted"), bad, ""},
		"kustomization: of the earlier version": {"kustomizations", flux(1, "Ready", "True", "ReconciliationSucceeded"), running, ""},
		"kustomization: waits":                  {"kustomizations", flux(2, "Ready", "False", "DependencyNotReady"), running, ""},
		"kustomization: ready":                  {"kustomizations", flux(2, "Ready", "True", "ReconciliationSucceeded"), good, "it is so"},
		"kustomization: unhealthy":              {"kustomizations", flux(2, "Ready", "False", "HealthCheckFailed"), bad, "it is so"},
		"rollout: no status":                    {"rollouts", `{metadata: {generation: 2}}`, running, "no status yet"},
		"rollout: of the earlier version":       {"rollouts", `{metadata: {generation: 2}, status: {observedGeneration: "1", phase: Healthy}}`, running, ""},
		"rollout: paused":                       {"rollouts", `{metadata: {generation: 2}, status: {observedGeneration: "2", phase: Paused}}`, running, "Paused"},
		"rollout: healthy":                      {"rollouts", `{metadata: {generation: 2}, status: {observedGeneration: "2", phase: Healthy}}`, good, "Healthy"},
		"rollout: degraded": {
			"rollouts", `{metadata: {generation: 2}, status: {observedGeneration: "2", phase: Degraded, message: the analysis failed}}`, bad, "Degraded: the analysis failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			content, err := yaml.YAMLToJSON([]byte(tc.object))
			require.NoError(t, err)
			content = []byte(strings.Replace(string(content), "{", `{"apiVersion":"v1","kind":"Sample",`, 1))
			content = []byte(strings.Replace(string(content), ",}", "}", 1))
			require.NoError(t, object.UnmarshalJSON(content))
			found := reader.EvaluateConditions(t.Context(), object, rules[tc.resource])
			require.Len(t, found, 2)
			result := bad
			switch {
			case meta.IsStatusConditionTrue(found, running):
				result = running
				require.False(t, meta.IsStatusConditionTrue(found, found[1].Type) && tc.resource != "applications", "a gate is not True yet")
			case found[1].Status == metav1.ConditionTrue:
				result = good
			}
			require.Equal(t, tc.result, result, "%+v", found)
			for _, condition := range found {
				require.Equal(t, workv1.ConditionRuleEvaluated, condition.Reason, condition.Message)
			}
			require.Contains(t, found[1].Message, tc.message)
		})
	}
}

// application is an Application for v2 that was compared with a target revision.
func application(compared, sync, health, more string) string {
	return `{spec: {source: {targetRevision: v2}}, status: {sync: {status: ` + sync + `, comparedTo: {source: {targetRevision: ` + compared +
		`}}}, health: {status: ` + health + `}, ` + more + `}}`
}

// flux is an object of Flux, of generation 2, with a condition about a generation.
func flux(generation int, conditionType, status, reason string) string {
	return `{metadata: {generation: 2}, status: {conditions: [{type: ` + conditionType + `, status: "` + status + `", reason: ` + reason +
		`, message: it is so, observedGeneration: ` + string(rune('0'+generation)) + `}]}}`
}

// gateRules returns the rules of the page by resource: the first is about Progressing, the second about the gate.
func gateRules(t *testing.T) map[string][]workv1.ConditionRule {
	t.Helper()
	rules := map[string][]workv1.ConditionRule{}
	for _, block := range fenced(t) {
		if block.Page != "docs/success-gates.md" {
			continue
		}
		template := workv1.ManifestWorkSpec{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(block.Text), &template), block.Where())
		for _, config := range template.ManifestConfigs {
			require.Equal(t, workv1.ManifestProgressing, config.ConditionRules[0].Condition)
			rules[config.ResourceIdentifier.Resource] = config.ConditionRules
		}
	}
	require.Len(t, rules, 5)
	return rules
}
