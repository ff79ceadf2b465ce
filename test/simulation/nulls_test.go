package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// withNulls returns the template of a version as Go clients write it, with nulls in its manifests.
func withNulls(version string) workv1.ManifestWorkSpec {
	template := Template(version)
	template.Workload.Manifests = append(template.Workload.Manifests, workv1.Manifest{})
	template.Workload.Manifests[1].Raw = []byte(
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"` + version + `","creationTimestamp":null},"rules":null,"l":[null,{"n":null}]}`)
	return template
}

// A null in a manifest reaches every cluster unchanged, even if a work is patched. If a work were stored differently from its template,
// each hub that starts would roll it out again.
func TestNullsInManifests(t *testing.T) {
	w := NewWorld()
	w.Place("p1", []string{"c1", "c2", "c3"})
	w.Create("v1", progressive("p1", 1, "30s", 0, true))
	require.NoError(t, w.Settle(Forever))
	update := func(what string, template workv1.ManifestWorkSpec) {
		t.Helper()
		// A merge patch would already lose the nulls here.
		_, err := w.API.Patch(ReplicaSets, Namespace, Name,
			jsonOf([]map[string]any{{"op": "replace", "path": "/spec/manifestWorkTemplate", "value": template}}), false)
		require.NoError(t, err)
		require.NoError(t, w.Settle(Forever))
		require.NoError(t, w.CheckQuiet())
		for _, work := range w.Works() {
			require.Empty(t, revision.FirstDifference(&template, &work.Spec), "%s: cluster %s", what, work.Namespace)
			require.NotContains(t, work.Annotations, "cache.rollback.work.open-cluster-management.io/digest")
		}
		applied := meta.FindStatusCondition(w.Object().Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
		require.Equal(t, metav1.ConditionTrue, applied.Status, applied.Message)
	}
	first := withNulls("v2")
	first.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	first.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount}}
	update("nulls come", first)
	second := withNulls("v3")
	second.Executor = first.Executor.DeepCopy()
	second.Executor.Subject.ServiceAccount = &workv1.ManifestWorkSubjectServiceAccount{Namespace: "default", Name: "applier"}
	update("other nulls, without deleteOption", second)

	before := w.API.version
	w.Restart()
	require.NoError(t, w.Settle(Forever))
	require.Equal(t, before, w.API.version, "a new hub finds everything as it should be")

	w.patch(ReplicaSets, Namespace, Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a/b": "x", "c": "y"}}}, false)
	update("nulls go on, the labels of the owner are new", withNulls("v4"))
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a/b": nil}}}, false)
	update("nulls go, and a label", Template("v5"))
	for _, work := range w.Works() {
		require.Equal(t, "y", work.Labels["c"])
		require.NotContains(t, work.Labels, "a/b")
	}
}
