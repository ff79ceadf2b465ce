package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/ruletest"
)

// places are the paths at which an object is changed, with good and bad values that a schema admits.
var places = func() map[string][]string {
	out := map[string][]string{
		"metadata.labels": {"{a: b}", ""},
		"metadata.name":   {strings.Repeat("n", 55), strings.Repeat("n", 56)},
		"spec.placementRefs": {"[{name: a}, {name: a}]", "[{name: a}, {name: b}, {name: a}, {name: b}]", "[{name: b}, {name: b}, {name: b}]", `[{name: "q|\"'"}, {name: "q|\"'"}]`,
			"[{name: first, rolloutStrategy: {type: All, all: {progressDeadline: 0s, maxFailures: '3'}, progressive: {minSuccessTime: soon}}}, {name: second}]"},
		"spec.placementRefs.1.name":              {"first", "second"},
		"spec.placementRefs.0.rolloutStrategy":   {"", "{}"},
		"spec.paused":                            {"true"},
		"spec.pruneStrategy":                     {"WhenAvailable", "Immediate"},
		"spec.preserveResourcesOnDeletion":       {"true"},
		"spec.manifestWorkTemplate":              {"", "{}"},
		"spec.manifestWorkTemplate.executor":     {"", "{}", "{subject: {type: ServiceAccount}}", "{subject: {type: ServiceAccount, serviceAccount: {namespace: a, name: b}}}"},
		"spec.manifestWorkTemplate.deleteOption": {"{propagationPolicy: Orphan}", "{propagationPolicy: Foreground, ttlSecondsAfterFinished: 0}"},
		"spec.manifestWorkTemplate.manifestConfigs": {"", "[]", "[{resourceIdentifier: {resource: pods, name: a}}]",
			"[{resourceIdentifier: {resource: configmaps, namespace: default, name: twin}}, {resourceIdentifier: {resource: secrets, namespace: '*', name: 's*'}}]",
			"[{resourceIdentifier: {group: bitnami.com, resource: any, namespace: '*', name: 's*+'}}, {resourceIdentifier: {resource: pods, name: a}}]",
			"[{resourceIdentifier: {group: apiextensions.k8s.io, resource: customresourcedefinitions, name: x.y*}}, {resourceIdentifier: {resource: configmaps, namespace: d*t, name: a}}]"},
		"spec.manifestWorkTemplate.workload.manifests":   {"", "[]", "[" + twin + ", " + twin + "]", "[" + twin + ", " + nameless + ", " + twin + ", " + nameless + ", " + twin + "]"},
		"spec.manifestWorkTemplate.workload.manifests.0": {twin, nameless, "{apiVersion: v1, kind: Secret, metadata: {name: s}}", "{apiVersion: bitnami.com/v1, kind: Secret, metadata: {name: s}}"},
		"spec.manifestWorkTemplate.workload.manifests.1": {twin, nameless, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x, generateName: x-}}"},
		"status": {"", "{abortedTime: \"2026-01-02T03:04:05Z\"}", "{abortedTime: \"2026-01-02T03:04:05Z\", conditions: [{type: Progressing, reason: RolloutAborted}]}"},
	}
	soaks := []string{`"0"`, "30s", "1.5h", ".5s", "1.s", "-5s", "-0s", "+1m", `"5"`, `""`, "5 minutes", "1h30m", "m", "1µs", `"-"`, "1d", "99999999999999999999h", `"a\nb"`}
	deadlines := []string{"None", "10m", "0s", "0h0m", "10minutes", "xNone", "1m-1s", "5s or so", "1h30m", `""`}
	sizes := []string{"0", "3", "-1", "10%", "100%", `"3"`, `"0"`}
	for _, part := range []string{"all", "progressive", "progressivePerGroup"} {
		for _, ref := range []string{"0", "1"} {
			path := "spec.placementRefs." + ref + ".rolloutStrategy."
			out[path+"type"] = []string{"All", "Progressive", "ProgressivePerGroup", ""}
			out[path+"failureStrategy"] = []string{"AbortAll", ""}
			out[path+part] = []string{"", "{}"}
			out[path+part+".minSuccessTime"], out[path+part+".progressDeadline"], out[path+part+".maxFailures"] = soaks, deadlines, sizes
		}
	}
	for _, ref := range []string{"0", "1"} {
		out["spec.placementRefs."+ref+".rolloutStrategy.progressive.maxConcurrency"] = sizes
		out["spec.placementRefs."+ref+".rolloutStrategy.progressive.mandatoryDecisionGroups"] = []string{"[]", "[{groupIndex: 0}]"}
	}
	return out
}()

const (
	twin     = "{apiVersion: v1, kind: ConfigMap, metadata: {name: twin, namespace: default}}"
	nameless = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}"
)

func edits(r *rapid.T, label string) []ruletest.Edit {
	paths := slices.Sorted(func(yield func(string) bool) {
		for path := range places {
			if !yield(path) {
				return
			}
		}
	})
	var out []ruletest.Edit
	for _, path := range rapid.SliceOfN(rapid.SampledFrom(paths), 0, 4).Draw(r, label) {
		edit := ruletest.Set(path, rapid.SampledFrom(places[path]).Draw(r, path))
		out = append(out, func(t testing.TB, object map[string]any) {
			if exists(object, strings.Split(path, ".")) {
				edit(t, object)
			}
		})
	}
	return out
}

// exists reports whether a value can be put at a path without creating an object that a schema rejects.
func exists(in any, path []string) bool {
	switch in := in.(type) {
	case []any:
		index := int(path[0][0] - '0')
		return index < len(in) && (len(path) == 1 || exists(in[index], path[1:]))
	case map[string]any:
		next, found := in[path[0]]
		if !found {
			return !strings.ContainsAny(strings.Join(path, ""), "01") // No list is made.
		}
		return len(path) == 1 || exists(next, path[1:])
	}
	return false
}

// For every object, the policies reject nothing that the webhook admits, give no message that the webhook would not give, and never fail.
// If they admit a creation, the webhook rejects it only for reasons that the table names.
func TestPolicyIsNeverStricterThanTheWebhook(t *testing.T) {
	refusals, warnings := compile(t, Refusals(), oldest), compile(t, Warnings(), oldest)
	rapid.Check(t, func(r *rapid.T) {
		object := ruletest.Build(t, edits(r, "new")...)
		var old *unstructured.Unstructured
		if rapid.Bool().Draw(r, "update") {
			old = ruletest.Build(t, append(edits(r, "old"), ruletest.Set("metadata.name", object.GetName()))...)
		}
		refused, warned := webhook(old, object)
		got := refusals.judge(t.Context(), old, object)
		require.Empty(r, got.failed)
		require.Subset(r, refused, got.denied)
		if old == nil {
			require.Equal(r, len(unsaid(refused)) > 0, len(got.denied) > 0, "%v, %v", refused, got.denied)
		}
		surprises := warnings.judge(t.Context(), old, object)
		require.Empty(r, surprises.failed)
		if len(refused) == 0 {
			require.Subset(r, warned, surprises.denied)
			require.Equal(r, len(newWarnings(warned)) > 0, len(surprises.denied) > 0, "%v, %v", warned, surprises.denied)
		}
	})
}

// unsaid omits the problems that CEL can't see, as the comments in the table say.
func unsaid(refused []string) []string {
	return slices.DeleteFunc(slices.Clone(refused), func(text string) bool { return strings.Contains(text, "99999999999999999999h") })
}

// newWarnings omits the warnings about earlier problems, and those that compare two templates: no policy does.
func newWarnings(warned []string) []string {
	return slices.DeleteFunc(slices.Clone(warned), func(text string) bool {
		return strings.HasPrefix(text, "already invalid before") || compares.MatchString(text)
	})
}

// compares matches a warning about irreversible effects of a rollout or an abort (package irreversible).
var compares = regexp.MustCompile(`: (the rollout|an abort) (deletes|changes|shrinks|removes) `)
