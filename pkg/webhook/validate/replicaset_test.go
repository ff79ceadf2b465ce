package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	firstProgressive = "spec.placementRefs.0.rolloutStrategy.progressive"
	manifestsOf      = "spec.manifestWorkTemplate.workload.manifests"
)

func longName(value string) edit { return set("metadata.name", strings.Repeat(value, 56)) }

// refsTo returns a list of placementRefs to n Placements.
func refsTo(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("{name: p%d}", i)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// All rejections, and their texts. A problem that is rejected when an object is created only causes a warning if it existed before the
// update: see TestRatchet.
var broken = map[string]struct {
	edits []edit
	want  []string
}{
	"groups of All": {
		[]edit{set("spec.placementRefs.1.rolloutStrategy.groups", "[{groupName: a}]")},
		[]string{"spec.placementRefs[1].rolloutStrategy.groups: Invalid value: they have no effect with type All: use Progressive or ProgressivePerGroup"},
	},
	"groups beside mandatory ones": {
		[]edit{set("spec.placementRefs.0.rolloutStrategy.groups", "[{groupName: a}]"), set(firstProgressive+".mandatoryDecisionGroups", "[{groupName: b}]")},
		[]string{"spec.placementRefs[0].rolloutStrategy.groups: Invalid value: they can't be combined with mandatoryDecisionGroups: " +
			"list those groups here first, each with maxFailures: 0"},
	},
	"groups that can't be followed": {
		[]edit{set("spec.placementRefs.0.rolloutStrategy.groups", "[{}, {groupName: a, groupIndex: 1}, {groupName: a}, {groupName: '7', bakeTime: 721h}, "+
			"{groupIndex: 7, bakeTime: -1s, maxConcurrency: '2', maxFailures: -1}]")},
		[]string{
			"spec.placementRefs[0].rolloutStrategy.groups[0]: Invalid value: set either groupName or groupIndex",
			"spec.placementRefs[0].rolloutStrategy.groups[1]: Invalid value: set either groupName or groupIndex",
			"spec.placementRefs[0].rolloutStrategy.groups[3].bakeTime: Invalid value: use a duration from 0s to 720h (30 days), such as 30m or 2h",
			`spec.placementRefs[0].rolloutStrategy.groups[4]: Invalid value: "7" is listed twice: remove one of the two entries`,
			"spec.placementRefs[0].rolloutStrategy.groups[4].bakeTime: Invalid value: use a duration from 0s to 720h (30 days), such as 30m or 2h",
			`spec.placementRefs[0].rolloutStrategy.groups[4].maxConcurrency: Invalid value: "2" is neither a number nor a percentage: ` +
				`use a number of clusters such as 2, without quotes, or a percentage such as "10%"`,
			"spec.placementRefs[0].rolloutStrategy.groups[4].maxFailures: Invalid value: -1 is negative: use a number of clusters or a percentage such as 10%",
		},
	},
	"no manifests": {
		[]edit{set(manifestsOf, "[]")},
		[]string{"spec.manifestWorkTemplate.workload.manifests: Required value: manifests should not be empty: name at least one object to apply"},
	},
	"no template": {
		[]edit{set("spec.manifestWorkTemplate", "")},
		[]string{"spec.manifestWorkTemplate.workload.manifests: Required value: manifests should not be empty: name at least one object to apply"},
	},
	"a manifest without a name": {
		[]edit{set(manifestsOf+".1.metadata.name", "")},
		[]string{"spec.manifestWorkTemplate.workload.manifests[1]: Invalid value: name must be set in manifest"},
	},
	"a manifest without a kind": {
		[]edit{set(manifestsOf+".1.kind", "")},
		[]string{`spec.manifestWorkTemplate.workload.manifests[1]: Invalid value: Object 'Kind' is missing in ` +
			`'{"apiVersion":"v1","metadata":{"name":"b","namespace":"default"}}'`},
	},
	"a generated name, and another without one": {
		[]edit{set(manifestsOf+".0.metadata.generateName", "a-"), set(manifestsOf+".1.metadata.name", "")},
		[]string{
			"spec.manifestWorkTemplate.workload.manifests[0]: Invalid value: generateName must not be set in manifest",
			"spec.manifestWorkTemplate.workload.manifests[1]: Invalid value: name must be set in manifest",
		},
	},
	"a manifest twice": {
		[]edit{set(manifestsOf+".1.metadata.name", "a")},
		[]string{"spec.manifestWorkTemplate.workload.manifests[1]: Invalid value: duplicate manifest: ConfigMap default/a is already listed as " +
			"spec.manifestWorkTemplate.workload.manifests[0]: remove one of the two"},
	},
	"a manifest in two versions": {
		[]edit{
			set(manifestsOf+".0", "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: bc}}"),
			set(manifestsOf+".1", "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: bc}}"),
			set("spec.manifestWorkTemplate.manifestConfigs.0.resourceIdentifier", "{group: autoscaling, resource: horizontalpodautoscalers, namespace: bc, name: a}"),
		},
		[]string{"spec.manifestWorkTemplate.workload.manifests[1]: Invalid value: duplicate manifest: HorizontalPodAutoscaler.autoscaling bc/a is already listed as " +
			"spec.manifestWorkTemplate.workload.manifests[0]: remove one of the two"},
	},
	"too large": {
		[]edit{set(manifestsOf+".1.data.large", strings.Repeat("x", size))},
		[]string{"spec.manifestWorkTemplate.workload.manifests: Invalid value: the size of manifests is 2193 bytes which exceeds the 2000 limit: " +
			"put some of them into another object, or raise --manifestLimit of the webhook"},
	},
	"an executor without an account": {
		[]edit{set("spec.manifestWorkTemplate.executor", "{subject: {type: ServiceAccount}}")},
		[]string{"spec.manifestWorkTemplate.executor.subject.serviceAccount: Required value: name the service account that applies the manifests"},
	},
	"an unknown failureStrategy": {
		[]edit{set("spec.placementRefs.1.rolloutStrategy.failureStrategy", "Rollback")},
		[]string{`spec.placementRefs[1].rolloutStrategy.failureStrategy: Unsupported value: "Rollback": supported values: "AbortAll", "ReportAbort"`},
	},
	"an unknown type": {
		[]edit{set("spec.placementRefs.1.rolloutStrategy.type", "Slowly")},
		[]string{`spec.placementRefs[1].rolloutStrategy.type: Invalid value: "Slowly" is not a rollout type: use All, Progressive or ProgressivePerGroup`},
	},
	"a negative revisionHistoryLimit": {
		[]edit{set("spec.revisionHistoryLimit", "-1")},
		[]string{"spec.revisionHistoryLimit: Invalid value: -1: use 0 to keep no old revision, or the number of old revisions to keep"},
	},
	"a revisionHistoryLimit of 101": {
		[]edit{set("spec.revisionHistoryLimit", "101")},
		[]string{"spec.revisionHistoryLimit: Invalid value: 101: at most 100 old revisions are kept: use a number from 0 to 100, and keep older templates in Git"},
	},
	"a rule for no manifest": {
		[]edit{set("spec.manifestWorkTemplate.manifestConfigs.0.resourceIdentifier", "{group: apps, resource: deployments, namespace: default, name: web}")},
		[]string{"spec.manifestWorkTemplate.manifestConfigs[0].resourceIdentifier: Invalid value: deployments.apps default/web matches no manifest, so its rules " +
			"and settings have no effect: use one of configmaps default/a, configmaps default/b, or remove the entry"},
	},
	"a placement twice": {
		[]edit{set("spec.placementRefs.1.name", "first")},
		[]string{`spec.placementRefs[1].name: Invalid value: "first" is already the Placement of spec.placementRefs[0], to which all its clusters ` +
			`belong: remove one of the two`},
	},
	"65 placementRefs": {
		[]edit{set("spec.placementRefs", refsTo(65))},
		[]string{"spec.placementRefs: Invalid value: has 65 entries, and at most 64 are allowed: " +
			"select more clusters with each Placement, or create several ManifestWorkReplicaSets"},
	},
	"a name that is too long for the label": {
		[]edit{longName("n")},
		[]string{"metadata.name: Invalid value: the label work.open-cluster-management.io/manifestworkreplicaset=default." +
			strings.Repeat("n", 56) + " of the ManifestWorks would have 64 characters, and a label value may have at most 63: use a shorter name or namespace"},
	},
	"a deadline of 0": {
		[]edit{set(firstProgressive+".progressDeadline", "0s")},
		[]string{`spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline: Invalid value: "0s" is not a valid deadline: ` +
			`use None, or a duration above zero such as 90s, 10m or 2h`},
	},
	"a deadline in words": {
		[]edit{set(firstProgressive+".progressDeadline", "5s or so")},
		[]string{`spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline: Invalid value: "5s or so" is not a valid deadline: ` +
			`use None, or a duration above zero such as 90s, 10m or 2h`},
	},
	"a soak in words": {
		[]edit{set(firstProgressive+".minSuccessTime", "5 minutes")},
		[]string{`spec.placementRefs[0].rolloutStrategy.progressive.minSuccessTime: Invalid value: "5 minutes" is not a valid duration: ` +
			`use 0s for no soak, or a duration such as 30s, 5m or 1h30m`},
	},
	"a soak in words, where nothing uses it": {
		[]edit{set("spec.placementRefs.1.rolloutStrategy.progressivePerGroup.minSuccessTime", "soon")},
		[]string{`spec.placementRefs[1].rolloutStrategy.progressivePerGroup.minSuccessTime: Invalid value: "soon" is not a valid duration: ` +
			`use 0s for no soak, or a duration such as 30s, 5m or 1h30m`},
	},
	"a negative soak": {
		[]edit{set(firstProgressive+".minSuccessTime", "-5s")},
		[]string{`spec.placementRefs[0].rolloutStrategy.progressive.minSuccessTime: Invalid value: it is negative: ` +
			`use 0s for no soak, or a duration such as 30s or 5m`},
	},
	"quoted numbers": {
		[]edit{set(firstProgressive+".maxFailures", `"3"`), set(firstProgressive+".maxConcurrency", `"2"`)},
		[]string{
			`spec.placementRefs[0].rolloutStrategy.progressive.maxFailures: Invalid value: "3" is neither a number nor a percentage: ` +
				`use a number of clusters such as 2, without quotes, or a percentage such as "10%"`,
			`spec.placementRefs[0].rolloutStrategy.progressive.maxConcurrency: Invalid value: "2" is neither a number nor a percentage: ` +
				`use a number of clusters such as 2, without quotes, or a percentage such as "10%"`,
		},
	},
	"everything of a soak and a deadline at once": {
		[]edit{set(firstProgressive+".minSuccessTime", "5 minutes"), set("spec.placementRefs.1.rolloutStrategy.all.progressDeadline", "0m")},
		[]string{
			`spec.placementRefs[0].rolloutStrategy.progressive.minSuccessTime: Invalid value: "5 minutes" is not a valid duration: ` +
				`use 0s for no soak, or a duration such as 30s, 5m or 1h30m`,
			`spec.placementRefs[1].rolloutStrategy.all.progressDeadline: Invalid value: "0m" is not a valid deadline: ` +
				`use None, or a duration above zero such as 90s, 10m or 2h`,
		},
	},
	"a type that holds something else": {
		[]edit{set("spec.revisionHistoryLimit", "many")},
		[]string{"spec: Invalid value: can't be decoded: json: cannot unmarshal string into Go struct field ManifestWorkReplicaSetSpec.revisionHistoryLimit of type int32"},
	},
}

func TestReplicaSetCreate(t *testing.T) {
	verdict := ReplicaSet(nil, build(t), limit)
	require.Empty(t, verdict.Errors)
	require.Empty(t, verdict.Warnings)
	for name, tc := range broken {
		t.Run(name, func(t *testing.T) {
			object := build(t, tc.edits...)
			verdict := ReplicaSet(nil, object, limit)
			require.Equal(t, tc.want, messages(verdict.Errors))
			require.Empty(t, verdict.Warnings, "errors come first")
			require.Equal(t, build(t, tc.edits...), object, "the slice belongs to the caller")
		})
	}
}

// An update is rejected for the problems that it adds, like a creation. A name can't be changed.
func TestReplicaSetUpdateThatBreaks(t *testing.T) {
	for name, tc := range broken {
		if name == "a name that is too long for the label" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, messages(ReplicaSet(build(t), build(t, tc.edits...), limit).Errors))
		})
	}
}

// TestRatchet: an existing problem with an object never blocks a change to anything else.
func TestRatchet(t *testing.T) {
	finalizer := set("metadata.finalizers", "[work.open-cluster-management.io/manifest-work-cleanup]")
	for name, tc := range broken {
		reminders := func(t *testing.T, verdict Verdict) {
			t.Helper()
			require.Empty(t, verdict.Errors)
			require.GreaterOrEqual(t, len(verdict.Warnings), len(tc.want))
			for i, problem := range tc.want {
				require.Equal(t, "already invalid before this update: "+problem, verdict.Warnings[i])
			}
		}
		with := func(t *testing.T, more ...edit) Verdict {
			t.Helper()
			return ReplicaSet(build(t, append(tc.edits, finalizer)...), build(t, append(tc.edits, more...)...), limit)
		}
		t.Run(name, func(t *testing.T) {
			reminders(t, with(t))
			reminders(t, with(t, set("metadata.labels", "{a: b}")))
			reminders(t, with(t, set("spec.cascadeDeletionPolicy", "Foreground")))
			verdict := ReplicaSet(build(t, tc.edits...), build(t), limit)
			require.Empty(t, verdict.Errors, "the problem can be corrected")
			require.Empty(t, verdict.Warnings)
		})
		t.Run(name+", being deleted", func(t *testing.T) {
			deleted := set("metadata.deletionTimestamp", `"2026-01-01T00:00:00Z"`)
			verdict := ReplicaSet(build(t, append(tc.edits, finalizer, deleted)...), build(t, append(tc.edits, deleted)...), limit)
			require.Empty(t, verdict.Errors)
			require.Empty(t, verdict.Warnings, "no user would read them")
		})
	}
}

// A problem that moved is not new. A problem that replaces another one is.
func TestRatchetTellsOldFromNew(t *testing.T) {
	third := set("spec.placementRefs.2", "{name: third, rolloutStrategy: {type: All, all: {progressDeadline: 5m}}}")
	soak, deadline := set("spec.placementRefs.2.rolloutStrategy.progressive.minSuccessTime", "soon"), set("spec.placementRefs.2.rolloutStrategy.all.progressDeadline", "0s")
	third0 := set("spec.placementRefs", "[{name: third, rolloutStrategy: {type: All, all: {progressDeadline: 0s}, progressive: {minSuccessTime: soon}}}]")
	unnamed := "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}"
	other := "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}, data: {a: b}}"
	a := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	const rulesOf, somePod = "spec.manifestWorkTemplate.manifestConfigs.0", "{resourceIdentifier: {resource: configmaps, namespace: default, name: a}}"
	const noPod = "{resourceIdentifier: {resource: pods, namespace: default, name: web}}"
	for name, tc := range map[string]struct {
		old, new []edit
		refused  bool
	}{
		"the refs before it were removed":        {[]edit{third, soak, deadline}, []edit{third0}, false},
		"another invalid deadline":               {[]edit{set(firstProgressive+".progressDeadline", "0s")}, []edit{set(firstProgressive+".progressDeadline", "0m")}, true},
		"another invalid soak":                   {[]edit{set(firstProgressive+".minSuccessTime", "now")}, []edit{set(firstProgressive+".minSuccessTime", "then")}, true},
		"the same in another ref":                {[]edit{set(firstProgressive+".minSuccessTime", "now")}, []edit{set("spec.placementRefs.1.rolloutStrategy.all.minSuccessTime", "now")}, true},
		"a valid field beside an invalid one":    {[]edit{set(firstProgressive+".minSuccessTime", "now")}, []edit{set(firstProgressive, "{minSuccessTime: now, maxConcurrency: 7}")}, false},
		"fewer, and still too many":              {[]edit{set("spec.placementRefs", refsTo(70))}, []edit{set("spec.placementRefs", refsTo(66))}, false},
		"one more ref to a placement":            {[]edit{set("spec.placementRefs", "[{name: a}, {name: a}]")}, []edit{set("spec.placementRefs", "[{name: a}, {name: a}, {name: a}]")}, true},
		"duplicate placements, in another order": {[]edit{set("spec.placementRefs", "[{name: a}, {name: b}, {name: a}]")}, []edit{set("spec.placementRefs", "[{name: b}, {name: a}, {name: a}]")}, false},
		"a manifest before a bad one":            {[]edit{set(manifestsOf, "["+unnamed+"]")}, []edit{set(manifestsOf, "["+a+", "+unnamed+"]")}, false},
		"a bad manifest that changes":            {[]edit{set(manifestsOf, "["+unnamed+"]")}, []edit{set(manifestsOf, "["+other+"]")}, true},
		"two duplicates, moved":                  {[]edit{set(manifestsOf, "["+a+", "+a+"]")}, []edit{set(manifestsOf+".2", a), set(manifestsOf+".0", a)}, false},
		"a third duplicate":                      {[]edit{set(manifestsOf, "["+a+", "+a+"]")}, []edit{set(manifestsOf, "["+a+", "+a+", "+a+"]")}, true},
		"a rule that still has no manifest":      {[]edit{set(rulesOf, noPod)}, []edit{set(rulesOf, noPod), set(manifestsOf+".1", a)}, false},
		"a rule that moves":                      {[]edit{set(rulesOf, noPod)}, []edit{set(rulesOf, somePod), set("spec.manifestWorkTemplate.manifestConfigs.1", noPod)}, false},
		"another rule without a manifest":        {[]edit{set(rulesOf, noPod)}, []edit{set(rulesOf, strings.ReplaceAll(noPod, "web", "other"))}, true},
		"still too large":                        {[]edit{set(manifestsOf+".1.data.large", strings.Repeat("x", 2*size))}, []edit{set(manifestsOf+".1.data.large", strings.Repeat("x", size))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, ReplicaSet(build(t, tc.old...), build(t, tc.old...), limit).Errors)
			require.NotEmpty(t, ReplicaSet(nil, build(t, tc.old...), limit).Errors)
			verdict := ReplicaSet(build(t, tc.old...), build(t, tc.new...), limit)
			require.Equal(t, tc.refused, len(verdict.Errors) > 0, "%v", messages(verdict.Errors))
		})
	}
}

// TestLongNamesAreAllowed: the webhook of a hub with --owner-key-hash does not reject long names.
func TestLongNamesAreAllowed(t *testing.T) {
	within := limit
	require.Len(t, ReplicaSet(nil, build(t, longName("n")), within).Errors, 1)
	within.LongNames = true
	require.Empty(t, ReplicaSet(nil, build(t, longName("n")), within).Errors)
}

// TestManifestConfigsAreBounded: too many manifestConfigs for the manifests are an error of the field. An object that was stored with
// more stays writable.
func TestManifestConfigsAreBounded(t *testing.T) {
	large := Limits{ManifestBytes: 1 << 20}
	of := func(manifests, configs int) []edit {
		objects := make([]string, manifests)
		for i := range objects {
			objects[i] = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, namespace: default}}", i)
		}
		config := "{resourceIdentifier: {resource: configmaps, namespace: default, name: '*'}, conditionRules: [{condition: Progressing, type: CEL, celExpressions: ['false']}]}"
		return []edit{
			set(manifestsOf, "["+strings.Join(objects, ", ")+"]"),
			set("spec.manifestWorkTemplate.manifestConfigs", "["+strings.Repeat(config+", ", configs-1)+config+"]"),
		}
	}
	require.Empty(t, ReplicaSet(nil, build(t, of(500, 500)...), large).Errors)
	crowded := of(501, 500)
	require.Equal(t, []string{"spec.manifestWorkTemplate.manifestConfigs: Invalid value: 500 manifestConfigs for 501 manifests are more than are compared: " +
		"their product is limited to 250000; let one entry with a * in its name stand for several objects, or split the template"},
		messages(ReplicaSet(nil, build(t, crowded...), large).Errors))
	require.NotEmpty(t, ReplicaSet(build(t), build(t, crowded...), large).Errors)
	require.Empty(t, ReplicaSet(build(t, crowded...), build(t, append(crowded, set("spec.revisionHistoryLimit", "3"))...), large).Errors)
}

// TestManifestThatRulesAreForGoes: an update that removes the manifest of a manifestConfig is rejected. An object that was stored with
// such a manifestConfig stays writable, and its users get a warning.
func TestManifestThatRulesAreForGoes(t *testing.T) {
	rules := set("spec.manifestWorkTemplate.manifestConfigs.0.resourceIdentifier", "{resource: configmaps, namespace: default, name: b}")
	gone := set(manifestsOf, "[{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}]")
	const want = "configmaps default/b matches no manifest, so its rules and settings have no effect: use one of configmaps default/a, or remove the entry"
	verdict := ReplicaSet(build(t, rules), build(t, rules, gone), limit)
	require.Len(t, verdict.Errors, 1)
	require.ErrorContains(t, verdict.Errors[0], want)
	verdict = ReplicaSet(build(t, rules, gone), build(t, rules, gone, set("spec.paused", "true"), set(manifestsOf+".0.data", "{v: '2'}")), limit)
	require.Empty(t, verdict.Errors)
	require.Len(t, verdict.Warnings, 1)
	require.Contains(t, verdict.Warnings[0], "already invalid before this update: ")
	require.Contains(t, verdict.Warnings[0], want)
}

// No input of a user makes the webhook panic.
func TestReplicaSetOfAnyShape(t *testing.T) {
	for _, path := range []string{
		"metadata", "spec", "spec.placementRefs", "spec.placementRefs.0", "spec.placementRefs.0.name", "spec.placementRefs.0.rolloutStrategy",
		firstProgressive, firstProgressive + ".minSuccessTime", firstProgressive + ".maxFailures", "spec.manifestWorkTemplate",
		"spec.manifestWorkTemplate.workload", manifestsOf, manifestsOf + ".0", manifestsOf + ".0.metadata", "spec.manifestWorkTemplate.executor",
	} {
		for _, value := range []string{"", "null", "text", "7", "1.5", "[]", "[null]", "[7]", "{}", "{a: 7}", "true"} {
			t.Run(path+" is "+value, func(t *testing.T) {
				odd := build(t, set(path, value))
				require.NotPanics(t, func() {
					ReplicaSet(nil, odd, limit)
					require.Empty(t, ReplicaSet(odd, odd, limit).Errors)
					require.Empty(t, ReplicaSet(odd, build(t), limit).Errors)
				})
			})
		}
	}
}
