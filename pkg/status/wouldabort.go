package status

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// wouldAbort returns the message of failureStrategy ReportAbort; empty for none.
func wouldAbort(in *Input) string {
	if in.Ledger.WouldAbort == nil {
		return ""
	}
	return string(workv1alpha1.ReportAbort) + ": " + in.Ledger.WouldAbort.Text(work.Having(in.Snapshot.Works, in.Snapshot.Update.Hash))
}

// deciding returns the failureStrategy that decides aborts: ReportAbort if it is set and AbortAll is not.
func deciding(object *workv1alpha1.ManifestWorkReplicaSet) string {
	if object.Spec.HasFailureStrategy(workv1alpha1.ReportAbort) && !object.Spec.HasFailureStrategy(workv1alpha1.AbortAll) {
		return string(workv1alpha1.ReportAbort)
	}
	return string(workv1alpha1.AbortAll)
}
