package story

import (
	"encoding/json"
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

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
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

// TestRules evaluates the rules of the workload with the work agent's own evaluator.
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

func TestWorkload(t *testing.T) {
	for _, version := range []string{version1, version2, version3} {
		mwrs, err := replicaSet(version)
		require.NoError(t, err)
		require.Equal(t, version, versionOfTemplate(mwrs.Spec.ManifestWorkTemplate))
		require.Equal(t, sandbox.Namespace, mwrs.Namespace)
		require.Equal(t, sandbox.PlacementName, mwrs.Spec.PlacementRefs[0].Name)
		require.Equal(t, workv1alpha1.AbortAll, mwrs.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy)
		require.Equal(t, minSuccessTime, mwrs.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MinSuccessTime.Duration)
	}
}

// someFacts has a revision for each version, and a cluster that runs it.
func someFacts(t *testing.T, versions ...string) *facts {
	t.Helper()
	f := &facts{mwrs: &workv1alpha1.ManifestWorkReplicaSet{}}
	for i, version := range []string{version1, version2} {
		mwrs, err := replicaSet(version)
		require.NoError(t, err)
		data, err := json.Marshal(map[string]any{"spec": map[string]any{"manifestWorkTemplate": mwrs.Spec.ManifestWorkTemplate}})
		require.NoError(t, err)
		f.revisions = append(f.revisions, appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{workv1alpha1.LabelControllerHash: "hash-" + version}},
			Data:       runtime.RawExtension{Raw: data}, Revision: int64(i + 1),
		})
	}
	for _, version := range versions {
		f.clusters = append(f.clusters, clusterFacts{
			name:       "on-" + version,
			work:       &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{workv1alpha1.LabelControllerHash: "hash-" + version}}},
			deployment: deployment(version, healthy),
		})
	}
	return f
}

// TestChecksSayWhatIsThere: the errors that end a story name the expected and the actual state.
func TestChecksSayWhatIsThere(t *testing.T) {
	f := someFacts(t, version1, version2)
	f.mwrs.Status.CurrentRevision, f.mwrs.Status.UpdateRevision = "hash-v1", "hash-v2-broken"

	require.NoError(t, revisionsAre(version1, version2).prove(f))
	require.EqualError(t, revisionsAre(version2, version2).prove(f), `the current revision is "hash-v1" with version "v1", expected version "v2-broken"`)

	require.EqualError(t, everyClusterRuns(version1).prove(f),
		`the ManifestWork of on-v2-broken has version "v2-broken", expected "v1"`+"\n"+
			`the Deployment of on-v2-broken has version "v2-broken" and is healthy: true, expected healthy Pods of "v1"`)
	require.NoError(t, everyClusterRuns(version1).prove(someFacts(t, version1, version1)))

	require.NoError(t, atMostOneUnderWay(f))
	f.clusters[1].deployment.Status = halfway
	require.NoError(t, atMostOneUnderWay(f))
	f.clusters = append(f.clusters, f.clusters[1])
	require.ErrorContains(t, atMostOneUnderWay(f), "at the same time")

	progressing := func(message string) []metav1.Condition {
		return []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, Message: message}}
	}
	f.mwrs.Status.Conditions = progressing("back to revision web-1, confirmed by 2 of 3 clusters")
	require.EqualError(t, allConfirmed(3).prove(f),
		`the condition Progressing says "back to revision web-1, confirmed by 2 of 3 clusters", expected "confirmed by 3 of 3 clusters"`)
	f.mwrs.Status.Conditions = progressing("back to revision web-1, confirmed by 3 of 3 clusters")
	require.NoError(t, allConfirmed(3).prove(f))
	f.mwrs.Status.Conditions = nil

	require.EqualError(t, complete[0].prove(f), "the condition PlacementVerified is not there, expected True AsExpected")
	f.mwrs.Generation = 2
	f.mwrs.Status.Conditions = []metav1.Condition{{Type: "PlacementVerified", Status: metav1.ConditionTrue, Reason: "AsExpected", ObservedGeneration: 1}}
	require.EqualError(t, complete[0].prove(f), "the condition PlacementVerified is about generation 1, expected 2")
}
