package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Failed clusters are grouped by cause, the most frequent cause first. Other causes are only counted.
func TestCauses(t *testing.T) {
	plan := &rollout.Plan{Records: rollout.Records{Failures: map[string]rollout.Failure{}}}
	fail := func(reason workv1alpha1.FailureReason, message string, clusters ...string) {
		for _, cluster := range clusters {
			plan.Failing = append(plan.Failing, rollout.Failing{Cluster: cluster, Phase: rollout.PhaseFailed})
			plan.Records.Failures[cluster] = rollout.Failure{Reason: reason, Message: message}
		}
	}
	fail(workv1alpha1.FailureDegraded, "crash loop", "c1")
	fail(workv1alpha1.FailureDeadlineExceeded, "", "c2", "c3")
	require.Equal(t, []string{
		"2 clusters (c2, c3) not successful within the progressDeadline",
		"1 cluster (c1) degraded for longer than the progressDeadline: crash loop",
	}, causes(plan))
	fail(workv1alpha1.FailureFlapping, "", "c4")
	fail(workv1alpha1.FailureDegraded, "another", "c5")
	fail(workv1alpha1.FailureDegraded, "a third", "c6")
	found := causes(plan)
	require.Len(t, found, shown+1)
	require.Equal(t, "2 more failed for other reasons, see status.failures", found[shown])
}

// The message of a failure is the agent's message about the manifest that keeps the work from succeeding.
func TestAgentMessage(t *testing.T) {
	says := func(conditionType, message string, status metav1.ConditionStatus, generation int64) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Message: message, Reason: "R", ObservedGeneration: generation}
	}
	work := &workv1.ManifestWork{}
	work.Generation = 2
	require.Equal(t, "the agent has not reported the outcome of this revision", AgentMessage(work))
	work.Status.Conditions = []metav1.Condition{says(workv1.WorkAvailable, "old", metav1.ConditionFalse, 1)}
	require.Equal(t, "the agent has not reported the outcome of this revision", AgentMessage(work), "of another generation")
	work.Status.Conditions = []metav1.Condition{says(workv1.WorkProgressing, "", metav1.ConditionTrue, 2)}
	require.Equal(t, "Progressing=True: R", AgentMessage(work))
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Kind: "Deployment", Namespace: "shop", Name: "web"},
		Conditions:   []metav1.Condition{says(workv1.ManifestDegraded, "0 of 3 replicas", metav1.ConditionTrue, 2)},
	}}
	require.Equal(t, "Deployment shop/web: Degraded=True: 0 of 3 replicas", AgentMessage(work))
}
