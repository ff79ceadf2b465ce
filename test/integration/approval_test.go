package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// awaits waits until a group waits for an approval.
func (f *fleet) awaits(group string) {
	f.t.Helper()
	eventually(f.t, "group "+group+" waits for an approval", func() error {
		if found := f.get().Status.AwaitingApproval; len(found) != 1 || found[0] != group {
			return fmt.Errorf("%v", found)
		}
		return nil
	})
}

// A canary group waits for an approval. The approval is withdrawn before the group begins, and given again, so that the rollout continues.
// A user rejects the next version, which then reaches no cluster.
func TestGateApproval(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "approval")
	f.creates(ref("p1", progressive(1, "60s", 0, abortAll)))
	f.canary("c1")
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{{GroupName: "canary", Approval: workv1alpha1.ApprovalRequired}}
	})
	f.roll("v2", true)
	f.awaits("canary")
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "kubectl mwrs approve web --group canary -n "+f.namespace)

	f.pause(true)
	f.ok("approve", "web", "--yes")
	approved := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("the ledger has %d approvals", n), func() error {
			if l := f.ledger(); len(l.Approvals) != n || len(f.get().Status.Approvals) != n {
				return fmt.Errorf("%v", l.Approvals)
			}
			return nil
		})
	}
	approved(1)
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"status":{"approvals":[]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	approved(0)
	f.pause(false)
	f.awaits("canary")
	require.Zero(t, f.times("v2"))

	f.ok("approve", "web", "--yes")
	f.complete()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	found := f.get().Status
	require.Len(t, found.Approvals, 1)
	require.Equal(t, found.CurrentRevision, found.Approvals[0].Revision)
	require.NotEmpty(t, found.Approvals[0].By)
	require.Contains(t, f.ok("get", "web"), "group canary was approved by "+found.Approvals[0].By)

	f.roll("v3", true)
	f.awaits("canary")
	require.Empty(t, f.get().Status.Approvals)
	f.ok("reject", "web", "--reason", "the canary shows errors", "--yes")
	f.aborted()
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "the canary shows errors")
	require.Zero(t, f.times("v3"))
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
}
