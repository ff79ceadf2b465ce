package sandbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// lightWork returns a work with a Deployment of two replicas, whose rules compare its replicas, and a ConfigMap.
func lightWork(t *testing.T, generation int64, image string) *workv1.ManifestWork {
	t.Helper()
	deployment := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), ProgressDeadlineSeconds: ptr.To[int32](6),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}},
		},
	}
	raw, err := json.Marshal(deployment)
	require.NoError(t, err)
	rule := func(condition, expression string) workv1.ConditionRule {
		return workv1.ConditionRule{Condition: condition, Type: workv1.CelConditionExpressionsType, CelExpressions: []string{expression}}
	}
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "cluster4", Generation: generation},
		Spec: workv1.ManifestWorkSpec{
			Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{
				{RawExtension: runtime.RawExtension{Raw: raw}},
				{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"default"}}`)}},
			}},
			ManifestConfigs: []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Group: "apps", Resource: "deployments", Namespace: "default", Name: "web"},
				ConditionRules: []workv1.ConditionRule{
					rule(workv1.WorkProgressing, "object.status.updatedReplicas != object.spec.replicas"),
					rule(workv1.WorkDegraded, "object.status.conditions.exists(c, c.reason == 'ProgressDeadlineExceeded')"),
				},
			}},
		},
	}
}

// A light cluster simulates a version that works, one whose image can't be pulled, and the return to the first. OCM's evaluator evaluates
// the rules.
func TestLightClusterPlaysARollout(t *testing.T) {
	reader, err := conditions.NewConditionReader()
	require.NoError(t, err)
	l := &LightAgents{reader: reader, clusters: map[string]map[string]*lightObject{"cluster4": {}}}
	status, begin := workv1.ManifestWorkStatus{}, time.Now()
	at := func(generation int64, image string, after time.Duration, progressing, degraded metav1.ConditionStatus, again time.Duration) {
		t.Helper()
		work := lightWork(t, generation, image)
		work.Status = status
		next, err := l.report(t.Context(), work, begin.Add(after))
		require.NoError(t, err)
		require.Equal(t, again, next)
		status = work.Status
		require.Len(t, status.ResourceStatus.Manifests, 2)
		for i := range status.ResourceStatus.Manifests {
			applied := meta.FindStatusCondition(status.ResourceStatus.Manifests[i].Conditions, workv1.ManifestApplied)
			require.NotNil(t, applied)
			require.Equal(t, generation, applied.ObservedGeneration)
		}
		for kind, wanted := range map[string]metav1.ConditionStatus{
			workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: metav1.ConditionTrue,
			workv1.WorkProgressing: progressing, workv1.WorkDegraded: degraded,
		} {
			found := meta.FindStatusCondition(status.Conditions, kind)
			require.NotNil(t, found, kind)
			require.Equal(t, wanted, found.Status, kind)
			require.Equal(t, generation, found.ObservedGeneration, kind)
		}
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	at(1, "web:v1", 0, yes, no, readyAfter)
	at(1, "web:v1", readyAfter, no, no, 0)
	at(2, "web:broken", 10*time.Second, yes, no, 6*time.Second)
	at(2, "web:broken", 16*time.Second, yes, yes, 0)
	require.EqualValues(t, 2, l.clusters["cluster4"][lightKey(objectOf(t))].readyAt(begin.Add(16*time.Second)),
		"the older Pods still serve")
	at(3, "web:v1", 20*time.Second, yes, no, readyAfter)
	at(3, "web:v1", 21*time.Second, no, no, 0)

	at(4, "web:flaky", 30*time.Second, yes, no, 6*time.Second)
	at(4, "web:flaky", 36*time.Second, yes, yes, 0)
	require.True(t, isFlaky("cluster10"))
	require.False(t, isFlaky("cluster11"))

	require.Len(t, l.clusters["cluster4"], 2)
	smaller := lightWork(t, 5, "web:v1")
	smaller.Spec.Workload.Manifests = smaller.Spec.Workload.Manifests[:1]
	_, err = l.report(t.Context(), smaller, begin.Add(40*time.Second))
	require.NoError(t, err)
	require.Len(t, l.clusters["cluster4"], 1, "the ConfigMap was deleted")

	l.deleteOthers(smaller, nil)
	require.Empty(t, l.clusters["cluster4"])
}

// An object that an agent releases stays when its work is deleted.
func TestLightClusterReleasesObjects(t *testing.T) {
	reader, err := conditions.NewConditionReader()
	require.NoError(t, err)
	l := &LightAgents{reader: reader, clusters: map[string]map[string]*lightObject{"cluster4": {}}}
	work := lightWork(t, 1, "web:v1")
	work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	_, err = l.report(t.Context(), work, time.Now())
	require.NoError(t, err)
	l.deleteOthers(work, nil)
	require.Len(t, l.clusters["cluster4"], 2)
}

func objectOf(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(lightWork(t, 1, "").Spec.Workload.Manifests[0].Raw, &object.Object))
	return object
}
