package story

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func deployment(version string, status appsv1.DeploymentStatus) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "registry.example/web:" + version}}}},
		},
		Status: status,
	}
}

var (
	healthy = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	stale   = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	halfway = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2}
	stuck   = appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}},
	}
)

// TestRules evaluates the rules of the workload with the work agent's evaluator.
func TestRules(t *testing.T) {
	mwrs, err := replicaSet(version1)
	require.NoError(t, err)
	rules := mwrs.Spec.ManifestWorkTemplate.ManifestConfigs[0].ConditionRules
	reader, err := conditions.NewConditionReader()
	require.NoError(t, err)

	tests := map[string]struct {
		status                appsv1.DeploymentStatus
		progressing, degraded metav1.ConditionStatus
	}{
		"no status yet":           {appsv1.DeploymentStatus{}, metav1.ConditionTrue, metav1.ConditionFalse},
		"status of an older spec": {stale, metav1.ConditionTrue, metav1.ConditionFalse},
		"halfway":                 {halfway, metav1.ConditionTrue, metav1.ConditionFalse},
		"past its own deadline":   {stuck, metav1.ConditionTrue, metav1.ConditionTrue},
		"every Pod new and ready": {healthy, metav1.ConditionFalse, metav1.ConditionFalse},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment(version1, test.status))
			require.NoError(t, err)
			got := map[string]metav1.ConditionStatus{}
			for _, condition := range reader.EvaluateConditions(t.Context(), &unstructured.Unstructured{Object: content}, rules) {
				require.Equal(t, workv1.ConditionRuleEvaluated, condition.Reason, condition.Message)
				got[condition.Type] = condition.Status
			}
			require.Equal(t, map[string]metav1.ConditionStatus{"Progressing": test.progressing, "Degraded": test.degraded}, got)
		})
	}
}

// The sample with a canary group differs only in its strategy.
func TestSamples(t *testing.T) {
	files, err := WriteSamples(t.TempDir())
	require.NoError(t, err)
	require.Len(t, files, 4)
	canary := &workv1alpha1.ManifestWorkReplicaSet{}
	content, err := os.ReadFile(files[3])
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, canary))
	plain, err := replicaSet(version3)
	require.NoError(t, err)
	require.Equal(t, "canary", canary.Spec.PlacementRefs[0].RolloutStrategy.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups[0].GroupName)
	require.Equal(t, workv1alpha1.AbortAll, canary.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy)
	canary.Spec.PlacementRefs = plain.Spec.PlacementRefs
	require.Equal(t, plain, canary)
}
