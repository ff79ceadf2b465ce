package worklist

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func someWork() *workv1.ManifestWork {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	condition := func(name string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason, Message: `a "quoted" \ message`, LastTransitionTime: at, ObservedGeneration: 3}
	}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "c1", UID: "uid", Generation: 3, CreationTimestamp: at, DeletionTimestamp: &at, Finalizers: []string{"f"},
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"text": `{"x":"\""}`},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}},
	}}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"ConfigMap","data":{"x":"}]"}}`)}}}
	work.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, "True", "Done"), condition(workv1.WorkDegraded, "False", "Fine")}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Kind: "ConfigMap", Name: "x"},
		Conditions: []metav1.Condition{
			condition(workv1.ManifestApplied, "True", "Done"), condition(workv1.ManifestAvailable, "True", "Done"),
			condition(workv1.ManifestProgressing, "False", "Done"), condition("StatusFeedbackSynced", "False", "Else"),
		},
	}}
	return work
}

func decoded(t *testing.T, work *workv1.ManifestWork) work.Work {
	t.Helper()
	data, err := json.Marshal(work)
	require.NoError(t, err)
	read := &workv1.ManifestWork{}
	require.NoError(t, json.Unmarshal(data, read))
	return NewKeeper().WorkOf(read)
}

// TestWork: a work keeps its metadata without managedFields, the digest of its spec, and its conditions.
func TestWork(t *testing.T) {
	work := someWork()
	found := decoded(t, work)
	digest, err := revision.DigestOf(&work.Spec)
	require.NoError(t, err)
	require.Equal(t, digest, found.Digest)
	require.Nil(t, found.Object.Status.ResourceStatus.Manifests, "all manifests are well")
	work.ManagedFields, work.Spec, work.Status.ResourceStatus.Manifests = nil, workv1.ManifestWorkSpec{}, nil
	want, err := json.Marshal(work)
	require.NoError(t, err)
	got, err := json.Marshal(found.Object)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

// TestManifestsThatMatter: the agent's reports about manifests are kept if a condition may matter: if it determines the state of the work,
// if it explains why the work has not succeeded, or if the work keeps objects of another revision.
func TestManifestsThatMatter(t *testing.T) {
	for name, change := range map[string]func(*workv1.ManifestWork, *metav1.Condition){
		"not applied": func(_ *workv1.ManifestWork, c *metav1.Condition) { c.Status = "False" },
		"not available": func(_ *workv1.ManifestWork, c *metav1.Condition) {
			c.Type, c.Status = workv1.ManifestAvailable, "Unknown"
		},
		"progressing": func(_ *workv1.ManifestWork, c *metav1.Condition) { c.Type = workv1.ManifestProgressing },
		"degraded":    func(_ *workv1.ManifestWork, c *metav1.Condition) { c.Type = workv1.ManifestDegraded },
		"rule without a result": func(_ *workv1.ManifestWork, c *metav1.Condition) {
			c.Type, c.Status, c.Reason = workv1.ManifestProgressing, "False", workv1.ConditionRuleExpressionError
		},
		"kept objects": func(w *workv1.ManifestWork, _ *metav1.Condition) {
			w.Annotations[workv1alpha1.AnnotationKeptRevision] = "older"
		},
	} {
		work := someWork()
		change(work, &work.Status.ResourceStatus.Manifests[0].Conditions[0])
		got, want := decoded(t, work).Object.Status.ResourceStatus.Manifests, work.Status.ResourceStatus.Manifests
		require.Len(t, got, 1, name)
		require.Equal(t, want[0].ResourceMeta, got[0].ResourceMeta, name)
		require.Len(t, got[0].Conditions, len(want[0].Conditions), name)
	}
}
