package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestManagerOf: a template that a tool manages is recognized as managed.
func TestManagerOf(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	const template = `{"f:spec":{"f:manifestWorkTemplate":{}}}`
	for name, c := range map[string]struct {
		set  metav1.ObjectMeta
		want string
	}{
		"kubectl patch": {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl-patch", "Update", "", template)}}, ""},
		"applied": {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("ci", "Apply", "", template)}},
			`the field manager "ci" (server-side apply)`},
		"applied other fields": {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("ci", "Apply", "", `{"f:spec":{"f:paused":{}}}`)}}, ""},
		"Argo CD":              {metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "x"}}, "Argo CD"},
		"Flux":                 {metav1.ObjectMeta{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}}, "Flux"},
	} {
		require.Equal(t, c.want, view.ManagerOf(&workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: c.set}), name)
	}
}

// TestNextOffersUndo: the screen names the undo that works. A template that a tool manages must be changed in that tool.
func TestNextOffersUndo(t *testing.T) {
	lines := func(changes ...func(*view.Objects)) (lines []string) {
		for _, next := range view.FleetOf(objects(t, changes...)).Next {
			lines = append(lines, next.Line())
		}
		return lines
	}
	state := func(state workv1alpha1.State) func(*view.Objects) {
		return func(o *view.Objects) { o.ReplicaSet.Status.State = state }
	}
	applied := func(o *view.Objects) {
		o.ReplicaSet.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	}
	argo := func(o *view.Objects) {
		o.ReplicaSet.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "x"}
	}
	stalled := state(workv1alpha1.StateStalled)
	require.Contains(t, lines(stalled), "kubectl mwrs undo web -n default")
	require.Contains(t, lines(stalled, applied), "kubectl mwrs undo web --allow-managed -n default")
	require.Contains(t, lines(stalled, argo), "kubectl mwrs export web --to-revision 1 -n default")
	require.NotContains(t, lines(stalled, argo), "kubectl mwrs undo web -n default")
	require.NotContains(t, lines(stalled, complete), "kubectl mwrs undo web -n default")
	require.Contains(t, lines(state(workv1alpha1.StateComplete), complete, applied), "kubectl mwrs undo web --allow-managed -n default")
}

// TestNextOmitsGivenCommands: a command that a user has given, and that the hub has not seen yet, is not offered again: the plugin would
// reject it.
func TestNextOmitsGivenCommands(t *testing.T) {
	for _, c := range []struct {
		state   workv1alpha1.State
		command string
		given   func(*workv1alpha1.ManifestWorkReplicaSet)
	}{
		{workv1alpha1.StatePaused, "resume", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Spec.Paused = false }},
		{workv1alpha1.StateRollingOut, "pause", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Spec.Paused = true }},
		{workv1alpha1.StateAborted, "retry", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.AbortedTime = nil }},
	} {
		o := objects(t, func(o *view.Objects) {
			o.ReplicaSet.Status.State, o.ReplicaSet.Spec.Paused = c.state, c.state == workv1alpha1.StatePaused
			if c.state == workv1alpha1.StateAborted {
				o.ReplicaSet.Status.AbortedTime = &metav1.Time{Time: now}
			}
		})
		offers := func(next view.Command) bool { return next.Args[2] == c.command }
		require.True(t, slices.ContainsFunc(view.FleetOf(o).Next, offers), c.command)
		c.given(o.ReplicaSet)
		require.False(t, slices.ContainsFunc(view.FleetOf(o).Next, offers), c.command)
	}
}

// TestNextOfClosedWindows: a rollout that waits for windows needs no help. Its end is not known.
func TestNextOfClosedWindows(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Status.State = workv1alpha1.StateRollingOut
		o.ReplicaSet.Status.Held = []workv1alpha1.HeldCluster{{Cluster: "c2", Until: &metav1.Time{Time: now.Add(2 * time.Hour)}}}
		o.Works = []work.Work{reporting(written(t, "c1", "v2"), now.Add(10*time.Minute), healthy), written(t, "c2", "v1")}
	})
	f := view.FleetOf(o)
	require.Equal(t, view.Command{Purpose: "wait until the rollout ends", Args: strings.Fields("kubectl mwrs status web -n default")}, f.Next[0])
	require.Nil(t, f.Estimate)
}

// TestNextAfterAnAbort: when every cluster has returned, the screen still leads to a cluster that failed.
func TestNextAfterAnAbort(t *testing.T) {
	at := metav1.NewTime(now.Add(time.Minute))
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Status.AbortedTime, o.ReplicaSet.Status.State = &at, workv1alpha1.StateAborted
		o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{
			{Cluster: "c0", Placement: "p", Since: at, Reason: "Degraded"}, // It has left, so why can't explain it.
			{Cluster: "c2", Placement: "p", Since: at, Reason: "Degraded"},
		}
	})
	require.Equal(t, view.Command{Purpose: "see why c2 failed", Args: strings.Fields("kubectl mwrs why web c2 -n default")}, view.FleetOf(o).Next[0])
}
