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

// A condition rule that the agent can't evaluate is the cause, with its manifest, the remedy and the agent's message.
func TestAgentMessageOfARuleThatCannotBeEvaluated(t *testing.T) {
	const syntax = "ERROR: <input>:1:15: Syntax error: no viable alternative at input"
	work := reports(workv1.WorkApplied, workv1.WorkAvailable)
	work.Status.Conditions = append(work.Status.Conditions,
		metav1.Condition{Type: workv1.WorkProgressing, Status: metav1.ConditionFalse, Reason: "Completed", ObservedGeneration: 2})
	rule := metav1.Condition{
		Type: workv1.ManifestProgressing, Status: metav1.ConditionFalse, Reason: workv1.ConditionRuleExpressionError, Message: syntax, ObservedGeneration: 2,
	}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Kind: "Deployment", Namespace: "shop", Name: "web"}, Conditions: []metav1.Condition{rule},
	}}
	const message = "Deployment shop/web: the agent can't evaluate the condition rule for Progressing; correct the rule in the template: " + syntax
	require.Equal(t, message, AgentMessage(work))
	require.Equal(t, message, FailureMessage(work, ""))

	work.Generation = 3
	require.Equal(t, "the agent has not reported the outcome of this revision", AgentMessage(work), "the rule of another generation")
}

// A work without a bad condition has what its agent reports: a cluster in a handover has confirmed its revision.
func TestAgentMessageWithoutABadCondition(t *testing.T) {
	require.Equal(t, "the agent reports Applied=True, Available=True", AgentMessage(reports(workv1.WorkApplied, workv1.WorkAvailable)))
	require.Equal(t, "the agent has not reported the outcome of this revision", AgentMessage(reports(workv1.WorkApplied)))
}

// reports returns a work of generation 2 whose agent reports conditions as True.
func reports(conditionTypes ...string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{}
	work.Generation = 2
	for _, conditionType := range conditionTypes {
		work.Status.Conditions = append(work.Status.Conditions,
			metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "R", ObservedGeneration: 2})
	}
	return work
}
