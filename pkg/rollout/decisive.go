package rollout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Decisive reports whether a manifest's condition can decide on the state of its work (R10). Nobody needs to keep any other.
func Decisive(condition *metav1.Condition) bool {
	switch condition.Type {
	case workv1.ManifestDegraded:
		return condition.Status == metav1.ConditionTrue
	case workv1.ManifestProgressing:
		return condition.Status == metav1.ConditionFalse && condition.Reason == workv1.ConditionRuleExpressionError
	}
	return false
}
