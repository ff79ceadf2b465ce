package validate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSurprises: if the API server accepts a spec that does not do what its author expects, the webhook warns.
func TestSurprises(t *testing.T) {
	const rules = "spec.manifestWorkTemplate.manifestConfigs"
	noRules := "spec.manifestWorkTemplate.manifestConfigs: without a conditionRule for Progressing or Degraded a cluster succeeds as soon as " +
		"its objects exist, so AbortAll does not see a workload that fails"
	for name, tc := range map[string]struct {
		edits []edit
		want  []string
	}{
		"AbortAll and no deadline": {
			[]edit{set(firstProgressive+".progressDeadline", "None")},
			[]string{"spec.placementRefs[0].rolloutStrategy: AbortAll does not abort because of late or degraded clusters while " +
				"progressDeadline is None: set a progressDeadline such as 10m"},
		},
		"neither a deadline nor AbortAll": {[]edit{set("spec.placementRefs.1.rolloutStrategy.all.progressDeadline", "None")}, nil},
		"AbortAll and no rules":           {[]edit{set(rules, "")}, []string{noRules}},
		"AbortAll and a rule for others":  {[]edit{set(rules+".0.conditionRules.0.condition", "Complete")}, []string{noRules}},
		"AbortAll and a rule for health":  {[]edit{set(rules+".0.conditionRules.0.condition", "Degraded")}, nil},
		"neither AbortAll nor rules":      {[]edit{set(rules, ""), set("spec.placementRefs.0.rolloutStrategy.failureStrategy", "")}, nil},
		"AbortAll, all may fail": {
			[]edit{set(firstProgressive+".maxFailures", "100%")},
			[]string{"spec.placementRefs[0].rolloutStrategy: AbortAll never aborts while maxFailures tolerates the failure of every cluster: use less than 100%"},
		},
		"a soak of All": {
			[]edit{set("spec.placementRefs.1.rolloutStrategy.all.minSuccessTime", "5m")},
			[]string{"spec.placementRefs[1].rolloutStrategy: minSuccessTime has no effect with type All, because there is no next batch that could wait: " +
				"use Progressive or ProgressivePerGroup, or remove the field"},
		},
		"workloads stay, and a TTL": {
			[]edit{
				set("spec.preserveResourcesOnDeletion", "true"),
				set("spec.manifestWorkTemplate.deleteOption", "{propagationPolicy: Foreground, ttlSecondsAfterFinished: 60}"),
			},
			nil, // OCM's garbage collection ignores the works of a ManifestWorkReplicaSet.
		},
		"workloads stay": {[]edit{set("spec.preserveResourcesOnDeletion", "true")}, nil},
		"WhenAvailable, and everything is orphaned": {
			[]edit{set("spec.pruneStrategy", "WhenAvailable"), set("spec.manifestWorkTemplate.deleteOption", "{propagationPolicy: Orphan}")},
			[]string{"spec.pruneStrategy: WhenAvailable keeps nothing: deleteOption.propagationPolicy of the new revision is Orphan, and an object that is kept under Orphan " +
				"would never be deleted"},
		},
		"WhenAvailable, and it runs to completion": {
			[]edit{
				set("spec.pruneStrategy", "WhenAvailable"), set(rules+".0.conditionRules.0.condition", "Complete"), set("spec.placementRefs.0.rolloutStrategy.failureStrategy", ""),
			},
			[]string{"spec.pruneStrategy: WhenAvailable keeps nothing: the new revision has a condition rule for Complete, and agents do not apply a new spec of a completed work"},
		},
		"WhenAvailable":                         {[]edit{set("spec.pruneStrategy", "WhenAvailable")}, nil},
		"Immediate, and everything is orphaned": {[]edit{set("spec.manifestWorkTemplate.deleteOption", "{propagationPolicy: Orphan}")}, nil},
		"a Secret": {
			[]edit{set(manifestsOf+".1", "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, data: {password: c2VjcmV0}}")},
			[]string{"spec.manifestWorkTemplate.workload.manifests[1]: everyone who can read ControllerRevisions, for example with the role view, can read this Secret, " +
				"even after it is removed: use an ExternalSecret, a SealedSecret or the name of a Secret that the clusters have"},
		},
		"a sealed one": {[]edit{set(manifestsOf+".1", "{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: a, namespace: default}}")}, nil},
		"all may fail": {
			[]edit{set("spec.placementRefs.1.rolloutStrategy.all.maxFailures", "100%")},
			[]string{"spec.placementRefs[1].rolloutStrategy: maxFailures tolerates the failure of every cluster, so nothing stops a bad rollout: use less than 100%"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := build(t, tc.edits...)
			verdict := ReplicaSet(nil, object, limit)
			require.Empty(t, messages(verdict.Errors))
			require.Equal(t, tc.want, verdict.Warnings)
			require.Equal(t, tc.want, ReplicaSet(build(t, set("spec.revisionHistoryLimit", "3")), object, limit).Warnings, "an update of the spec warns, too")
			require.Empty(t, ReplicaSet(object, build(t, append(tc.edits, set("metadata.labels", "{a: b}"))...), limit).Warnings, "and other updates do not")
			for _, warning := range tc.want {
				require.LessOrEqual(t, len(warning), 256, "API servers cut warnings at this length")
			}
		})
	}
}

// TestDropsBeyondTheBounds: if an update drops more than WhenAvailable can keep, the warning names the field that is too large.
func TestDropsBeyondTheBounds(t *testing.T) {
	keeps := set("spec.pruneStrategy", "WhenAvailable")
	large := func(name string) edit {
		return set(manifestsOf+".1", "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+", namespace: default}, data: {a: "+strings.Repeat("x", size/2)+"}}")
	}
	warnings := ReplicaSet(build(t, keeps, large("b")), build(t, keeps, large("c")), limit).Warnings
	require.Equal(t, []string{"spec.pruneStrategy: WhenAvailable keeps nothing: spec.manifestWorkTemplate.workload.manifests of the new revision and the dropped objects " +
		"have more than 2000 bytes together: drop fewer objects at a time"}, warnings)
	require.LessOrEqual(t, len(warnings[0]), 256, "API servers cut warnings at this length")
	require.Empty(t, ReplicaSet(build(t, large("b")), build(t, large("c")), limit).Warnings, "Immediate keeps nothing anyway")
	require.Empty(t, ReplicaSet(build(t, keeps, large("b")), build(t, keeps), limit).Warnings)
}

// TestWhatCannotBeTakenBack: the warnings about an update name the losses in its rollout and, with AbortAll, in an abort.
func TestWhatCannotBeTakenBack(t *testing.T) {
	object := func(kind string) edit {
		return set(manifestsOf+".1", "{apiVersion: v1, kind: "+kind+", metadata: {name: a"+strings.Repeat("b", 200)+"}}")
	}
	manifest := "spec.manifestWorkTemplate.workload.manifests"
	for name, tc := range map[string]struct {
		before, after []edit
		want          string
	}{
		"dropped, and AbortAll": {[]edit{object("Namespace")}, nil, manifest + ": the rollout deletes Namespace ab"},
		"added, and AbortAll":   {nil, []edit{object("Namespace")}, manifest + "[1]: an abort deletes Namespace ab"},
		"added":                 {nil, []edit{object("Namespace"), set("spec.placementRefs.0.rolloutStrategy.failureStrategy", "")}, ""},
		"kept":                  {[]edit{object("Namespace")}, []edit{object("Namespace"), set("spec.revisionHistoryLimit", "3")}, ""},
		"another kind":          {[]edit{object("ServiceAccount")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := ReplicaSet(build(t, tc.before...), build(t, tc.after...), limit).Warnings
			if tc.want == "" {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			require.True(t, strings.HasPrefix(warnings[0], tc.want), warnings[0])
			require.LessOrEqual(t, len(warnings[0]), 256, "API servers cut warnings at this length")
			require.Empty(t, ReplicaSet(nil, build(t, tc.after...), limit).Warnings, "nothing is lost when an object is created")
		})
	}
}
