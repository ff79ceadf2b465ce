package plugin

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// manifestOf returns a file with a template. The first file has a field and a change cause that the other files lack.
func manifestOf(value string) *workv1alpha1.ManifestWorkReplicaSet {
	set := &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
	}
	set.Spec.ManifestWorkTemplate = *templateOfObject(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"x":"` + value + `"}}`)
	if value == "v1" {
		set.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: "image 1"}
		set.Spec.ManifestWorkTemplate.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	}
	return set
}

func jsonOfObject(t *testing.T, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return text
}

// undone returns a live object after an undo to the template of the first file.
func undone(t *testing.T, live *workv1alpha1.ManifestWorkReplicaSet) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	live.UID, live.ResourceVersion = "u1", "1"
	first := manifestOf("v1")
	hash := revision.ComputeHash(&first.Spec.ManifestWorkTemplate, nil)
	stored, err := revision.New(live, &first.Spec.ManifestWorkTemplate, hash, 1)
	require.NoError(t, err)
	objects := &view.Objects{ReplicaSet: live, Revisions: []*appsv1.ControllerRevision{stored}}
	template, _, err := templateOf(objects, 1)
	require.NoError(t, err)
	operations, err := undoPatch(live, template, "image 1")
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(jsonOfObject(t, operations))
	require.NoError(t, err)
	text, err := patch.Apply(jsonOfObject(t, live))
	require.NoError(t, err)
	after := &workv1alpha1.ManifestWorkReplicaSet{}
	require.NoError(t, json.Unmarshal(text, after))
	require.NotNil(t, after.Spec.ManifestWorkTemplate.DeleteOption)
	require.Equal(t, "image 1", after.Annotations[workv1alpha1.AnnotationChangeCause])
	return after
}

// TestClientApplyAfterUndo: kubectl's three-way merge leaves nothing that the next file does not have.
func TestClientApplyAfterUndo(t *testing.T) {
	live := manifestOf("v2")
	live.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(jsonOfObject(t, manifestOf("v2")))}
	after := undone(t, live)
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(
		[]byte(after.Annotations[corev1.LastAppliedConfigAnnotation]), jsonOfObject(t, manifestOf("v3")), jsonOfObject(t, after))
	require.NoError(t, err)
	text, err := jsonpatch.MergePatch(jsonOfObject(t, after), patch)
	require.NoError(t, err)
	var applied workv1alpha1.ManifestWorkReplicaSet
	require.NoError(t, json.Unmarshal(text, &applied))
	require.JSONEq(t, string(jsonOfObject(t, manifestOf("v3").Spec)), string(jsonOfObject(t, applied.Spec)), "no other field is left")
	require.NotContains(t, applied.Annotations, workv1alpha1.AnnotationChangeCause)
}

// TestAppliedRecord: an invalid record stays as it is, and so does a record that would become too large.
func TestAppliedRecord(t *testing.T) {
	for name, record := range map[string]string{"none": "", "no JSON": "{", "no object": "[]", "another spec": `{"spec":1}`} {
		set := manifestOf("v2")
		set.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: record}
		found, err := appliedOperation(set, []byte(`{}`), "")
		require.NoError(t, err, name)
		require.Nil(t, found, name)
	}
	set := manifestOf("v2")
	set.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "other": string(make([]byte, 256<<10))}
	found, err := appliedOperation(set, []byte(`{}`), "")
	require.NoError(t, err)
	require.Nil(t, found)
}

// TestServerApplyAfterUndo: a server-side apply after an undo has no conflict, and leaves nothing that the next file does not have.
func TestServerApplyAfterUndo(t *testing.T) {
	gvk := workv1alpha1.SchemeGroupVersion.WithKind("ManifestWorkReplicaSet")
	server := managedfieldstest.NewTestFieldManager(managedfields.NewDeducedTypeConverter(), gvk)
	object := func(of any) *unstructured.Unstructured {
		out := &unstructured.Unstructured{}
		require.NoError(t, json.Unmarshal(jsonOfObject(t, of), &out.Object))
		unstructured.RemoveNestedField(out.Object, "status")
		unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
		return out
	}
	apply := func(value string) error { return server.Apply(object(manifestOf(value)), "kubectl", false) }
	now := func() *workv1alpha1.ManifestWorkReplicaSet {
		set := &workv1alpha1.ManifestWorkReplicaSet{}
		require.NoError(t, json.Unmarshal(jsonOfObject(t, server.Live()), set))
		return set
	}
	require.NoError(t, apply("v1"))
	require.NoError(t, apply("v2"))
	require.Equal(t, "kubectl", view.ApplierOf(now()))
	require.NoError(t, server.Update(object(undone(t, now())), undoManager))
	require.Error(t, apply("v3"), "the undo owns what it wrote")

	operations, err := csaupgrade.UpgradeManagedFieldsPatch(now(), sets.New(undoManager), "kubectl")
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(operations)
	require.NoError(t, err)
	text, err := patch.Apply(jsonOfObject(t, server.Live()))
	require.NoError(t, err)
	handed := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(text, &handed.Object))
	require.NoError(t, server.Update(handed, undoManager))
	require.NoError(t, apply("v3"))
	require.Nil(t, now().Spec.ManifestWorkTemplate.DeleteOption)
	require.NotContains(t, now().Annotations, workv1alpha1.AnnotationChangeCause)
}
