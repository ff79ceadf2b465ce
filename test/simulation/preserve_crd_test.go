package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// While a preserving deletion waits for the agent of c1, the field is removed from the spec and another writer changes the conditions. The
// decision is in the ledger: the workloads stay until the field is false.
func TestPreservingIsADecision(t *testing.T) {
	conditions := map[string][]any{
		"no conditions":      {},
		"a foreign Deleting": {map[string]any{"type": workv1alpha1.ConditionDeleting, "status": "False", "reason": "Other", "message": "other"}},
	}
	for name, told := range conditions {
		t.Run(name, func(t *testing.T) {
			s := leaves(t)
			s.Report("c1", "", Silent)
			s.Delete()
			s.settle(time.Minute)
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": map[string]any{"preserveResourcesOnDeletion": nil}}, false)
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"conditions": told}}, true)
			s.settle(time.Minute)
			require.Nil(t, s.Works()[0].DeletionTimestamp, "its agent would delete the workloads")
			require.Contains(t, s.deleting(), "keeping the workloads")
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
			s.Restart()
			s.settle(time.Minute)
			require.Nil(t, s.Works()[0].DeletionTimestamp, "and the copy has the decision, too")
			s.Preserve(false)
			s.settle(time.Minute)
			require.NotNil(t, s.Works()[0].DeletionTimestamp, "only false gives up")
			s.Report("c1", "", Succeeds)
			s.gone()
		})
	}
}
