package ruletest

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// Sample is an object that breaks one rule.
type Sample struct {
	Name string
	Rule *rule.Rule
	// Old makes the object before an update; nil for a creation.
	Old []Edit
	// New makes the object.
	New []Edit
	// Schema is true if the schema of the CRD rejects the object first.
	Schema bool
}

const (
	first     = "spec.placementRefs.0"
	second    = "spec.placementRefs.1"
	strategy  = first + ".rolloutStrategy.progressive"
	template  = "spec.manifestWorkTemplate"
	manifests = template + ".workload.manifests"
	configs   = template + ".manifestConfigs"
)

// Refused are objects that are rejected, at least one for each rule that CEL can check.
func Refused() []Sample {
	return []Sample{
		{Name: "a name that is too long for the label", Rule: &rule.LongName, New: edits("metadata.name", strings.Repeat("n", 56))},
		{Name: "no manifests", Rule: &rule.NoManifests, New: edits(manifests, "[]")},
		{Name: "no template", Rule: &rule.NoManifests, New: edits(template, "")},
		{Name: "a manifest without a name", Rule: &rule.Unnamed, New: edits(manifests+".1.metadata.name", "")},
		{Name: "a manifest without metadata", Rule: &rule.Unnamed, New: edits(manifests+".1.metadata", "")},
		{Name: "a generated name", Rule: &rule.Generated, New: edits(manifests+".1.metadata.generateName", "b-")},
		{Name: "a manifest twice", Rule: &rule.Twice, New: edits(manifests+".1.metadata.name", "a")},
		{Name: "a cluster-scoped manifest twice", Rule: &rule.Twice, New: edits(manifests,
			"[{apiVersion: v1, kind: Namespace, metadata: {name: a}}, {apiVersion: v1, kind: Namespace, metadata: {name: a}}]", configs, "")},
		{Name: "a manifest in two versions", Rule: &rule.Twice, New: edits(manifests,
			"[{apiVersion: a/v1, kind: B, metadata: {name: a, namespace: bc}}, {apiVersion: a/v2, kind: B, metadata: {name: a, namespace: bc}}, "+
				"{apiVersion: a/v1, kind: B, metadata: {name: ca, namespace: b}}]", configs, "")},
		{Name: "an executor without an account", Rule: &rule.NoAccount, New: edits(template+".executor", "{subject: {type: ServiceAccount}}")},
		{Name: "an executor without a subject", Rule: &rule.NoAccount, New: edits(template+".executor", "{}")},
		{Name: "too many manifestConfigs", Rule: &rule.TooManyConfigs, New: edits(manifests, many(501, ConfigMap), configs, many(500, config))},
		{Name: "a rule for no manifest", Rule: &rule.UnmatchedConfig, New: edits(configs+".0.resourceIdentifier",
			"{group: apps, resource: deployments, namespace: default, name: web}")},
		{Name: "a rule in another namespace", Rule: &rule.UnmatchedConfig, New: edits(configs+".0.resourceIdentifier", "{resource: configmaps, name: a}")},
		{Name: "a rule for a kind", Rule: &rule.UnmatchedConfig, New: edits(configs+".1.resourceIdentifier", "{resource: ConfigMap, namespace: default, name: b}",
			configs+".1.conditionRules", "[]")},
		{Name: "a rule for other names", Rule: &rule.UnmatchedConfig, New: edits(configs+".0.resourceIdentifier",
			"{resource: configmaps, namespace: default, name: 'web*'}")},
		{Name: "a rule for no object of another group", Rule: &rule.UnmatchedConfig, New: edits(
			manifests+".2", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: default}}",
			configs+".0.resourceIdentifier", "{group: example.com, resource: things, namespace: default, name: b}")},
		{Name: "a rule that matches none of many", Rule: &rule.UnmatchedConfig, New: edits(manifests, many(60, ConfigMap),
			configs+".0.resourceIdentifier", "{resource: configmaps, namespace: default, name: a60}")},
		{Name: "65 placementRefs", Rule: &rule.TooManyRefs, New: edits("spec.placementRefs", many(65, ref)), Schema: true},
		{Name: "a placement twice", Rule: &rule.SamePlacement, New: edits(second+".name", "first")},
		{Name: "a soak in words", Rule: &rule.BadSoak, New: edits(strategy+".minSuccessTime", "5 minutes")},
		{Name: "a soak in words, where nothing uses it", Rule: &rule.BadSoak, New: edits(second+".rolloutStrategy.progressivePerGroup.minSuccessTime", "soon")},
		{Name: "an empty soak", Rule: &rule.BadSoak, New: edits(second+".rolloutStrategy.all.minSuccessTime", `""`)},
		{Name: "a soak in quotes", Rule: &rule.BadSoak, New: edits(strategy+".minSuccessTime", `"\"5\"\t\\n"`)},
		{Name: "a long soak", Rule: &rule.BadSoak, New: edits(strategy+".minSuccessTime", strings.Repeat("é", 400))},
		{Name: "a negative soak", Rule: &rule.NegativeSoak, New: edits(strategy+".minSuccessTime", "-90s")},
		{Name: "a deadline of 0", Rule: &rule.BadDeadline, New: edits(strategy+".progressDeadline", "0s")},
		{Name: "a deadline in words", Rule: &rule.BadDeadline, New: edits(strategy+".progressDeadline", "5s or so")},
		{Name: "almost None", Rule: &rule.BadDeadline, New: edits(second+".rolloutStrategy.all.progressDeadline", "notNone")},
		{Name: "a quoted maxFailures", Rule: &rule.BadSize, New: edits(strategy+".maxFailures", `"3"`)},
		{Name: "a quoted maxConcurrency", Rule: &rule.BadSize, New: edits(strategy+".maxConcurrency", `"2"`)},
		{Name: "a negative maxFailures", Rule: &rule.NegativeSize, New: edits(strategy+".maxFailures", "-1")},
		{Name: "a retry in words", Rule: &rule.BadRetry, New: edits("metadata.annotations", retry("now"))},
		{Name: "a retry on a day", Rule: &rule.BadRetry, New: edits("metadata.annotations", retry("2026-11-25"))},
		{Name: "a retry without a zone", Rule: &rule.BadRetry, New: edits("metadata.annotations", retry("2026-11-25T10:00:00"))},
		{Name: "a negative maxConcurrency", Rule: &rule.NegativeSize, New: edits(strategy+".maxConcurrency", "-2")},
	}
}

// Warned are objects that are admitted with a warning, at least one for each rule.
func Warned() []Sample {
	abort := "{abortedTime: \"2026-01-02T03:04:05Z\", conditions: [{type: Progressing, status: \"False\", reason: ProgressDeadlineExceeded, " +
		"message: \"\", lastTransitionTime: \"2026-01-02T03:04:05Z\"}], summary: {total: 0}, placementSummary: []}"
	return []Sample{
		{Name: "AbortAll and no deadline", Rule: &rule.NeverFails, New: edits(strategy+".progressDeadline", "None")},
		{Name: "a soak of All", Rule: &rule.SoakIgnored, New: edits(second+".rolloutStrategy.all.minSuccessTime", "5m")},
		{Name: "AbortAll, all may fail", Rule: &rule.ToleratesAllAndAborts, New: edits(strategy+".maxFailures", "100%")},
		{Name: "all may fail", Rule: &rule.ToleratesAll, New: edits(second+".rolloutStrategy.all.maxFailures", "100%")},
		{Name: "WhenAvailable, and everything is orphaned", Rule: &rule.OrphansPrevent,
			New: edits("spec.pruneStrategy", "WhenAvailable", template+".deleteOption", "{propagationPolicy: Orphan}")},
		{Name: "WhenAvailable, and it runs to completion", Rule: &rule.CompletionPrevents, New: edits("spec.pruneStrategy", "WhenAvailable",
			configs+".0.conditionRules.0.condition", "Complete", first+".rolloutStrategy.failureStrategy", "")},
		{Name: "a Secret", Rule: &rule.Secret, New: edits(manifests+".1", "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}}")},
		{Name: "AbortAll and no rules", Rule: &rule.NoHealth, New: edits(configs, "")},
		{Name: "AbortAll and a rule for others", Rule: &rule.NoHealth, New: edits(configs+".0.conditionRules.0.condition", "Complete")},
		{Name: "AbortAll, and Argo CD writes the template", Rule: &rule.ReturnsAborted,
			New: edits("metadata.annotations", "{argocd.argoproj.io/tracking-id: web}")},
		{Name: "AbortAll, and Flux writes the template", Rule: &rule.ReturnsAborted,
			New: edits("metadata.labels", "{kustomize.toolkit.fluxcd.io/name: web}")},
		{Name: "a success gate without a rule for Progressing beside its rule", Rule: &rule.UndecidedGate,
			New: edits(first+".rolloutStrategy.successGates", "[{conditionType: Other, mode: Report}, {conditionType: SmokePassed}]",
				configs+".1", "{resourceIdentifier: {resource: configmaps, namespace: default, name: b}, conditionRules: ["+
					"{type: CEL, condition: Other, celExpressions: ['true']}, {type: CEL, condition: SmokePassed, celExpressions: ['true']}]}")},
		{Name: "a pause of an abort", Rule: &rule.AbortWhilePaused, Old: edits("status", abort), New: edits("status", abort, "spec.paused", "true")},
	}
}

func edits(pathsAndValues ...string) []Edit {
	var out []Edit
	for i := 0; i < len(pathsAndValues); i += 2 {
		out = append(out, Set(pathsAndValues[i], pathsAndValues[i+1]))
	}
	return out
}

// retry returns the annotations of an object that requests a retry.
func retry(value string) string {
	return fmt.Sprintf("{work.open-cluster-management.io/retry: %q}", value)
}

// many returns a list of n entries in YAML.
func many(n int, entry func(i int) string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = entry(i)
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

// ConfigMap returns a small manifest.
func ConfigMap(i int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, namespace: default}}", i)
}

func ref(i int) string { return fmt.Sprintf("{name: p%d}", i) }

func config(int) string {
	return "{resourceIdentifier: {group: apps, resource: deployments, namespace: default, name: '*'}, " +
		"conditionRules: [{condition: Progressing, type: CEL, celExpressions: ['false']}]}"
}
