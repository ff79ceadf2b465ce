package validate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// pauseSurprises returns a warning if a user pauses an object whose abort is in progress. If the status can't be read,
// there is no warning.
func pauseSurprises(old *unstructured.Unstructured, mwrs *workv1alpha1.ManifestWorkReplicaSet) []string {
	if old == nil || !mwrs.Spec.Paused {
		return nil
	}
	before := &workv1alpha1.ManifestWorkReplicaSet{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": old.Object["status"]}, before)
	if err != nil || before.Status.AbortedTime == nil || before.Status.State == workv1alpha1.StateAborted {
		return nil
	}
	if l, err := ledger.Decode(before.Status.Ledger, old.GetUID()); err == nil && l.Abort != nil && !l.Abort.Restored.IsZero() {
		return nil // During a pause, the state does not show that the abort has ended.
	}
	return []string{rule.AbortWhilePaused.Warning(specPath.Child("paused"))}
}
