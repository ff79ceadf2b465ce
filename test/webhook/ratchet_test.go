package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// beginsToLook makes the usual server check a namespace that no server checked before.
func beginsToLook(t *testing.T, namespace string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, lookedAtBy, usual)
	_, err := hub.kube.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	waitForServer(t, namespace)
}

// TestObjectsFromBefore: the webhook never blocks objects that are older than the webhook. They can be labelled, changed elsewhere, given a
// status, corrected, and deleted with all their finalizers. Only another bad value in the same place is rejected.
func TestObjectsFromBefore(t *testing.T) {
	t.Parallel()
	namespace := namespace(t, nobody)
	c := as(t, hub.config, namespace)
	stories := map[string]struct {
		resource schema.GroupVersionResource
		object   *unstructured.Unstructured
		worse    string
		better   string
	}{
		"undecodable": {
			replicaSetResource, replicaSet(t, "minSuccessTime: 30s", "minSuccessTime: 5 minutes"),
			"spec: {placementRefs: [{name: all, rolloutStrategy: {type: Progressive, progressive: {minSuccessTime: 6 minutes}}}]}",
			"spec: {placementRefs: [{name: all, rolloutStrategy: {type: Progressive, progressive: {minSuccessTime: 5m}}}]}",
		},
		"deadline": {
			replicaSetResource, replicaSet(t, "progressDeadline: 10m", "progressDeadline: 0s"),
			"spec: {placementRefs: [{name: all, rolloutStrategy: {type: Progressive, progressive: {progressDeadline: 0m}}}]}",
			"spec: {placementRefs: [{name: all, rolloutStrategy: {type: Progressive, progressive: {progressDeadline: 1m}}}]}",
		},
		"twice": {
			replicaSetResource, replicaSet(t, "  - name: all", "  - name: all\n  - name: all"),
			"spec: {placementRefs: [{name: all}, {name: all}, {name: all}]}", "spec: {placementRefs: [{name: all}]}",
		},
		"empty": {
			replicaSetResource, replicaSet(t, "manifests:\n      - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}", "manifests: []"),
			"spec: {manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}]}}}",
			"spec: {manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}}}",
		},
		strings.Repeat("n", 60): {replicaSetResource, replicaSet(t), "", ""},
		"work": {
			workResource, parse(t, strings.Replace(workText, "name: a, ", "", 1)),
			"spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: other}}]}}",
			"spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}}",
		},
	}
	for name, story := range stories {
		story.object.SetName(name)
		story.object.SetFinalizers([]string{"example.com/first", "example.com/second"})
		_, err := c.create(story.resource, story.object)
		require.NoError(t, err)
	}
	beginsToLook(t, namespace)

	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			c := as(t, hub.config, namespace)
			require.NoError(t, c.patch(story.resource, name, "metadata: {labels: {a: b}}"))
			if story.resource == replicaSetResource {
				require.Len(t, c.warned(), 1, "a reminder")
				require.NoError(t, c.patch(story.resource, name, "spec: {revisionHistoryLimit: 7}"))
				require.Len(t, c.warned(), 1)
			} else {
				require.NoError(t, c.patch(story.resource, name, "spec: {deleteOption: {propagationPolicy: Orphan}}"))
				require.Len(t, c.warned(), 1)
			}
			if story.worse != "" {
				err := c.patch(story.resource, name, story.worse)
				require.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
				dry := as(t, hub.config, namespace)
				dry.dryRun = []string{metav1.DryRunAll}
				require.NoError(t, dry.patch(story.resource, name, story.better))
			}
			require.NoError(t, c.delete(story.resource, name))
			// Until then, the API server may send the old object to the webhook, and then retry.
			eventually(t, "the API server's cache shows the deletion", func() error {
				cached, err := c.dynamic.Resource(story.resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"})
				if err == nil && cached.GetDeletionTimestamp() == nil {
					err = fmt.Errorf("resourceVersion %s is not being deleted", cached.GetResourceVersion())
				}
				return err
			})
			require.NoError(t, c.patch(story.resource, name, "metadata: {finalizers: [example.com/second]}"))
			require.NoError(t, c.patch(story.resource, name, "metadata: {finalizers: []}"))
			_, err := c.dynamic.Resource(story.resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			require.Empty(t, c.warned())
		})
	}
}
