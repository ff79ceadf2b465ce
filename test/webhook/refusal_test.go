package webhook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Upstream's clients expect "bad request".
func TestRefusedWorks(t *testing.T) {
	t.Parallel()
	c := as(t, hub.config, namespace(t, usual))
	const good = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}"
	for name, tc := range map[string]struct{ manifests, want string }{
		"no name":   {"- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}", "spec.workload.manifests[0]: Invalid value: name must be set in manifest"},
		"twice":     {good + "\n    " + good, "spec.workload.manifests[1]: Invalid value: duplicate manifest: v1 ConfigMap default/a"},
		"too large": {"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " + strings.Repeat("x", 30000) + "}}", "which exceeds the 20000 limit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.create(workResource, parse(t, strings.Replace(workText, good, tc.manifests, 1)))
			require.True(t, apierrors.IsBadRequest(err), "%v", err)
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := c.create(workResource, parse(t, workText))
	require.NoError(t, err)
	err = c.patch(workResource, "web", "spec: {workload: {manifests: []}}")
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.Empty(t, c.warned())
}

// Objects that the CRD admits, but that no hub could process.
func TestRefusedReplicaSets(t *testing.T) {
	t.Parallel()
	namespace := namespace(t, usual)
	c := as(t, hub.config, namespace)
	for name, tc := range map[string]struct {
		replacements []string
		field, want  string
	}{
		"no name": {
			[]string{"name: a, ", ""}, "spec.manifestWorkTemplate.workload.manifests[0]", "name must be set in manifest",
		},
		"a placement twice": {
			[]string{"  - name: all", "  - name: all\n  - name: all"}, "spec.placementRefs[1].name", `"all" is already the Placement of spec.placementRefs[0]`,
		},
		"a deadline of 0": {
			[]string{"progressDeadline: 10m", "progressDeadline: 0s"}, "spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline", `"0s" is not a valid deadline`,
		},
		"a deadline with text after it": {
			[]string{"progressDeadline: 10m", "progressDeadline: 10minutes"}, "spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline", `"10minutes" is not a valid deadline`,
		},
		"a soak in words": {
			[]string{"minSuccessTime: 30s", "minSuccessTime: 5 minutes"}, "spec.placementRefs[0].rolloutStrategy.progressive.minSuccessTime", `"5 minutes" is not a valid duration`,
		},
		"a negative soak": {
			[]string{"minSuccessTime: 30s", "minSuccessTime: -30s"}, "spec.placementRefs[0].rolloutStrategy.progressive.minSuccessTime", "it is negative",
		},
		"a quoted number": {
			[]string{"maxFailures: 10%", `maxFailures: "10"`}, "spec.placementRefs[0].rolloutStrategy.progressive.maxFailures", `"10" is neither a number nor a percentage`,
		},
		"a long name": {
			[]string{"name: web", "name: " + strings.Repeat("n", 60)}, "metadata.name", "a label value may have at most 63",
		},
		"a long prefix of a generated name": {
			[]string{"name: web", "generateName: " + strings.Repeat("n", 58)}, "metadata.name", "a label value may have at most 63",
		},
		// The CRD reports these before the webhook.
		"an unknown failureStrategy": {
			[]string{"type: Progressive", "type: Progressive\n      failureStrategy: Rollback"}, "spec.placementRefs[0].rolloutStrategy.failureStrategy", `"AbortAll"`,
		},
		"a long history": {
			[]string{"spec:", "spec:\n  revisionHistoryLimit: 101"}, "spec.revisionHistoryLimit", "should be less than or equal to 100",
		},
		"a negative history": {
			[]string{"spec:", "spec:\n  revisionHistoryLimit: -1"}, "spec.revisionHistoryLimit", "-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.create(replicaSetResource, replicaSet(t, tc.replacements...))
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.ErrorContains(t, err, tc.want)
			status := err.(apierrors.APIStatus).Status()
			require.NotEmpty(t, status.Details.Causes)
			require.Equal(t, tc.field, status.Details.Causes[0].Field)
		})
	}
	_, err := c.create(replicaSetResource, replicaSet(t))
	require.NoError(t, err)
	require.Empty(t, c.warned())
	err = c.patch(replicaSetResource, "web", "spec: {manifestWorkTemplate: {workload: {manifests: []}}}")
	require.True(t, apierrors.IsInvalid(err), "%v", err)
}

// Legal but surprising objects are admitted, with a warning on the user's terminal.
func TestWarnings(t *testing.T) {
	t.Parallel()
	c := as(t, hub.config, namespace(t, usual))
	_, err := c.create(replicaSetResource, replicaSet(t,
		"type: Progressive", "type: Progressive\n      failureStrategy: AbortAll", "progressDeadline: 10m", "progressDeadline: None",
		"maxFailures: 10%", "maxFailures: 100%", "apiVersion: v1, kind: ConfigMap", "apiVersion: v1, kind: PersistentVolumeClaim"))
	require.NoError(t, err)
	warnings := c.warned()
	require.Len(t, warnings, 3)
	for i, want := range []string{"progressDeadline is None", "maxFailures tolerates the failure of every cluster", "without a conditionRule"} {
		require.Contains(t, warnings[i], want)
	}
	require.NoError(t, c.patch(replicaSetResource, "web", "metadata: {labels: {a: b}}"))
	require.Empty(t, c.warned(), "the spec did not change")
	require.NoError(t, c.patch(replicaSetResource, "web", "spec: {revisionHistoryLimit: 3}"))
	require.Len(t, c.warned(), 3)
	require.NoError(t, c.patch(replicaSetResource, "web", "spec: {manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: Namespace, metadata: {name: a}}]}}}"))
	warnings = c.warned()
	require.Contains(t, strings.Join(warnings, "\n"), "the rollout deletes PersistentVolumeClaim")
	require.Contains(t, strings.Join(warnings, "\n"), "an abort deletes Namespace a with all objects in it")
}
