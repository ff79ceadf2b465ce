package plugin

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// awaiting returns a hub on which the group canary waits for an approval, and the group stores has one.
func awaiting(t *testing.T) *oneHub {
	t.Helper()
	h := explained(t, workv1alpha1.StateRollingOut, "wave 1")
	h.set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "production"}}
	strategy := &h.set.Spec.PlacementRefs[0].RolloutStrategy
	strategy.Type, strategy.Progressive = clusterv1alpha1.Progressive, &clusterv1alpha1.RolloutProgressive{}
	strategy.Groups = []workv1alpha1.RolloutGroup{
		{GroupName: "canary", Approval: workv1alpha1.ApprovalRequired}, {GroupName: "stores", Approval: workv1alpha1.ApprovalRequired},
	}
	h.set.Status.AwaitingApproval = []string{"canary"}
	h.set.Status.Approvals = []workv1alpha1.Approval{{Group: "stores", Revision: h.set.Status.UpdateRevision, By: "bob", At: metav1.Unix(0, 0)}}
	return h
}

// TestApprove: after a question, an approval adds an entry with the user's name to the list that was read.
func TestApprove(t *testing.T) {
	t.Parallel()
	h := awaiting(t)
	code, _, failed := h.run(t, "approve", "web")
	require.Equal(t, 1, code)
	require.Contains(t, failed, "there is no terminal to ask for confirmation; add --yes to confirm: ")
	require.Contains(t, failed, "for group canary?")
	require.Empty(t, h.patches)

	code, out, failed := h.run(t, "approve", "web", "--yes")
	require.Zero(t, code, failed)
	require.Contains(t, out, "web approve requested")
	require.Len(t, h.patches, 1)
	require.Contains(t, h.patches[0], `"resourceVersion":"`+h.set.ResourceVersion+`"`)
	require.Contains(t, h.patches[0], `{"group":"stores","revision":"`+h.set.Status.UpdateRevision+`","by":"bob","at":"1970-01-01T00:00:00Z"},{"group":"canary","revision":"`+h.set.Status.UpdateRevision+`",`)

	code, _, failed = h.run(t, "approve", "web", "--group", "stores", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, failed, "group stores was approved by bob at 1970-01-01T00:00:00Z")
	h.set.Status.AwaitingApproval = nil
	_, _, failed = h.run(t, "approve", "web", "--yes")
	require.Contains(t, failed, `no group of "web" waits for an approval; groups that will need one: canary`)
	require.Len(t, h.patches, 1)
}

// TestReject: a rejection is an abort with a reason.
func TestReject(t *testing.T) {
	t.Parallel()
	h := awaiting(t)
	code, _, failed := h.run(t, "reject", "web", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, failed, "--reason is required")
	code, out, failed := h.run(t, "reject", "web", "--reason", "canary shows errors", "--yes")
	require.Zero(t, code, failed)
	require.Contains(t, out, "web abort requested")
	require.Len(t, h.patches, 1)
	require.Contains(t, h.patches[0], `"abortReason":"canary shows errors"`)
}

// TestApprovalsOnScreens: get, status and history show who approved which group, and which group waits.
func TestApprovalsOnScreens(t *testing.T) {
	t.Parallel()
	h := awaiting(t)
	_, out, failed := h.run(t, "get", "web")
	require.Contains(t, out, "approval group stores was approved by bob at 1970-01-01T00:00:00Z\n         group canary waits for an approval\n", failed)
	require.Contains(t, out, "kubectl mwrs approve web --group canary -n default")
	_, out, _ = h.run(t, "status", "web", "--timeout", "100ms")
	require.Contains(t, out, "; group stores was approved by bob at 1970-01-01T00:00:00Z")
	revisiontest.Amend(&h.revisions[0], func(r *revision.Record) { r.Approvals = []revision.Approval{{Group: "canary", By: "alice"}} })
	_, out, failed = h.run(t, "history", "web", "--revision", "1")
	require.NotContains(t, out, "alice", "the output can be applied")
	require.Contains(t, failed, "note: group canary was approved by alice at ")
}
