package validate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// pauseSurprises warns a user who pauses an object whose abort is in progress. If the status can't be read, there is no warning.
func pauseSurprises(old *unstructured.Unstructured, mwrs *workv1alpha1.ManifestWorkReplicaSet) []string {
	if old == nil || !mwrs.Spec.Paused {
		return nil
	}
	before := &workv1alpha1.ManifestWorkReplicaSet{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": old.Object["status"]}, before)
	if err != nil || before.Status.AbortedTime == nil || status.StageOf(before.Status.Conditions) == status.Aborted {
		return nil
	}
	return []string{rule.AbortWhilePaused.Warning(specPath.Child("paused"))}
}
